from collections import deque
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from graphprior.errors import GraphPriorError
from graphprior.io.graph_sets import write_npz
from graphprior.priors.card import held_out_bits
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
from graphprior.priors.training.budget import Start, hold_out, plan
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.fit import find_starts, fit_prior, trained_card
from graphprior.priors.training.score_matching import ScoreMatching
from graphprior.priors.training.training import (
    OBJECTIVES,
    TrainingConfig,
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("count", [2, 3, 5, 10, 30, 100, 1000, 5000])
def test_of_few_graphs_a_larger_share_is_held_out(count):
    graphs = [np.zeros((2, 2))] * count
    learn, held = split(graphs, TrainingConfig())
    assert len(learn) + len(held) == count
    assert 1 <= len(held) <= min(100, max(1, 0.4 * count))
    assert len(held) >= min(3, count // 4)
    fewer = len(split(graphs[1:], TrainingConfig())[1]) if count > 2 else 1
    assert fewer <= len(held)


def test_fewer_graphs_are_held_out_where_validation_would_take_too_long():
    graphs = [np.zeros((20, 20))] * 400
    config = TrainingConfig()
    usual = len(split(graphs, config)[1])
    held = [
        len(split(graphs, hold_out(graphs, config, step, seconds=60))[1])
        for step in (1e-4, 1e-2, 1e-1, 1.0, 1e2)
    ]
    assert held[0] == usual
    assert held[-1] == 3
    assert held == sorted(held, reverse=True)


# Starting from a prior


@pytest.fixture
def teacher(rng):
    """A prior of cliques side by side, and graphs of that kind that it has not seen."""
    config = TrainingConfig(steps=60, batch=8, learning_rate=2e-2, objective=SMALL["evidence"])
    graphs = [cliques(rng) for _ in range(40)]
    return fit_prior(graphs[:30], config), graphs[30:]


def cliques(rng):
    A = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    order = rng.permutation(6)
    return A[np.ix_(order, order)]


def test_a_training_from_a_prior_starts_with_its_weights(teacher, tmp_path):
    prior, graphs = teacher
    path = save_prior(prior, tmp_path / "teacher.safetensors")
    (start,) = find_starts(path, "evidence")
    config = start.settings(TrainingConfig(steps=3, batch=2))
    state = start.state(config, "cpu")
    for part in (state.network, state.average, state.best):
        assert all(torch.equal(w, weights(prior.network)[key]) for key, w in weights(part).items())
    deque(train(graphs, config, state), maxlen=0)
    assert [row["step"] for row in state.history] == [0, 3]
    moved = weights(state.network)
    assert any(not torch.equal(w, moved[key]) for key, w in weights(prior.network).items())


def test_training_never_leaves_a_prior_worse_than_its_start_on_what_is_held_out(teacher):
    prior, graphs = teacher
    start = Start("teacher", prior)
    # Steps this large destroy what the prior knew.
    config = start.settings(TrainingConfig(steps=12, batch=2, learning_rate=0.3, validate_every=3))
    state = start.state(config, "cpu")
    deque(train(graphs, config, state), maxlen=0)
    assert state.history[-1]["loss"] > state.history[0]["loss"]
    assert all(torch.equal(w, weights(prior.network)[k]) for k, w in weights(state.best).items())


@pytest.mark.parametrize(
    ("start", "kind", "message"),
    [
        ("nonsense", "evidence", "no shipped prior is called 'nonsense'"),
        ("missing.safetensors", "evidence", r"missing\.safetensors: no such file"),
        ("egonets-edp-gnn", "evidence", "'edp-gnn'.*expected one of kind 'evidence'"),
        ("egonets", "edp-gnn", "'evidence'"),
    ],
)
def test_what_cannot_be_started_from_is_refused(start, kind, message):
    with pytest.raises(GraphPriorError, match=message):
        find_starts(start, kind)


def test_a_given_number_of_steps_starts_from_nothing_unless_told():
    assert [start.name for start in find_starts("auto", "evidence", choice=False)] == [None]
    assert [start.name for start in find_starts("auto", "edp-gnn")] == [None]


# Training within a time


class WorkClock:
    """A clock that goes on by as much as each step and each validation is said to take."""

    def __init__(self, monkeypatch, step, validation):
        self.now = 0.0
        for name, seconds in (("loss", step), ("validate", validation)):
            monkeypatch.setattr(
                CrossEntropy, name, self.timed(getattr(CrossEntropy, name), seconds)
            )

    def timed(self, work, seconds):
        def run(*args):
            self.now += seconds
            return work(*args)

        return run

    def __call__(self):
        return self.now


@pytest.mark.parametrize(("step", "validation"), [(0.7, 0.1), (0.4, 2.0), (2.0, 0.5)])
@pytest.mark.parametrize("minutes", [0.5, 1])
@pytest.mark.parametrize("choice", [False, True])
def test_a_training_takes_the_time_it_was_given(
    monkeypatch, teacher, step, validation, minutes, choice
):
    prior, graphs = teacher
    clock = WorkClock(monkeypatch, step, validation)
    config = TrainingConfig(minutes=minutes, batch=2, patience=100, objective=SMALL["evidence"])
    starts = [Start("teacher", prior), Start()] if choice else [Start()]
    planned = plan(graphs, config, starts, clock=clock)
    deque(train(graphs, planned.config, planned.state), maxlen=0)
    assert planned.state.step == planned.config.steps
    assert 0.9 * 60 * minutes - 2 * step <= clock.now <= 60 * minutes + step
    assert len(planned.state.history) >= 3


def test_a_start_that_validates_better_is_chosen(teacher, rng):
    prior, graphs = teacher
    spoilt = SMALL["evidence"].build()
    with torch.no_grad():
        spoilt.logit.bias.fill_(8.0)
        spoilt.usual_log_odds.fill_(8.0)
    config = TrainingConfig(minutes=0.03, batch=2, objective=SMALL["evidence"])
    good, bad = Start("good", prior), Start("bad", SMALL["evidence"].prior(spoilt))
    assert plan(graphs, config, [good, Start()]).config.start == "good"
    assert plan(graphs, config, [bad, Start()]).config.start is None
    planned = plan(graphs, config, [good, bad])
    assert planned.config.start == "good"
    assert planned.state.tried["good"] < planned.state.tried["bad"]


@pytest.mark.parametrize("from_prior", [False, True])
def test_what_was_fitted_to_a_time_can_be_made_again_by_its_number_of_steps(teacher, from_prior):
    prior, graphs = teacher
    start = Start("teacher", prior) if from_prior else Start()
    config = TrainingConfig(minutes=0.02, batch=2, objective=SMALL["evidence"])
    planned = plan(graphs, config, [start, Start()] if from_prior else [start])
    deque(train(graphs, planned.config, planned.state), maxlen=0)
    exact = replace(planned.config, minutes=None)
    again = start.state(exact, "cpu")
    deque(train(graphs, exact, again), maxlen=0)
    expected, got = weights(planned.state.best), weights(again.best)
    assert all(torch.equal(expected[key], got[key]) for key in expected)
    assert again.history == planned.state.history


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(minutes):
    with pytest.raises(GraphPriorError, match=r"minutes = .*expected a number above 0"):
        fit_prior([np.zeros((3, 3))] * 4, minutes=minutes)


def test_a_time_and_a_number_of_steps_are_too_much():
    with pytest.raises(GraphPriorError, match="minutes = 1 and a TrainingConfig with steps = 5"):
        fit_prior([np.zeros((3, 3))] * 4, TrainingConfig(steps=5), minutes=1)


def test_the_card_says_how_sure_its_validation_is(rng):
    graphs = [random_graph(rng, n, 0.4) for n in (4, 5, 5, 6) * 4]
    card = fit_prior(graphs, minutes=0.01, start="nothing", seed=3).card
    assert card["training"]["minutes"] == 0.01
    assert card["training"]["seed"] == 3
    found = held_out_bits(card)
    assert found.graphs == card["validation"]["held_out"] >= 3
    assert found.bits == card["validation"]["best"]["unknown=0.5 no data"]
    assert 0 < found.gain_error
    assert 0 < found.error < found.bits
    assert found.start is None


def test_ten_graphs_are_enough(teacher):
    prior, graphs = teacher
    assert len(graphs) == 10
    config = TrainingConfig(steps=5, batch=2, objective=SMALL["evidence"])
    start = Start("teacher", prior)
    config = start.settings(config)
    state = start.state(config, "cpu")
    deque(train(graphs, config, state), maxlen=0)
    found = held_out_bits(trained_card({}, "", config, state, graphs))
    assert found.graphs == 3
    assert found.start == state.history[0]["unknown=0.5 no data"]
    assert found.rate - found.bits > 2 * found.gain_error
