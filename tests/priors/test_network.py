import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from graphprior.graphs.matrices import pairs, unvech, vech
from graphprior.priors.networks.evidence_network import (
    BATCH_PAIRS,
    LARGEST_LOG_ODDS,
    EvidenceNetwork,
    EvidenceNetworkConfig,
    EvidenceNetworkPrior,
    parity_features,
)
from graphprior.priors.networks.norms import Standardised, centred, map_standardised
from graphprior.priors.networks.pairs import Ends, Paths, RowSums
from graphprior.priors.protocol import EvidencePrior
from oracles import random_graph

SMALL = EvidenceNetworkConfig(layers=2, channels=5, paths=3, hidden=6)
INF = torch.inf


def random_network(config=SMALL, dtype=torch.float64):
    """Random weights everywhere: the laws must hold for any weights, not only trained ones."""
    torch.manual_seed(0)
    network = EvidenceNetwork(config)
    for p in network.parameters():
        nn.init.normal_(p, std=0.4)
    return network.to(dtype).eval()


@pytest.fixture(params=[True, False], ids=["parity", "no-parity"])
def network(request):
    return random_network(EvidenceNetworkConfig(2, 5, 3, 6, parity=request.param))


def random_evidence(rng, n, B=1, known=0.4):
    """Pairs (B, P) with evidence of either sign, and a share of them known."""
    shape = (B, n * (n - 1) // 2)
    ell = rng.normal(scale=2, size=shape)
    certain = np.where(rng.random(shape) < 0.4, np.inf, -np.inf)
    return torch.as_tensor(np.where(rng.random(shape) < known, certain, ell))


def matrix(ell):
    return torch.as_tensor(unvech(ell.numpy()))


def vector(M):
    return torch.as_tensor(vech(M.numpy()))


def padded(parts):
    """Evidence of graphs of different size as one batch with rubbish in the padding."""
    n = max(len(M) for M in parts)
    ell = torch.full((len(parts), n, n), 5.0, dtype=torch.float64)
    ell[:, ::2] = ell[:, :, ::2] = INF
    is_pair = torch.zeros(len(parts), n, n, dtype=torch.bool)
    for b, M in enumerate(parts):
        ell[b, : len(M), : len(M)] = M
        is_pair[b, : len(M), : len(M)] = True
    return vector(ell), vector(is_pair)


# The gathers with derivatives of their own


def full(x, n):
    """Pairs (C, B, P) to matrices (C, B, n, n), one entry at a time."""
    M = [[torch.zeros_like(x[..., 0]) for _ in range(n)] for _ in range(n)]
    for p, (i, j) in enumerate(zip(*pairs(n), strict=True)):
        M[i][j] = M[j][i] = x[..., p]
    return torch.stack([torch.stack(row, -1) for row in M], -2)


def naive_ends(x, n):
    return torch.cat([x[:, [i]] + x[:, [j]] for i, j in zip(*pairs(n), strict=True)], 1).flatten(
        0, 1
    )


def naive_paths(x, n):
    M = full(x, n)
    P, Q = M.chunk(2)
    rows, cols = pairs(n)
    return (P @ Q + Q @ P)[..., rows, cols], P.sum(-1), Q.sum(-1)


def naive_row_sums(x, n):
    return full(x, n).sum(-1)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize(
    ("fast", "naive"),
    [
        (Ends.apply, naive_ends),
        (lambda x: Paths.apply(*x.chunk(2)), naive_paths),
        (RowSums.apply, naive_row_sums),
    ],
    ids=["Ends", "Paths", "RowSums"],
)
def test_a_gather_and_its_derivative_are_those_of_the_plain_one(n, fast, naive):
    generator = torch.Generator().manual_seed(n)

    def draw(shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    x = draw((2, n, 4) if naive is naive_ends else (4, 2, n * (n - 1) // 2))
    answers = []
    for function in (fast, lambda y: naive(y, n)):
        y = x.clone().requires_grad_()
        out = function(y)
        out = out if isinstance(out, tuple) else (out,)
        generator.manual_seed(100)
        sum((part * draw(part.shape)).sum() for part in out).backward()
        answers.append([*(part.detach() for part in out), y.grad])
    for got, expected in zip(*answers, strict=True):
        torch.testing.assert_close(got, expected)
    assert torch.autograd.gradcheck(fast, (x.clone().requires_grad_(),))


@pytest.mark.parametrize("n", [2, 3, 6])
def test_parity_features_are_products_over_the_rest_of_both_rows(rng, n):
    w = rng.uniform(size=(3, n * (n - 1) // 2))
    w[1] = np.where(rng.random(w.shape[1]) < 0.5, rng.random(w.shape[1]) < 0.5, w[1])  # known
    w[2] = rng.random(w.shape[1]) < 0.5
    got = parity_features(torch.as_tensor(w)).numpy()
    for b, W in enumerate(unvech(w)):
        for p, (i, j) in enumerate(zip(*pairs(n), strict=True)):
            first = np.prod([1 - 2 * W[i, k] for k in range(n) if k not in (i, j)])
            second = np.prod([1 - 2 * W[k, j] for k in range(n) if k not in (i, j)])
            strength = np.arctanh(0.999 * first) + np.arctanh(0.999 * second)
            np.testing.assert_allclose(got[:, b, p], [first + second, first * second, strength])


def test_a_parity_of_which_one_pair_knows_nothing_is_known_only_to_that_pair():
    """1 - 2 w = 0 cannot be divided out of a product: leaving out must not divide."""
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = 0.5
    W[0, 2] = W[2, 0] = 1.0
    features = unvech(parity_features(torch.as_tensor(vech(W)[None]))[1, 0].numpy())
    assert features[0, 1] == pytest.approx(-1)
    assert features[2, 3] == pytest.approx(-1)
    assert features[0, 3] == pytest.approx(0, abs=1e-5)


# The network


def plain_layer(layer, h, base):
    """The layer of one graph as its docstring says it, with whole matrices: h is (n, n, C)."""
    n = len(h)
    off_diagonal = 1 - torch.eye(n, dtype=h.dtype)
    x = layer.norm(h)
    w = (base + layer.belief(x)[..., 0]).sigmoid() * off_diagonal
    far, near = layer.message(x).chunk(2, -1)
    far, near = far * off_diagonal[..., None], near * w[..., None]
    paths = torch.einsum("ikc,kjc->ijc", far, near)
    around = torch.cat([far.sum(1) / n, 0.5 * near.sum(1)], -1)
    graph = around.mean(0)
    node = torch.cat([around, graph.expand_as(around)], -1)
    node = layer.node_out(layer.node_in(node).relu())
    parts = [x, 0.25 * (paths + paths.transpose(0, 1))]
    if layer.parity:
        parts += [matrix(f)[..., None] for f in parity_features(vector(w.detach())[None])[:, 0]]
    y = layer.pair_in(torch.cat(parts, -1)) + node[:, None] + node + layer.whole(graph)
    return h + layer.out(y.relu())


def test_a_layer_is_the_plain_one_up_to_the_mean_of_the_channels(network, rng):
    """Channels are read only through norms, which take their mean away."""
    n, C = 6, 5
    layer, one = network.layers[0], torch.ones(1, n * (n - 1) // 2, dtype=torch.float64)
    h = matrix(torch.as_tensor(rng.normal(size=(C, n * (n - 1) // 2)))).permute(1, 2, 0)
    h = h - h.mean(-1, keepdim=True)
    base = matrix(random_evidence(rng, n))[0]
    base.fill_diagonal_(0)
    expected = plain_layer(layer, h, base).detach()
    expected = expected - expected.mean(-1, keepdim=True)
    pairs_first = vector(h.permute(2, 0, 1))
    got = layer(pairs_first, vector(base)[None], one, one[:, :1] * n).detach()
    torch.testing.assert_close(got, vector(expected.permute(2, 0, 1)))


def test_a_standardised_map_is_the_map_of_the_norm():
    torch.manual_seed(0)
    norm, first, then = nn.LayerNorm(5), nn.Linear(3, 5), nn.Linear(5, 4)
    for p in (*norm.parameters(), *first.parameters(), *then.parameters()):
        nn.init.normal_(p)
    for module in (norm, first, then):
        module.double()
    told = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)

    def folded(told):
        W, b = centred(first)
        x = Standardised.apply(torch.addmm(b, W, told), norm.eps)
        return map_standardised(then, norm, x)

    torch.testing.assert_close(folded(told), then(norm(first(told.T))).T)
    assert torch.autograd.gradcheck(folded, (told,))


def test_relabelling_nodes_relabels_the_answer(network, rng):
    M = matrix(random_evidence(rng, 7))
    order = torch.as_tensor(rng.permutation(7))
    moved = vector(M[:, order][:, :, order])
    expected = matrix(network(vector(M)).detach())[:, order][:, :, order]
    torch.testing.assert_close(matrix(network(moved).detach()), expected)


def test_a_pair_hears_of_the_others(network, rng):
    ell = random_evidence(rng, 6, known=0)
    other = ell.clone()
    other[0, 0] = INF
    assert ((network(ell) - network(other))[0, 1:].abs() > 1e-9).all()


def test_graphs_of_different_size_in_one_batch_equal_their_parts(network, rng):
    graphs = [matrix(random_evidence(rng, n))[0] for n in (4, 7, 2, 5)]
    ell, is_pair = padded(graphs)
    batch = network(ell, is_pair)
    for b, M in enumerate(graphs):
        torch.testing.assert_close(batch[b][is_pair[b]], network(vector(M)[None])[0])


def test_padding_is_told_from_nodes_without_edges(network, rng):
    M = torch.full((6, 6), -INF, dtype=torch.float64)
    M[:5, :5] = matrix(random_evidence(rng, 5, known=0))[0]
    with_node = network(vector(M)[None])[0]
    alone = matrix(network(vector(M[:5, :5])[None]).detach())[0]
    seen = matrix(with_node.detach()[None])[0, :5, :5]
    assert not torch.allclose(seen, alone)


@pytest.mark.slow
@pytest.mark.parametrize("parity", [True, False])
def test_the_gradient_is_the_slope_of_the_answer(rng, parity):
    """Of all weights and all evidence, where some pairs are known and some are padding."""
    network = random_network(EvidenceNetworkConfig(2, 3, 2, 2, parity))
    weights = {name: p.detach().clone() for name, p in network.named_parameters()}
    ell, is_pair = padded([matrix(random_evidence(rng, n))[0] for n in (4, 3)])
    free = is_pair & ~ell.isinf()
    assert free.any(1).all()
    assert (is_pair & ell.isinf()).any()

    def answer(evidence, *values):
        given = ell.masked_scatter(free, evidence)
        told = functional_call(network, dict(zip(weights, values, strict=True)), (given, is_pair))
        return told[free]

    inputs = [value.requires_grad_() for value in (ell[free].clone(), *weights.values())]
    assert torch.autograd.gradcheck(answer, inputs)


def test_known_and_padded_pairs_leave_every_gradient_finite(network, rng):
    ell, is_pair = padded([matrix(random_evidence(rng, n))[0] for n in (5, 3)])
    ell[0, :4] = torch.tensor([1e30, -1e30, INF, -INF])
    network(ell, is_pair)[is_pair & ~ell.isinf()].square().sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())
    assert all(p.grad.abs().sum() > 0 for p in network.parameters())


# The prior


@pytest.fixture
def prior(network):
    return EvidenceNetworkPrior(network)


def test_the_score_takes_known_pairs_as_certain(prior, rng):
    A = torch.as_tensor(random_graph(rng, 5))
    known = torch.full((5, 5), torch.nan, dtype=torch.float64)
    known[0, 1] = known[1, 0] = 1.0
    A_tilde = A + 0.1
    score = prior.score(known)(A_tilde[None], 0.3)
    assert score[0, 0, 1] == pytest.approx(float((1 - A_tilde[0, 1]) / 0.09))
    torch.testing.assert_close(score, score.mT)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1, 1), (0, 0), (0, 5, 5), (2, 0, 4, 4)], ids=str)
def test_where_there_is_no_pair_there_is_nothing_to_answer(prior, shape):
    eta = prior.posterior_logits(torch.full(shape, torch.nan, dtype=torch.float64))
    assert torch.equal(eta, torch.zeros(shape, dtype=torch.float64))


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_answer_is_symmetric_with_a_zero_diagonal(prior, rng, n):
    eta = prior.posterior_logits(matrix(random_evidence(rng, n, B=3)))
    assert torch.equal(eta, eta.mT)
    assert (eta.diagonal(dim1=1, dim2=2) == 0).all()


def test_the_answer_about_pairs_is_the_networks(prior, network, rng):
    ell = random_evidence(rng, 6, B=3)
    torch.testing.assert_close(vector(prior.posterior_logits(matrix(ell))), network(ell).detach())


def test_only_the_pairs_are_read(prior, rng):
    M = matrix(random_evidence(rng, 5))
    eta = prior.posterior_logits(M)
    M.diagonal(dim1=1, dim2=2).fill_(torch.nan)
    assert torch.equal(prior.posterior_logits(M), eta)


@pytest.mark.parametrize("parts", [0.5, 2.3])
def test_a_batch_equals_its_parts(rng, parts):
    prior = EvidenceNetworkPrior(random_network())
    B = int(parts * BATCH_PAIRS / 780)  # 780 pairs of 40 nodes
    M = matrix(random_evidence(rng, 40, B=B))
    batch = prior.posterior_logits(M)
    torch.testing.assert_close(batch, torch.stack([prior.posterior_logits(m) for m in M]))


def test_one_graph_of_more_pairs_than_a_part_holds_is_answered(rng):
    n = 183
    assert n * (n - 1) // 2 > BATCH_PAIRS
    network = random_network(EvidenceNetworkConfig(1, 2, 1, 2))
    ell = random_evidence(rng, n, B=2)
    eta = EvidenceNetworkPrior(network).posterior_logits(matrix(ell))
    torch.testing.assert_close(vector(eta), network(ell).detach())


def test_leading_axes_are_batches(prior, rng):
    M = matrix(random_evidence(rng, 5, B=6))
    flat = prior.posterior_logits(M)
    for shape in [(6,), (2, 3), (1, 6, 1), (3, 1, 2)]:
        eta = prior.posterior_logits(M.view(*shape, 5, 5))
        torch.testing.assert_close(eta, flat.view(*shape, 5, 5))
    torch.testing.assert_close(prior.posterior_logits(M[0]), flat[0])


@pytest.mark.parametrize("given", [torch.float32, torch.float64])
@pytest.mark.parametrize("own", [torch.float32, torch.float64])
def test_the_answer_has_the_type_and_place_of_the_evidence(rng, given, own):
    network = random_network(dtype=own)
    ell = matrix(random_evidence(rng, 5, B=2)).to(given)
    kept = ell.clone()
    eta = EvidenceNetworkPrior(network).posterior_logits(ell)
    assert (eta.dtype, eta.device, eta.shape) == (ell.dtype, ell.device, ell.shape)
    assert torch.equal(ell, kept)
    assert next(network.parameters()).dtype == own


@pytest.mark.parametrize("known", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_known_pairs_stay_known_and_the_others_are_answered(prior, rng, n, known):
    ell = random_evidence(rng, n, B=5, known=known)
    eta = vector(prior.posterior_logits(matrix(ell)))
    assert torch.equal(eta[ell.isinf()], ell[ell.isinf()])
    assert eta[~ell.isinf()].isfinite().all()


@pytest.mark.parametrize("size", [1e2, 1e8, 1e38])
def test_evidence_of_any_size_has_a_finite_answer(rng, size):
    prior = EvidenceNetworkPrior(random_network(dtype=torch.float32))
    ell = torch.where(torch.as_tensor(rng.random((2, 15))) < 0.5, size, -size).float()
    ell[:, 0] = INF
    eta = vector(prior.posterior_logits(matrix(ell)))[:, 1:]
    assert eta.isfinite().all()
    told = ell[:, 1:].clamp(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    capped = torch.cat([ell[:, :1], told], 1)
    answer = vector(prior.posterior_logits(matrix(capped)))[:, 1:]
    torch.testing.assert_close(answer + (ell[:, 1:] - told), eta)


def test_an_untrained_network_answers_the_rate_of_the_known_pairs_and_own_evidence(rng):
    """The rate is that of the known pairs and of ten more at the usual rate."""
    torch.manual_seed(0)
    network = EvidenceNetwork(SMALL).double()
    ell = random_evidence(rng, 8, B=4)
    ell[0] = ell[0].nan_to_num(posinf=1.0, neginf=0.5)  # nothing known
    eta = vector(EvidenceNetworkPrior(network).posterior_logits(matrix(ell)))
    usual = float(network.usual_log_odds.detach().sigmoid())
    for got, told in zip(eta, ell, strict=True):
        known = told.isinf()
        rate = (int((told == INF).sum()) + 10 * usual) / (int(known.sum()) + 10)
        constant = np.log(rate / (1 - rate)) + float(network.logit.bias.detach())
        torch.testing.assert_close(got[~known], told[~known] + constant)


def test_the_first_answer_may_be_in_inference_mode_and_training_follow(rng):
    """Index tables are kept for ever: made in inference mode they would break a later gradient."""
    n = 23  # a size no other test has
    network = random_network()
    ell = random_evidence(rng, n, known=0)
    EvidenceNetworkPrior(network).posterior_logits(matrix(ell))
    network(ell).sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())


def test_memory_grows_with_the_graphs_until_they_are_passed_in_parts():
    prior = EvidenceNetworkPrior(random_network())
    assert 3.5 < prior.memory(2000, 1) / prior.memory(1000, 1) < 4.5
    assert prior.memory(10, 20) == 2 * prior.memory(10, 10)
    own = [prior.memory(1000, M) - EvidencePrior.memory(prior, 1000, M) for M in (1, 10)]
    assert own[0] == own[1] > 0
