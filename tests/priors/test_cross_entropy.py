import math

import networkx as nx
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from graphprior.graphs.matrices import pairs, unvech
from graphprior.priors.exact import FiniteGraphs
from graphprior.priors.networks.evidence_network import EvidenceNetwork, EvidenceNetworkConfig
from graphprior.priors.training.cross_entropy import (
    VALIDATION,
    CrossEntropy,
    draw_evidence,
    draw_hidden,
    gaussian_channel,
    pad_pairs,
    slab_channel,
    weighted_cross_entropy,
)
from graphprior.priors.training.fit import fit_prior
from graphprior.priors.training.training import TrainingConfig
from oracles import random_graph

TINY = EvidenceNetworkConfig(layers=1, channels=4, paths=2, hidden=4)
RATE = 0.3
INF = torch.inf


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def random_pairs(generator, B, P, rate=RATE):
    return (torch.rand(B, P, generator=generator) < rate).float()


def assert_honest(ell, a, rate, bins=12):
    """Among pairs with log-odds x, the share of edges is sigmoid(x + prior log-odds).

    Each bin's edges are counted against the sum of their probabilities.
    """
    order = ell.argsort()
    ell, a = ell[order].double(), a[order].double()
    p = (ell + math.log(rate / (1 - rate))).sigmoid()
    for said, seen in zip(p.chunk(bins), a.chunk(bins), strict=True):
        standard_error = (said * (1 - said)).sum().sqrt()
        assert abs(seen.sum() - said.sum()) <= 4 * standard_error + 0.5


# Evidence


@pytest.mark.parametrize("channel", [gaussian_channel, slab_channel])
@pytest.mark.parametrize("setting", [0.05, 0.5, 3.0, 30.0])
def test_the_log_odds_of_a_channel_are_exact(generator, channel, setting):
    a = random_pairs(generator, 1, 200_000)[0]
    ell = channel(a, torch.full_like(a, setting), generator)
    assert ell.std() > 0
    assert_honest(ell, a, RATE)


def test_a_non_edge_is_never_seen_clearly_in_data_but_an_edge_is(generator):
    a = random_pairs(generator, 1, 10_000)[0]
    ratio = torch.full_like(a, 0.01)
    ell = slab_channel(a, ratio, generator)
    assert ell.min() >= 0.5 * math.log(0.01 / 1.01)
    assert ell[a == 1].max() > 50


@pytest.mark.parametrize("n", [2, 3, 8])
def test_being_hidden_says_of_a_pair_what_is_told(generator, n):
    """P(hidden | 1) / P(hidden | 0) = exp(told)."""
    B, P = 60_000 // n, n * (n - 1) // 2
    a = random_pairs(generator, B, P)
    hidden, told = draw_hidden(a, torch.ones_like(a, dtype=torch.bool), 1.5, generator)
    ell = told.expand(B, P)
    chosen = ell != 0
    assert 0.05 < chosen.float().mean() < 0.5
    assert_honest(ell[hidden & chosen], a[hidden & chosen], RATE)
    assert_honest(ell[hidden & ~chosen], a[hidden & ~chosen], RATE, bins=1)


def test_the_one_question_of_a_graph_else_all_known_is_told_what_is_right(generator):
    """That nothing was hidden by value says something of the pair that is asked all the same."""
    a = random_pairs(generator, 400_000, 3)
    hidden, told = draw_hidden(a, torch.ones_like(a, dtype=torch.bool), 4.0, generator)
    one = hidden.sum(1) == 1
    told, asked = told.expand_as(a)[hidden & one[:, None]], a[hidden & one[:, None]]
    others = ((1 - hidden.float()) * a).sum(1)[one]
    for edges in (0, 1, 2):
        assert_honest(told[others == edges], asked[others == edges], RATE)


