import numpy as np
import pytest
import torch

from graphprior.prior.batches import pad
from graphprior.prior.edp_gnn import EDPGNN, EDPGNNConfig, EDPGNNPrior
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
        network.rest_log_odds(A, torch.tensor([s], dtype=torch.float64), everyone)
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
