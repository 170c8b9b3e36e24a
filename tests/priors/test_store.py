import json
import pickle
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import unvech
from graphprior.io.atomic import write_whole
from graphprior.paper.experiments.registry import experiments
from graphprior.priors.card import graphs_hash
from graphprior.priors.networks.edp_gnn import EDPGNNConfig
from graphprior.priors.networks.evidence_network import EvidenceNetworkConfig
from graphprior.priors.store import (
    KINDS,
    REPOSITORY,
    SHIPPED,
    VARIABLE,
    checkpoint_settings,
    load_checkpoint,
    load_prior,
    prior_path,
    read_card,
    save_checkpoint,
    save_prior,
    shipped_priors,
)
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.score_matching import ScoreMatching
from graphprior.priors.training.training import TrainingConfig, new_state, train
from oracles import random_graph

OBJECTIVES = {
    "evidence": CrossEntropy(
        network=EvidenceNetworkConfig(layers=1, channels=2, paths=1, hidden=3)
    ),
    "edp-gnn": ScoreMatching(network=EDPGNNConfig(layers=1, channels=2, features=3, hidden=4)),
}
CONFIG = TrainingConfig(
    steps=6, batch=2, validate_every=2, validation_share=0.5, objective=OBJECTIVES["evidence"]
)
DATA = "hash of the graphs"

