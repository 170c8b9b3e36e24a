from collections import deque
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from graphprior.errors import GraphPriorError
from graphprior.io.graph_sets import write_npz
from graphprior.priors.networks.edp_gnn import EDPGNNConfig, EDPGNNPrior
from graphprior.priors.networks.evidence_network import EvidenceNetworkConfig, EvidenceNetworkPrior
from graphprior.priors.store import (
    load_checkpoint,
    load_prior,
    read_card,
    save_checkpoint,
    save_prior,
)
from graphprior.priors.training.batches import pad
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.score_matching import ScoreMatching
from graphprior.priors.training.training import (
    OBJECTIVES,
    TrainingConfig,
    fit_prior,
    new_state,
    split,
    train,
)
from oracles import is_falling, random_graph

SMALL = {
    "evidence": CrossEntropy(network=EvidenceNetworkConfig(1, 4, 2, 6)),
    "edp-gnn": ScoreMatching(network=EDPGNNConfig(layers=1, channels=4, features=4, hidden=8)),
}


@pytest.fixture(params=SMALL)
def objective(request):
    return SMALL[request.param]


def weights(network):
    return {key: value.clone() for key, value in network.state_dict().items()}


def run(graphs, config):
    state = new_state(config)
    deque(train(graphs, config, state), maxlen=0)
    return state


def test_every_kind_has_its_objective_and_makes_its_prior(objective):
    assert isinstance(objective, OBJECTIVES[objective.kind])
    prior = objective.prior(objective.build())
    assert prior.kind == objective.kind
    assert isinstance(prior, EvidenceNetworkPrior | EDPGNNPrior)


def test_a_training_goes_on_from_any_step_to_the_same_weights(rng, tmp_path, objective):
    graphs = [random_graph(rng, int(n)) for n in rng.integers(5, 9, 12)]
    config = TrainingConfig(
        steps=25, batch=4, validate_every=10, validation_share=0.5, objective=objective
    )
    whole = run(graphs, config)
    for stop in (1, 9, 10, 24):
        part = new_state(config)
        for _ in train(graphs, config, part):
            if part.step == stop:
                break
        save_checkpoint(tmp_path / "c", part, config, "hash")
        again = load_checkpoint(tmp_path / "c", config, "hash")
        deque(train(graphs, config, again), maxlen=0)
        for name in ("network", "average", "best"):
            expected, got = weights(getattr(whole, name)), weights(getattr(again, name))
            assert all(torch.equal(expected[key], got[key]) for key in expected)
        assert again.history == whole.history


def test_the_best_network_is_the_one_of_the_lowest_validation_loss(rng, objective):
    graphs = [random_graph(rng, 6) for _ in range(20)]
    # Steps this large overshoot, so that the last network is not the best one.
    config = TrainingConfig(
        steps=30,
        batch=4,
        learning_rate=0.1,
        validate_every=2,
        validation_share=0.5,
        objective=objective,
    )
    state, seen = new_state(config), {}
    for _ in train(graphs, config, state):
        if state.history and state.history[-1]["step"] == state.step:
            seen[state.history[-1]["loss"]] = weights(state.average)
    best = weights(state.best)
    assert min(seen) < list(seen)[-1]
    assert all(torch.equal(best[key], value) for key, value in seen[min(seen)].items())
    assert state.best_loss == min(seen)


@pytest.mark.parametrize("patience", [1, 3])
def test_a_training_that_gains_nothing_stops_when_patience_ends(rng, objective, patience):
    graphs = [random_graph(rng, 6) for _ in range(10)]
    config = TrainingConfig(
        steps=100,
        batch=2,
        learning_rate=0.0,
        validate_every=2,
        validation_share=0.5,
        patience=patience,
        objective=objective,
    )
    state = run(graphs, config)
    # The first validation is the best one: all later ones are the same.
    assert state.step == 2 * (1 + patience)
    first = weights(new_state(config).network)
    assert all(torch.equal(value, first[key]) for key, value in weights(state.best).items())
    assert list(train(graphs, config, state)) == []


def test_patience_counts_validations_since_the_best(rng, objective):
    """Stopped early, a run has waited as long as it should; no run waits longer."""
    graphs = [random_graph(rng, 6) for _ in range(10)]
    config = TrainingConfig(
        steps=60,
        batch=2,
        learning_rate=0.1,
        validate_every=1,
        validation_share=0.5,
        patience=2,
        objective=objective,
    )
    losses = [row["loss"] for row in run(graphs, config).history]
    best = losses.index(min(losses))
    assert 0 < best
    assert len(losses) == best + 3 < 60
    longer = [row["loss"] for row in run(graphs, replace(config, patience=60)).history]
    assert longer[: len(losses)] == losses
    waits = [k - longer.index(min(longer[: k + 1])) for k in range(len(losses))]
    assert max(waits[:-1]) < 2 == waits[-1]