def mixed_sizes(rng, count=2000):
    """Most pairs of most graphs are padding."""
    return [random_graph(rng, n, RATE) for n in (2, 3, 4, 12) for _ in range(count // 4)]


def test_only_pairs_are_hidden(rng, generator):
    a, is_pair = pad_pairs(mixed_sizes(rng))
    hidden, told = draw_hidden(a, is_pair, 1.5, generator)
    assert not (hidden & ~is_pair).any()
    assert hidden.shape == a.shape
    assert told.shape == (len(a), 1)


def test_every_graph_has_a_question(rng, generator):
    a, is_pair = pad_pairs(mixed_sizes(rng))
    hidden, _ = draw_hidden(a, is_pair, 1.5, generator)
    assert hidden.any(1).all()


def test_shares_hidden_range_from_nearly_nothing_to_everything(generator):
    a = random_pairs(generator, 4000, 190)
    hidden, _ = draw_hidden(a, torch.ones_like(a, dtype=torch.bool), 1.5, generator)
    share = hidden.float().mean(1)
    found = torch.histc(share, 10, 0, 1) / len(share)
    assert (found > 0.01).all()
    assert share.min() <= 2 / 190
    assert share.max() == 1


def test_some_graphs_have_unknown_nodes(generator):
    """Their unknown pairs are all those of some nodes, and no others."""
    n = 10
    rows, cols = pairs(n)
    a = random_pairs(generator, 2000, len(rows))
    hidden, told = draw_hidden(a, torch.ones_like(a, dtype=torch.bool), 1.5, generator)
    full = torch.as_tensor(unvech(hidden.numpy()))
    whole = full.sum(2) == n - 1  # nodes of which nothing is known
    by_node = (whole[:, rows] | whole[:, cols]) == hidden
    some = by_node.all(1) & whole.any(1) & ~whole.all(1) & (whole.sum(1) < n - 2)
    assert 0.03 < some.float().mean() < 0.125
    assert (told[some] == 0).all()


def test_all_evidence_together_is_exact_too(generator):
    """On independent pairs the posterior is the pair's own evidence, whatever else is known."""
    a = random_pairs(generator, 8000, 28)
    ell = draw_evidence(a, torch.ones_like(a, dtype=torch.bool), CrossEntropy(), generator)
    known = ell.isinf()
    assert torch.equal(ell[known] > 0, a[known] == 1)
    # Pairs hidden by value leave their mark on the known ones: it must not be news.
    edges, count = (known * a).sum(1), known.sum(1)
    for graphs in (count == 0, edges > RATE * count, edges <= RATE * count):
        asked = ~known & graphs[:, None]
        assert_honest(ell[asked], a[asked], RATE)
    said = ell[~known]
    assert min((said == 0).float().mean(), (said.abs() > 5).float().mean()) > 0.02


def test_padding_has_no_evidence_for_an_edge(rng, generator):
    a, is_pair = pad_pairs(mixed_sizes(rng, 200))
    ell = draw_evidence(a, is_pair, CrossEntropy(), generator)
    assert (ell[~is_pair] == -INF).all()


# The loss


@pytest.fixture
def network():
    torch.manual_seed(0)
    network = EvidenceNetwork(TINY)
    for p in network.parameters():
        torch.nn.init.normal_(p, std=0.4)
    return network


class Fixed(torch.nn.Module):
    """Answers the same whatever it is told."""

    def __init__(self, eta):
        super().__init__()
        self.eta = torch.nn.Parameter(eta)

    def forward(self, ell, is_pair):
        return self.eta


def questions(generator, B=4, P=10):
    a = random_pairs(generator, B, P)
    known = torch.rand(B, P, generator=generator) < 0.4
    ell = torch.where(known, torch.where(a == 1, INF, -INF), torch.randn(B, P, generator=generator))
    is_pair = torch.rand(B, P, generator=generator) < 0.7
    return a, ell, is_pair


def test_the_loss_is_that_of_the_unknown_pairs_alone(generator):
    """Whatever is answered to known pairs or padding, the loss and its slope are the same."""
    a, ell, is_pair = questions(generator)
    asked = is_pair & ~ell.isinf()
    eta = torch.randn(a.shape, generator=generator)
    losses, slopes = [], []
    for answer in (0.0, -3.0, INF, -INF, torch.nan):
        network = Fixed(torch.where(asked, eta, answer))
        loss = weighted_cross_entropy(network, a, ell, is_pair)
        loss.backward()
        losses.append(loss.detach())
        slopes.append(network.eta.grad)
        assert (network.eta.grad[~asked] == 0).all()
        assert (network.eta.grad[asked] != 0).all()
    assert all(torch.equal(loss, losses[0]) for loss in losses)
    assert all(torch.equal(slope, slopes[0]) for slope in slopes)


def test_what_is_in_the_padding_changes_neither_loss_nor_slope(network, rng, generator):
    a, is_pair = pad_pairs([random_graph(rng, n) for n in (3, 6, 4)])
    ell = draw_evidence(a, is_pair, CrossEntropy(), generator)
    answers = []
    for edge, told in [(0.0, -INF), (1.0, INF), (1.0, 0.0), (0.0, 7.0)]:
        network.zero_grad()
        there = torch.where(is_pair, a, edge), torch.where(is_pair, ell, told)
        loss = weighted_cross_entropy(network, *there, is_pair)
        loss.backward()
        answers.append([loss.detach(), *(p.grad.clone() for p in network.parameters())])
    for other in answers[1:]:
        for got, expected in zip(other, answers[0], strict=True):
            assert expected.isfinite().all()
            torch.testing.assert_close(got, expected)


def test_a_graph_counts_by_the_root_of_its_questions(generator):
    """A graph of P pairs, q of them unknown, counts by sqrt(q / P) of its mean loss."""
    a, ell, is_pair = questions(generator)
    eta = torch.randn(a.shape, generator=generator)
    loss = weighted_cross_entropy(Fixed(eta), a, ell, is_pair)
    asked = is_pair & ~ell.isinf()
    parts = []
    for b in range(len(a)):
        bits = F.binary_cross_entropy_with_logits(eta[b][asked[b]], a[b][asked[b]])
        parts.append(float(bits) * math.sqrt(int(asked[b].sum()) / int(is_pair[b].sum())))
    assert loss.item() == pytest.approx(np.mean(parts), rel=1e-5)


def test_the_truth_about_independent_pairs_has_the_lowest_loss(generator):
    a = random_pairs(generator, 4000, 15)
    is_pair = torch.ones_like(a, dtype=torch.bool)
    ell = draw_evidence(a, is_pair, CrossEntropy(), generator)
    own = ell.masked_fill(ell.isinf(), 0.0)

    def loss(shift, gain):
        prior = math.log(RATE / (1 - RATE))
        return weighted_cross_entropy(Fixed(shift + prior + gain * own), a, ell, is_pair).item()

    wrong = [(0.3, 1), (-0.3, 1), (0, 0.8), (0, 1.25), (0, 0)]
    assert all(loss(0, 1) < loss(*other) for other in wrong)


# What is learned


@pytest.fixture(scope="module")
def path_or_star():
    """All labellings of a path and a star on four nodes: exact, learned, and fresh questions."""
    kinds = [nx.to_numpy_array(g) for g in (nx.path_graph(4), nx.star_graph(3))]
    exact = FiniteGraphs.up_to_relabelling(kinds)
    rng = np.random.default_rng(0)
    graphs = [kinds[rng.integers(2)] for _ in range(200)]
    objective = CrossEntropy(
        network=EvidenceNetworkConfig(layers=3, channels=8, paths=8, hidden=16)
    )
    config = TrainingConfig(
        steps=250, batch=32, learning_rate=1e-2, ema=0.98, validate_every=50, objective=objective
    )
    learned = fit_prior(graphs, config)
    fresh = torch.as_tensor(np.concatenate([exact.a.numpy()] * 20)).float()
    ell = draw_evidence(
        fresh, torch.ones_like(fresh, dtype=torch.bool), objective, torch.Generator().manual_seed(1)
    )
    return exact, learned, ell.double()


def excess_bits(eta, right, asked):
    """Bits a question costs beyond what the exact posterior costs."""
    p = right.sigmoid()[asked]
    cost = F.binary_cross_entropy_with_logits(eta[asked], p, reduction="none")
    return float((cost - F.binary_cross_entropy(p, p, reduction="none")).mean() / math.log(2))


@pytest.mark.slow
def test_what_is_learned_approaches_the_exact_posterior(path_or_star, record_property):
    exact, learned, ell = path_or_star
    evidence = torch.as_tensor(unvech(ell.numpy()))
    rows, cols = pairs(4)
    right = exact.posterior_logits(evidence)[:, rows, cols]
    got = learned.posterior_logits(evidence)[:, rows, cols]
    asked = ~ell.isinf()
    of_rate = excess_bits(ell, right, asked)  # half of all pairs are edges
    of_learned = excess_bits(got, right, asked)
    record_property("excess_bits", of_learned)
    record_property("excess_bits_of_the_rate", of_rate)
    assert of_rate > 0.1
    assert 0 <= of_learned < 0.25 * of_rate


def test_validation_measures_each_share_with_and_without_data(network, rng):
    graphs = [random_graph(rng, int(n), RATE) for n in rng.integers(4, 9, 50)]
    row = CrossEntropy().validate(network, graphs, 0)
    shares = sorted({share for share, _ in VALIDATION})
    asked = [f"unknown={share:g} {word} data" for share in shares for word in ("no", "with")]
    assert set(row) == {"loss", *asked, *(f"rate {name}" for name in asked)}
    assert row["loss"] == pytest.approx(np.mean([row[name] for name in asked]))
    assert row == CrossEntropy().validate(network, graphs, 0)
    assert row != CrossEntropy().validate(network, graphs, 1)


def test_the_baseline_of_validation_is_the_entropy_of_the_density(network, rng):
    graphs = [random_graph(rng, int(n), RATE) for n in rng.integers(4, 30, 60)]
    row = CrossEntropy().validate(network, graphs, 0)
    a, is_pair = pad_pairs(graphs)
    p = float(a[is_pair].mean())
    entropy = -p * math.log2(p) - (1 - p) * math.log2(1 - p)
    assert row["rate unknown=1 no data"] == pytest.approx(entropy, abs=1e-4)
    sd = abs(math.log2(p / (1 - p))) * math.sqrt(p * (1 - p))
    for share in (0.5, 0.2, 0.1):
        standard_error = sd / math.sqrt(share * int(is_pair.sum()))
        assert abs(row[f"rate unknown={share:g} no data"] - entropy) < 4 * standard_error
    assert all(
        row[f"rate unknown={share:g} with data"] < entropy - 0.1 for share in (1.0, 0.5, 0.2, 0.1)
    )


def test_an_untrained_network_with_the_density_is_as_good_as_the_baseline(rng):
    """The network and the baseline are asked the same questions."""
    graphs = [random_graph(rng, int(n), RATE) for n in rng.integers(10, 20, 40)]
    a, is_pair = pad_pairs(graphs)
    p = float(a[is_pair].mean())
    network = EvidenceNetwork(TINY)
    torch.nn.init.zeros_(network.logit.bias)
    torch.nn.init.constant_(network.usual_log_odds, math.log(p / (1 - p)))
    row = CrossEntropy().validate(network, graphs, 0)
    for name in ("unknown=1 no data", "unknown=1 with data"):
        assert row[name] == pytest.approx(row[f"rate {name}"], abs=1e-4)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_validation_on_few_small_graphs_is_a_number(network, rng, n):
    """A loss that is no number would keep the untrained network as the best."""
    for seed in range(5):
        row = CrossEntropy().validate(network, [random_graph(rng, n)], seed)
        assert all(math.isfinite(value) for value in row.values())


@pytest.mark.parametrize("A", [np.zeros((4, 4)), 1 - np.eye(4)], ids=["empty", "full"])
def test_validation_on_graphs_of_density_zero_or_one_is_a_number(network, A):
    row = CrossEntropy().validate(network, [A] * 20, 0)
    assert all(math.isfinite(value) for value in row.values())


def test_a_small_set_is_asked_as_often_as_a_larger_one_of_the_same_graphs(network, rng):
    """So that validation on three graphs does not depend on which of their pairs were asked."""
    graphs = [random_graph(rng, int(n), RATE) for n in (20, 19, 20)]
    few, often = (CrossEntropy().validate(network, graphs * k, 0) for k in (1, 10))
    for name in (name for name in few if not name.startswith("rate")):
        assert few[name] == pytest.approx(often[name])


def test_standard_errors_tell_how_far_bits_differ_between_sets_of_graphs(network, rng):
    objective, names = CrossEntropy(), ("unknown=1 no data", "unknown=0.5 with data")
    found, said = [], []
    for _ in range(60):
        sets = [random_graph(rng, int(n), rng.uniform(0.1, 0.6)) for n in rng.integers(5, 9, 24)]
        row = objective.validate(network, sets, 0)
        error = objective.standard_errors(network, sets, 0)
        found.append([row[name] for name in names])
        said.append([error[name] for name in names])
    spread, mean = np.std(found, axis=0, ddof=1), np.mean(said, axis=0)
    # The standard error of a standard deviation of 60 numbers is 9%.
    assert mean == pytest.approx(spread, rel=0.35)


def test_graphs_that_are_alike_leave_no_doubt(network):
    errors = CrossEntropy().standard_errors(network, [np.ones((4, 4)) - np.eye(4)] * 5, 0)
    assert errors["unknown=1 no data"] == pytest.approx(0, abs=1e-6)
    assert errors["gain unknown=1 no data"] == pytest.approx(0, abs=1e-6)
    assert CrossEntropy().standard_errors(network, [np.zeros((4, 4))], 0) == {}
