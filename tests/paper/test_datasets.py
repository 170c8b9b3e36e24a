import networkx as nx
import numpy as np
import pytest

from graphprior.errors import GraphPriorError
from graphprior.graphs.matrices import check_adjacency, vech
from graphprior.io.graph_sets import write_npz
from graphprior.paper.datasets import (
    data_folder,
    dual_barabasi_albert,
    egonets,
    ergm_graphs,
    generate,
    grids,
)
from graphprior.paper.datasets.registry import generated
from graphprior.priors.exact import all_graphs, ergm_log_weight
from oracles import random_graph, to_networkx

GRID_SIZES = {40, 42, 45, 48, 49}


def test_grids_are_grids_with_two_to_four_more_edges(rng):
    graphs = grids(100, rng)
    extra = set()
    for A in graphs:
        n = len(A)
        shapes = [(r, n // r) for r in range(5, 8) if n % r == 0 and n // r <= 9]
        extra |= {
            int(A.sum() / 2) - nx.grid_2d_graph(r, c).number_of_edges()
            for r, c in shapes
            if contains_grid(A, r, c)
        }
    assert {len(A) for A in graphs} == GRID_SIZES
    assert extra == {2, 3, 4}


def contains_grid(A, rows, cols):
    grid = nx.to_numpy_array(nx.grid_2d_graph(rows, cols))
    return len(grid) == len(A) and (A[grid == 1] == 1).all()


def test_dual_barabasi_albert_adds_two_or_four_edges_a_node(rng):
    graphs = dual_barabasi_albert(200, rng)
    assert {len(A) for A in graphs} == {47, 49, 51, 53}
    # 4 starting edges of a star, then 2 or 4 for each of the other n - 5 nodes, equally likely
    per_node = [(A.sum() / 2 - 4) / (len(A) - 5) for A in graphs]
    standard_error = 1 / np.sqrt(200 * 45)
    assert abs(np.mean(per_node) - 3) < 4 * standard_error
    assert all(nx.is_connected(to_networkx(A)) for A in graphs)


@pytest.mark.parametrize(
    ("n", "beta", "gamma"), [(4, (0.7, -2.0), 0.3), (5, (0.3, -0.5), 2.0), (4, (0.7, -0.5), 0.8)]
)
def test_ergm_sampler_matches_exact_enumeration(rng, n, beta, gamma):
    graphs = all_graphs(n)
    log_p = ergm_log_weight(graphs, beta, gamma)
    p = np.exp(log_p - log_p.max())
    p = p / p.sum()
    count = 4000
    drawn = vech(np.stack(ergm_graphs(count, rng, n, beta, gamma, toggles=2000)))
    index = (drawn @ (1 << np.arange(drawn.shape[1]))).astype(int)
    q = np.bincount(index, minlength=len(p)) / count
    noise = 0.5 * np.sqrt(2 * p * (1 - p) / (np.pi * count)).sum()
    assert 0.5 * np.abs(p - q).sum() < noise + 0.02


def test_ergm_graphs_of_the_paper_have_even_degrees(rng):
    """gamma = 0.3 makes odd degrees so unlikely that a sparse start settles nearly without."""
    graphs = ergm_graphs(10, rng)
    degrees = np.concatenate([A.sum(0) for A in graphs])
    assert (degrees % 2 == 0).mean() > 0.95
    assert 0.08 < np.mean([vech(A).mean() for A in graphs]) < 0.15


def test_every_generated_graph_is_a_graph(rng):
    for A in [*grids(3, rng), *dual_barabasi_albert(3, rng), *ergm_graphs(3, rng, toggles=100)]:
        check_adjacency(A)


def test_an_impossible_ergm_is_refused(rng):
    with pytest.raises(GraphPriorError):
        ergm_graphs(1, rng, gamma=0.0)


def test_the_same_generator_gives_the_same_graphs():
    for make in (grids, dual_barabasi_albert):
        a, b = make(3, np.random.default_rng(4)), make(3, np.random.default_rng(4))
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def same_graphs(a, b):
    return len(a) == len(b) and all(map(np.array_equal, a, b))


@pytest.mark.parametrize("family", ["grids", "barabasi-albert"])
def test_a_family_by_name_is_decided_by_its_count_and_seed(family):
    graphs = generate(family, 3, seed=5)
    assert same_graphs(graphs, generate(family, 3, seed=5))
    assert not same_graphs(graphs, generate(family, 3, seed=6))
    # A longer set is another set: a part of it may be kept for testing.
    assert not any(np.array_equal(A, graphs[0]) for A in generate(family, 4, seed=5))
    sizes = {len(A) for A in generated()[family](200, np.random.default_rng(0))}
    assert {len(A) for A in generate(family, 200, seed=0)} == sizes


def test_every_name_makes_as_many_graphs_as_asked():
    for family in generated():
        for A in (graphs := generate(family, 2, seed=0)):
            check_adjacency(A)
        assert len(graphs) == 2


@pytest.mark.parametrize("family", ["", "grid", "egonets", "GRIDS"])
def test_an_unknown_family_is_refused_and_the_known_ones_told(family):
    known = ", ".join(generated())
    with pytest.raises(GraphPriorError, match=f"no family is called '{family}': there are {known}"):
        generate(family, 1, seed=0)


@pytest.mark.parametrize("count", [0, -1])
def test_a_family_of_no_graphs_is_refused(count):
    with pytest.raises(GraphPriorError, match=f"{count} graphs: expected at least one"):
        generate("grids", count, seed=0)


def test_egonets_are_read_from_the_data_folder(rng, tmp_path, monkeypatch):
    graphs = [random_graph(rng, n) for n in (3, 5)]
    (tmp_path / "egonets").mkdir()
    write_npz(tmp_path / "egonets" / "test.npz", graphs)
    monkeypatch.setenv("GRAPHPRIOR_DATA", str(tmp_path))
    assert all(np.array_equal(a, b) for a, b in zip(egonets("test"), graphs, strict=True))
    with pytest.raises(GraphPriorError, match=r"train.npz is missing: make it from SNAP"):
        egonets("train")


def test_a_missing_data_folder_is_told(monkeypatch):
    monkeypatch.delenv("GRAPHPRIOR_DATA", raising=False)
    with pytest.raises(GraphPriorError, match="GRAPHPRIOR_DATA is ''"):
        data_folder()
