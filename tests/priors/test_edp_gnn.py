import numpy as np
import pytest
import torch

from graphprior.priors.networks.edp_gnn import EDPGNN, EDPGNNConfig, EDPGNNPrior
from graphprior.priors.training.batches import pad
from oracles import random_graph

SMALL = EDPGNNConfig(layers=2, channels=6, features=8, hidden=12)


@pytest.fixture
def network():
    """Random weights everywhere: the laws must hold for any weights, not only trained ones."""
    torch.manual_seed(0)
    net = EDPGNN(SMALL)
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return net.double().eval()


def noisy(rng, n, B=1):
    z = rng.standard_normal((B, n, n)) * 0.3
    A = np.stack([random_graph(rng, n) for _ in range(B)])
    return torch.as_tensor(A + np.triu(z, 1) + np.swapaxes(np.triu(z, 1), 1, 2))


def test_the_score_is_symmetric_and_sees_the_other_pairs(network, rng):
    A = noisy(rng, 6)
    sigma = torch.tensor([0.3], dtype=torch.float64)
    score = network(A, sigma)
    torch.testing.assert_close(score, score.mT)
    A[0, 0, 1] = A[0, 1, 0] = 2.0
    assert not torch.allclose(network(A, sigma)[0, 3, 4], score[0, 3, 4])


def test_relabelling_nodes_relabels_the_score(network, rng):
    A, order = noisy(rng, 7), torch.as_tensor(rng.permutation(7))
    sigma = torch.tensor([0.4], dtype=torch.float64)
    moved = network(A[:, order][:, :, order], sigma)
    torch.testing.assert_close(moved, network(A, sigma)[:, order][:, :, order])


def test_padding_changes_nothing(network, rng):
    A = noisy(rng, 5)
    sigma = torch.tensor([0.2], dtype=torch.float64)
    padded = torch.full((1, 9, 9), 7.0, dtype=torch.float64)
    padded[:, :5, :5] = A
    is_node = torch.arange(9)[None] < 5
    torch.testing.assert_close(network(padded, sigma, is_node)[:, :5, :5], network(A, sigma))


def test_an_isolated_node_is_a_node_and_not_padding(network, rng):
    A = torch.zeros(1, 6, 6, dtype=torch.float64)
    A[:, :5, :5] = noisy(rng, 5).round()
    sigma = torch.tensor([0.2], dtype=torch.float64)
    with_node = network(A, sigma)[:, :5, :5]
    assert not torch.allclose(with_node, network(A[:, :5, :5], sigma))


def test_graphs_of_different_size_in_one_batch_equal_their_parts(network, rng):
    graphs = [noisy(rng, n)[0] for n in (4, 7, 5)]
    A, is_node = pad([g.numpy() for g in graphs])
    sigma = torch.tensor([0.1, 0.3, 0.5], dtype=torch.float64)
    A = A.double()
    for g, graph in enumerate(graphs):  # pad is float32; compare on the exact entries
        A[g, : len(graph), : len(graph)] = graph
    batch = network(A, sigma, is_node)
    for g, graph in enumerate(graphs):
        alone = network(graph[None], sigma[g : g + 1])[0]
        torch.testing.assert_close(batch[g, : len(graph), : len(graph)], alone)


def test_the_noise_level_is_an_input(network, rng):
    A = noisy(rng, 5)
    everyone = torch.ones(1, 5, dtype=torch.bool)
    f = [
        network.rest_log_odds(A, network.given(torch.tensor([s], dtype=torch.float64), everyone))
        for s in (0.1, 0.5)
    ]
    assert not torch.allclose(*f)


def test_the_prior_scores_each_chain_at_one_level_only(network, rng):
    prior = EDPGNNPrior(network)
    A = noisy(rng, 5, B=3)
    score = prior.score(torch.full((5, 5), torch.nan, dtype=torch.float64))
    torch.testing.assert_close(
        score(A, 0.25), network(A, torch.full((3,), 0.25, dtype=torch.float64)).detach()
    )


def test_memory_grows_with_the_square_of_the_nodes(network):
    prior = EDPGNNPrior(network)
    assert 3.5 < prior.memory(2000, 10) / prior.memory(1000, 10) < 4.5
    assert prior.memory(1000, 20) == 2 * prior.memory(1000, 10)


def test_the_gradient_is_the_slope_of_the_loss(network, rng):
    """Sums are taken in place in the network; training must still see the true gradient."""
    A, sigma = noisy(rng, 5, B=2), torch.tensor([0.2, 0.5], dtype=torch.float64)
    loss = lambda: (network(A, sigma) ** 2).mean()  # noqa: E731
    loss().backward()
    for name, p in network.named_parameters():
        i = int(p.grad.abs().argmax())
        with torch.no_grad():
            value = p.view(-1)[i].item()
            p.view(-1)[i] = value + 1e-6
            up = loss().item()
            p.view(-1)[i] = value - 1e-6
            down = loss().item()
            p.view(-1)[i] = value
        slope = p.grad.view(-1)[i].item()
        assert (up - down) / 2e-6 == pytest.approx(slope, rel=1e-4, abs=1e-6), name


def plain_layer(layer, E, x, level):
    """A layer as its formula says: channels last, every pair twice, nothing folded."""
    n = E.shape[1]
    e, y = layer.pair_norm(E), layer.node_norm(x)
    off_diagonal = (1 - torch.eye(n, dtype=E.dtype))[..., None]
    received = torch.einsum("bijc,bjh->bich", e * off_diagonal, y) / n**0.5
    messages = received + (1 + layer.own_weight)[:, None] * y[:, :, None]
    gain, shift = layer.node_level(level)[:, None].chunk(2, -1)
    h = layer.node_in(messages.reshape(len(E), n, -1)) * (1 + gain) + shift
    x = x + layer.node_out(torch.nn.functional.silu(h))
    y = layer.node_norm(x)
    ends, factor = layer.ends(y), layer.product(y)
    gain, shift = layer.pair_level(level)[:, None, None].chunk(2, -1)
    h = layer.pair_in(e) + ends[:, :, None] + ends[:, None] + factor[:, :, None] * factor[:, None]
    return E + layer.pair_out(torch.nn.functional.silu(h * (1 + gain) + shift)), x


def plain_log_odds(network, A, sigma):
    n = A.shape[-1]
    level = network.embed(sigma)
    is_pair = (1 - torch.eye(n, dtype=A.dtype)).expand_as(A)
    likely = ((A - 0.5) / sigma[:, None, None] ** 2).sigmoid() * is_pair
    E = network.pair_start(torch.stack([A, likely, is_pair], -1))
    size = torch.full((len(A), n), float(n), dtype=A.dtype)
    told = [A.sum(2) / size.sqrt(), likely.sum(2) / size.sqrt(), size.log()]
    x = network.node_start(torch.stack(told, -1))
    for layer in network.layers:
        E, x = plain_layer(layer, E, x, level)
    return network.logit(network.norm(E))[..., 0] * is_pair


@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
def test_the_fast_pass_and_its_gradient_are_those_of_the_plain_formula(network, rng, n):
    A = noisy(rng, n, B=3)
    sigma = torch.tensor([0.2, 0.5, 0.9], dtype=torch.float64)
    everyone = torch.ones(1, n, dtype=torch.bool)
    fast = network.rest_log_odds(A, network.given(sigma, everyone))
    plain = plain_log_odds(network, A, sigma)
    torch.testing.assert_close(fast, plain)
    parameters = list(network.parameters())
    slopes = [torch.autograd.grad((f**2).sum(), parameters) for f in (fast, plain)]
    torch.testing.assert_close(*slopes)