def test_the_learning_rate_rises_over_a_tenth_and_falls_to_nothing():
    config = TrainingConfig(steps=200, learning_rate=0.3)
    rates = [config.rate(step) for step in range(200)]
    assert max(rates) == pytest.approx(0.3)
    assert is_falling([-rate for rate in rates[:20]])
    assert is_falling(rates[20:])
    assert 0 < rates[-1] < 1e-3 * 0.3


@pytest.mark.parametrize("setting", ["steps", "batch", "validate_every", "patience"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_training_of_no_steps_is_refused(setting, value):
    with pytest.raises(GraphPriorError, match=f"{setting} = {value}.*at least 1"):
        TrainingConfig(**{setting: value})


def test_padding_keeps_each_graph_in_its_corner(rng):
    graphs = [random_graph(rng, n) for n in (4, 7, 2)]
    A, is_node = pad(graphs)
    assert A.shape == (3, 7, 7)
    assert is_node.sum(1).tolist() == [4, 7, 2]
    for b, graph in enumerate(graphs):
        assert np.array_equal(A[b][is_node[b]][:, is_node[b]], graph)
        assert A[b].sum() == graph.sum()


def test_training_and_validation_graphs_are_apart_and_all_there(rng):
    graphs = [np.full((2, 2), float(g)) for g in range(30)]
    learn, held = split(graphs, TrainingConfig())
    ids = sorted(A[0, 0] for A in learn + held)
    assert ids == list(range(30))
    assert 1 <= len(held) < len(learn)


def test_the_seed_decides_everything(rng, objective):
    graphs = [random_graph(rng, 5) for _ in range(6)]
    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(int(rng.integers(1000)))  # the global state must not matter
        config = TrainingConfig(steps=5, batch=3, seed=seed, objective=objective)
        runs.append(weights(fit_prior(graphs, config).network))
    same = [torch.equal(runs[0][key], runs[1][key]) for key in runs[0]]
    other = [torch.equal(runs[0][key], runs[2][key]) for key in runs[0]]
    assert all(same)
    assert not all(other)


def test_training_leaves_the_global_random_state_alone(rng, objective):
    graphs = [random_graph(rng, 5) for _ in range(6)]
    before = torch.get_rng_state()
    fit_prior(graphs, TrainingConfig(steps=2, batch=2, objective=objective))
    assert torch.equal(before, torch.get_rng_state())


def test_graphs_may_come_from_files_or_other_libraries(rng, tmp_path, objective):
    matrices = [random_graph(rng, 5) for _ in range(4)]
    write_npz(tmp_path / "graphs.npz", matrices)
    config = TrainingConfig(steps=2, batch=2, objective=objective)
    expected = weights(fit_prior(matrices, config).network)
    for graphs in (tmp_path / "graphs.npz", [nx.from_numpy_array(A) for A in matrices]):
        got = weights(fit_prior(graphs, config).network)
        assert all(torch.equal(expected[key], got[key]) for key in expected)


def test_a_prior_made_in_python_has_a_card_that_is_saved_with_it(rng, tmp_path, objective):
    graphs = [random_graph(rng, n, 0.4) for n in (4, 5, 5)]
    prior = fit_prior(graphs, TrainingConfig(steps=2, batch=2, objective=objective))
    card = read_card(save_prior(prior, tmp_path / "mine.safetensors"))
    assert card["name"] == "mine"
    assert card["graphs"]["sizes"] == {"4": 1, "5": 2}
    assert card["validation"]["best"]["step"] == 2
    assert card == {**load_prior(tmp_path / "mine.safetensors").card}


def test_progress_is_reported_for_every_step(rng, objective):
    seen = []
    graphs = [random_graph(rng, 5) for _ in range(4)]
    config = TrainingConfig(steps=3, batch=2, objective=objective)
    fit_prior(graphs, config, progress=lambda *a: seen.append(a))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "0 training graph"),
        ([np.zeros((3, 3))], "1 training graph"),
        ([np.zeros((3, 3)), np.eye(3)], r"graph 1\[0, 0\] = 1: the diagonal"),
        ([np.zeros((3, 3)), np.triu(np.ones((3, 3)), 1)], r"graph 1\[0, 1\].*not symmetric"),
        ([np.zeros((3, 3)), 0.5 * (1 - np.eye(3))], r"graph 1\[0, 1\] = 0.5"),
        ([np.zeros((3, 3)), np.zeros((1, 1))], r"graph 1 has 1 node"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(graphs, message):
    with pytest.raises(GraphPriorError, match=message):
        fit_prior(graphs, TrainingConfig(steps=1))


def test_training_that_diverges_is_an_error():
    graphs = [nx.to_numpy_array(nx.path_graph(5))] * 20
    config = TrainingConfig(steps=40, validate_every=10, learning_rate=1e6, batch=4)
    with pytest.raises(GraphPriorError, match="training diverged"):
        fit_prior(graphs, config)