graph_sets = st.lists(
    st.integers(2, 4).flatmap(
        lambda n: arrays(bool, n * (n - 1) // 2).map(lambda a: unvech(a.astype(float)))
    ),
    max_size=3,
)


def random_prior(seed=0, kind="evidence"):
    """A prior none of whose weights is zero by convention."""
    network, generator = OBJECTIVES[kind].build(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
    return OBJECTIVES[kind].prior(network)


def same_tensors(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def same_weights(a, b):
    return same_tensors(a.state_dict(), b.state_dict())


def parts(path):
    """Tensors and header of a safetensors file."""
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
    return load_file(path), header


def rewrite(path, tensors=None, **header):
    """The file with some tensors and header entries replaced; None takes one away."""
    old_tensors, old_header = parts(path)
    old_tensors |= tensors or {}
    new_header = {k: v for k, v in {**old_header, **header}.items() if v is not None}
    save_file({k: v for k, v in old_tensors.items() if v is not None}, path, new_header)


def refused(message):
    return pytest.raises(GraphPriorError, match=message)


@contextmanager
def disk_full_after(size):
    """No file can grow beyond ``size`` bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(params=OBJECTIVES)
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return save_prior(random_prior(), tmp_path / "mine.safetensors", {"name": "mine"})


@pytest.fixture(scope="module")
def graphs():
    rng = np.random.default_rng(1)
    return [random_graph(rng, n) for n in (8, 7, 8, 9)]


def state_after(steps, graphs, config=CONFIG):
    state = new_state(config)
    training = train(graphs, config, state)
    for _ in range(steps):
        next(training)
    return state


@pytest.fixture
def checkpoint(tmp_path, graphs):
    path = tmp_path / "mine.safetensors.checkpoint"
    save_checkpoint(path, state_after(3, graphs), CONFIG, DATA)
    return path


def test_a_prior_loads_as_it_was_saved(tmp_path, rng, kind):
    prior = random_prior(seed=4, kind=kind)
    loaded = load_prior(save_prior(prior, tmp_path / "mine.safetensors"))
    assert type(loaded) is type(prior)
    assert loaded.kind == kind
    assert loaded.network.config == OBJECTIVES[kind].network
    assert same_weights(loaded.network, prior.network)
    assert not loaded.network.training
    known = torch.full((5, 5), torch.nan).fill_diagonal_(0.0)
    A_tilde = torch.as_tensor(random_graph(rng, 5))[None]
    assert torch.equal(loaded.score(known)(A_tilde, 0.3), prior.score(known)(A_tilde, 0.3))


def test_every_kind_is_tested_here():
    assert set(KINDS) == set(OBJECTIVES)


def test_a_prior_without_parity_is_not_read_as_one_with(tmp_path):
    objective = CrossEntropy(network=EvidenceNetworkConfig(1, 2, 1, 3, parity=False))
    prior = objective.prior(objective.build())
    loaded = load_prior(save_prior(prior, tmp_path / "mine.safetensors"))
    assert loaded.network.config == objective.network
    ell = torch.ones(4, 4)
    assert torch.equal(loaded.posterior_logits(ell), prior.posterior_logits(ell))


def test_a_path_may_be_a_string(path):
    assert same_weights(load_prior(str(path)).network, random_prior().network)


def test_saving_twice_gives_the_same_bytes(tmp_path, kind):
    prior, path = random_prior(kind=kind), tmp_path / "mine.safetensors"
    assert len({save_prior(prior, path).read_bytes() for _ in range(8)}) == 1


def test_nothing_but_the_prior_and_its_card_is_written(path):
    assert sorted(p.name for p in path.parent.iterdir()) == ["mine.json", "mine.safetensors"]


def test_saving_makes_the_folder(tmp_path):
    path = save_prior(random_prior(), tmp_path / "new" / "newer" / "mine.safetensors")
    assert same_weights(load_prior(path).network, random_prior().network)


def test_a_card_is_read_as_written(tmp_path):
    card = {"name": "μ", "graphs": {"sizes": {"5": 3}}, "curve": [[1, 0.5]]}
    path = save_prior(random_prior(), tmp_path / "mine.safetensors", card)
    assert read_card(path) == card
    assert json.loads((tmp_path / "mine.json").read_text(encoding="utf-8")) == card


def test_a_prior_without_card_has_an_empty_one(tmp_path):
    assert read_card(save_prior(random_prior(), tmp_path / "mine.safetensors")) == {}


def test_a_prior_never_wears_the_card_of_another(path):
    save_prior(random_prior(seed=1), path)
    assert read_card(path) == {}


@pytest.mark.parametrize("content", ["", "{", "\x00", "[1]", "3"])
def test_a_card_that_is_no_object_is_refused_by_its_name(path, content):
    path.with_suffix(".json").write_text(content)
    with refused(r"mine\.json is not a JSON model card"):
        read_card(path)


def test_another_suffix_is_refused_and_nothing_written(tmp_path):
    with refused(r"mine\.pt: a prior's file name ends in \.safetensors"):
        save_prior(random_prior(), tmp_path / "mine.pt", {})
    assert not list(tmp_path.iterdir())


IN_CHECKOUT = {path.stem: path for path in sorted(REPOSITORY.glob("*.safetensors"))}


@pytest.mark.parametrize("name", [*shipped_priors(), *IN_CHECKOUT])
def test_every_prior_of_the_checkout_loads_and_its_card_describes_it(name):
    prior, card = load_prior(name), read_card(name)
    assert card["kind"] == prior.kind
    count = card["graphs"]["count"]  # in words where graphs were drawn as they were needed
    assert isinstance(count, str) or sum(card["graphs"]["sizes"].values()) == count
    assert card["parameters"] == sum(p.numel() for p in prior.network.parameters())
    assert all(p.isfinite().all() for p in prior.network.parameters())


def test_only_figures_use_the_priors_that_are_not_shipped():
    used = {name for e in experiments().values() for name in e.spec.priors.values()}
    assert set(IN_CHECKOUT) == used - set(shipped_priors())
    assert {load_prior(name).kind for name in shipped_priors()} == {"evidence"}


def test_an_unknown_name_is_refused_and_the_shipped_ones_told():
    with refused(rf"no shipped prior is called 'nonsense': there are .*{min(shipped_priors())}"):
        load_prior("nonsense")
    with refused("no shipped prior is called 'nonsense'"):
        read_card("nonsense")


def test_a_prior_of_the_figures_is_found_where_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with refused(rf"no shipped prior is called 'mine'.* in {tmp_path}\..*set {VARIABLE}"):
        load_prior("mine")
    save_prior(random_prior(), tmp_path / "mine.safetensors")
    assert same_weights(load_prior("mine").network, random_prior().network)


def test_no_folder_of_priors_hides_a_shipped_one(tmp_path, monkeypatch):
    name = min(shipped_priors())
    save_prior(random_prior(), tmp_path / f"{name}.safetensors")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert prior_path(name).parent == SHIPPED


@pytest.mark.parametrize("name", ["missing.safetensors", "folder.safetensors"])
def test_a_missing_file_is_refused_by_its_name(tmp_path, name):
    (tmp_path / "folder.safetensors").mkdir()
    with refused(f"{name}: no such file"):
        load_prior(tmp_path / name)


def lengths(whole):
    return [0, 1, 7, 8, 9, 100, *range(200, len(whole), 331), len(whole) - 4, len(whole) - 1]


def test_a_truncated_prior_is_refused_at_every_length(path):
    whole = path.read_bytes()
    for length in lengths(whole):
        path.write_bytes(whole[:length])
        with refused(r"mine\.safetensors is truncated or not a safetensors file"):
            load_prior(path)


@pytest.mark.slow
def test_a_truncated_checkpoint_is_refused_at_every_length(checkpoint):
    whole = checkpoint.read_bytes()
    for length in lengths(whole)[::4]:
        checkpoint.write_bytes(whole[:length])
        with refused(r"\.checkpoint is truncated or not a safetensors file"):
            load_checkpoint(checkpoint, CONFIG, DATA)


@pytest.mark.parametrize("content", [b"{}", b"\x00" * 64, b"\xff" * 64, pickle.dumps({"a": 1})])
def test_a_file_of_another_kind_is_refused_by_its_name(path, content):
    path.write_bytes(content)
    with refused(r"mine\.safetensors is truncated or not a safetensors file"):
        load_prior(path)


@pytest.mark.parametrize("header", [None, {"format": "pt"}, {"version": "1"}])
def test_a_safetensors_file_of_someone_else_is_refused(path, header):
    save_file({"weight": torch.zeros(3)}, path, header)
    with refused(r"mine\.safetensors is a safetensors file but not a graphprior prior"):
        load_prior(path)
    with refused(r"mine\.safetensors is a safetensors file but not a graphprior checkpoint"):
        load_checkpoint(path, CONFIG, DATA)


def test_a_checkpoint_is_no_prior_and_a_prior_no_checkpoint(path, checkpoint):
    with refused("not a graphprior checkpoint"):
        load_checkpoint(path, CONFIG, DATA)
    checkpoint.replace(path)
    with refused("not a graphprior prior"):
        load_prior(path)


@pytest.mark.parametrize("version", ["0", "2", "1.1", None])
def test_another_format_version_is_refused(path, checkpoint, version):
    rewrite(path, version=version)
    rewrite(checkpoint, version=version)
    with refused(rf"mine\.safetensors has format version {version!r}, this release reads"):
        load_prior(path)
    with refused(rf"has format version {version!r}, this release reads"):
        load_checkpoint(checkpoint, CONFIG, DATA)


def test_a_prior_of_an_unknown_kind_is_refused(path):
    rewrite(path, kind="crystal ball")
    known = ", ".join(OBJECTIVES)
    with refused(rf"mine\.safetensors holds a prior of kind 'crystal ball'.*it knows {known}"):
        load_prior(path)


def test_weights_of_one_kind_are_not_read_as_the_other(tmp_path, kind):
    path = save_prior(random_prior(kind=kind), tmp_path / "mine.safetensors")
    (other,) = set(OBJECTIVES) - {kind}
    rewrite(path, kind=other)
    with refused(r"mine\.safetensors: weights and header do not agree"):
        load_prior(path)


@pytest.mark.parametrize(
    "config",
    [
        None,
        "",
        "null",
        "[]",
        '{"layers": "one"}',
        '{"layers": 2}',
        '{"channels": 3}',
        '{"channels": -2}',
        '{"hidden": 5}',
        '{"depth": 5}',
    ],
)
def test_a_header_that_disagrees_with_the_weights_is_refused(tmp_path, kind, config):
    path = save_prior(random_prior(kind=kind), tmp_path / "mine.safetensors")
    told = json.loads(parts(path)[1]["config"])
    with suppress(TypeError, ValueError):  # nothing, or no object
        config = json.dumps({**told, **json.loads(config)})
    rewrite(path, config=config)
    with refused(r"mine\.safetensors: weights and header do not agree"):
        load_prior(path)


@pytest.mark.parametrize("weight", [None, torch.zeros(7), torch.zeros(0)])
def test_weights_that_disagree_with_the_header_are_refused(path, weight):
    rewrite(path, {"logit.weight": weight})
    with refused(r"mine\.safetensors: weights and header do not agree"):
        load_prior(path)


def test_a_weight_too_many_is_refused(path):
    rewrite(path, {"one.more": torch.zeros(1)})
    with refused(r"mine\.safetensors: weights and header do not agree"):
        load_prior(path)


@pytest.mark.parametrize("steps", [1, 2, 5, 6])
def test_a_training_that_goes_on_from_a_checkpoint_ends_as_if_it_never_stopped(
    tmp_path, graphs, steps, kind
):
    config = replace(CONFIG, objective=OBJECTIVES[kind])
    state = state_after(steps, graphs, config)
    save_checkpoint(tmp_path / "c", state, config, DATA)
    resumed = load_checkpoint(tmp_path / "c", config, DATA)
    assert resumed.step == steps
    assert all(later is resumed for later in train(graphs, config, resumed))
    whole = state_after(config.steps, graphs, config)
    for part in ("network", "average", "best"):
        assert same_weights(getattr(resumed, part), getattr(whole, part))
    assert resumed.history == whole.history
    assert resumed.step == CONFIG.steps


def test_saving_a_checkpoint_does_not_disturb_the_training(tmp_path, graphs):
    state = new_state(CONFIG)
    for _ in train(graphs, CONFIG, state):
        save_checkpoint(tmp_path / "c", state, CONFIG, DATA)
    assert same_weights(state.network, state_after(CONFIG.steps, graphs).network)


@pytest.mark.parametrize(
    ("config", "data"),
    [
        (replace(CONFIG, steps=7), DATA),
        (replace(CONFIG, seed=1), DATA),
        (replace(CONFIG, batch=3), DATA),
        (replace(CONFIG, patience=9), DATA),
        (replace(CONFIG, objective=OBJECTIVES["edp-gnn"]), DATA),
        (replace(CONFIG, objective=replace(CONFIG.objective, selection_scale=1.0)), DATA),
        (replace(CONFIG, objective=replace(CONFIG.objective, ratio=(1e-3, 20.0))), DATA),
        (
            replace(
                CONFIG,
                objective=CrossEntropy(network=replace(CONFIG.objective.network, parity=False)),
            ),
            DATA,
        ),
        (CONFIG, "hash of other graphs"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(checkpoint, config, data):
    with refused(r"\.checkpoint belongs to a training with other graphs or settings"):
        load_checkpoint(checkpoint, config, data)


def test_a_checkpoint_names_its_kind(tmp_path, kind):
    config = replace(CONFIG, objective=OBJECTIVES[kind])
    save_checkpoint(tmp_path / "c", new_state(config), config, DATA)
    assert json.loads(parts(tmp_path / "c")[1]["config"])["kind"] == kind
    best = load_checkpoint(tmp_path / "c", config, DATA).best
    assert type(best) is type(config.objective.build())


@pytest.mark.parametrize("extra", [{}, {"start": "general", "minutes": 2.0, "held_out": 3}])
def test_a_checkpoint_tells_the_settings_it_was_saved_with(tmp_path, kind, extra):
    config = replace(CONFIG, objective=OBJECTIVES[kind], **extra)
    save_checkpoint(tmp_path / "c", new_state(config), config, DATA)
    assert checkpoint_settings(tmp_path / "c") == (config, DATA)


@pytest.mark.parametrize("value", [None, "nonsense", "{}", "[]", '{"kind": "evidence"}', "3"])
def test_a_checkpoint_without_settings_is_refused_by_its_name(checkpoint, value):
    rewrite(checkpoint, config=value)
    with refused(r"mine\.safetensors\.checkpoint"):
        checkpoint_settings(checkpoint)


def test_a_checkpoint_keeps_what_was_tried(tmp_path):
    state = new_state(CONFIG)
    state.tried = {"general": 0.3, "nothing": 0.5}
    save_checkpoint(tmp_path / "c", state, CONFIG, DATA)
    assert load_checkpoint(tmp_path / "c", CONFIG, DATA).tried == state.tried


@pytest.mark.parametrize("extra", [{"start": "general"}, {"minutes": 2.0}])
def test_start_and_time_belong_to_the_identity_of_a_training(checkpoint, extra):
    with refused("belongs to a training with other graphs or settings"):
        load_checkpoint(checkpoint, replace(CONFIG, **extra), DATA)


def test_a_missing_checkpoint_is_refused(tmp_path):
    with refused("no such file"):
        load_checkpoint(tmp_path / "missing.checkpoint", CONFIG, DATA)


@pytest.mark.parametrize("key", ["network.", "average.", "best.", "adam."])
@pytest.mark.parametrize("value", [None, torch.zeros(7)], ids=["missing", "another shape"])
def test_a_checkpoint_whose_tensors_do_not_fit_is_refused_by_its_name(checkpoint, key, value):
    first = min(name for name in load_file(checkpoint) if name.startswith(key))
    rewrite(checkpoint, {first: value})
    with refused(r"mine\.safetensors\.checkpoint"):
        load_checkpoint(checkpoint, CONFIG, DATA)


@pytest.mark.parametrize("key", ["step", "history", "config", "data"])
@pytest.mark.parametrize("value", [None, "nonsense"])
def test_a_checkpoint_whose_header_is_damaged_is_refused_by_its_name(checkpoint, key, value):
    rewrite(checkpoint, **{key: value})
    with refused(r"mine\.safetensors\.checkpoint"):
        load_checkpoint(checkpoint, CONFIG, DATA)


def test_a_checkpoint_without_its_moments_is_refused(checkpoint):
    moments = {key: None for key in load_file(checkpoint) if key.startswith("adam.")}
    rewrite(checkpoint, moments)
    with refused(r"mine\.safetensors\.checkpoint"):
        load_checkpoint(checkpoint, CONFIG, DATA)


@pytest.mark.parametrize("size", [0, 10, 4000])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, size):
    (path := tmp_path / "file").write_bytes(b"old")
    with disk_full_after(size), pytest.raises(OSError, match="large"):
        write_whole(path, b"new" * 2000)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_prior_that_cannot_be_written_leaves_the_old_one(path):
    before = {p.name: p.read_bytes() for p in path.parent.iterdir()}
    with disk_full_after(500), pytest.raises(OSError, match="large"):
        save_prior(random_prior(seed=1), path, {"name": "new"})
    assert {p.name: p.read_bytes() for p in path.parent.iterdir()} == before


def test_a_card_that_cannot_be_written_leaves_the_old_prior(path):
    before = {p.name: p.read_bytes() for p in path.parent.iterdir()}
    with pytest.raises((TypeError, GraphPriorError)):
        save_prior(random_prior(seed=1), path, {"name": object()})
    assert {p.name: p.read_bytes() for p in path.parent.iterdir()} == before


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(checkpoint, graphs):
    before = checkpoint.read_bytes()
    with disk_full_after(500), pytest.raises(OSError, match="large"):
        save_checkpoint(checkpoint, state_after(4, graphs), CONFIG, DATA)
    assert checkpoint.read_bytes() == before
    assert load_checkpoint(checkpoint, CONFIG, DATA).step == 3


@given(graph_sets, graph_sets)
def test_sets_of_graphs_have_one_hash_exactly_when_they_are_the_same(a, b):
    same = len(a) == len(b) and all(map(np.array_equal, a, b))
    assert (graphs_hash(a) == graphs_hash(b)) == same
    assert graphs_hash(a) == graphs_hash([A.copy() for A in a])


def test_the_hash_depends_on_the_order(graphs):
    assert graphs_hash(graphs) != graphs_hash(graphs[::-1])
