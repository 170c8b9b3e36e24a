"""Every code block of the worked examples runs, on made-up data and with less of everything."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest

from documents import ROOT, blocks, shell
from graphprior.gaussian.simulate import simulate_observations
from graphprior.io.graph_sets import write_npz
from oracles import random_graph, random_precision

PAGES = [
    *sorted(p for p in (ROOT / "docs" / "examples").glob("*.md") if blocks(p)),
    ROOT / "examples" / "README.md",
]
CASES = "danube|genes|proteins|shapes|stocks"
# Where a command of the pages takes minutes, what makes it take seconds.
LESS = {
    rf"(examples/(?:{CASES})\.py)": r"\1 --repeats 1 --method direct --method GL",
    r"(examples/stocks\.py \S+ 1) --method direct": r"\1 --method auto",
    r"(examples/(?:rivers|moral_graphs)\.py \S+)": r"\1 --count 60",
    r"--steps \d+": "--steps 2",
}
NODES = 9


def smaller(code):
    for long, short in LESS.items():
        code = re.sub(long, short, code)
    return code


def write(path, table):
    path.parent.mkdir(exist_ok=True)
    table.to_csv(path, index=False)


def observations(rng, names, k):
    A = random_graph(rng, len(names), 0.3)
    X = simulate_observations(random_precision(rng, A), k, rng)
    return A, pd.DataFrame(np.exp(X / X.std()), columns=names)


def write_danube(folder, rng):
    stations = [f"X{i}" for i in range(NODES)]
    A, floods = observations(rng, stations, 428)
    up, down = np.nonzero(np.triu(A))
    flow = {"upstream": np.array(stations)[up], "downstream": np.array(stations)[down]}
    write(folder / "danube/events.csv", floods.assign(year=1960))
    write(folder / "danube/flow_edges.csv", pd.DataFrame(flow))


def write_proteins(folder, rng):
    names = [f"p{i}" for i in range(NODES)]
    A, cells = observations(rng, names, 853)
    write(folder / "protein_signalling/cells.csv", cells.assign(condition="cd3cd28"))
    rows = [
        (names[i], names[j], int(A[i, j]), 0) for i in range(NODES) for j in range(i + 1, NODES)
    ]
    pairs = pd.DataFrame(rows, columns=["a", "b", "consensus17", "literature18"])
    write(folder / "protein_signalling/pairs.csv", pairs)


def write_genes(folder, rng):
    genes = [f"g{i}" for i in range(NODES)]
    parent, child = np.nonzero(np.triu(random_graph(rng, NODES, 0.3)))
    arcs = {"parent": np.array(genes)[parent], "child": np.array(genes)[child], "coefficient": 0.7}
    nodes = {"node": genes, "intercept": 0.0, "variance": 1.0}
    for name in ("ecoli70", "arth150"):
        write(folder / f"gaussian_bn/{name}_arcs.csv", pd.DataFrame(arcs))
        write(folder / f"gaussian_bn/{name}_nodes.csv", pd.DataFrame(nodes))


def write_stocks(folder, rng):
    names = [f"p{i}" for i in range(NODES)]
    _, returns = observations(rng, names, 1000)
    write(folder / "stocks/log_returns.csv.gz", returns)
    info = pd.DataFrame({"ticker": names, "sector": [f"S{i % 2}" for i in range(NODES)]})
    write(folder / "stocks/info.csv", info)


def write_shapes(folder, rng):
    for name in ("molecules/test", "threads/test", "threads/train", "regnets/graphs"):
        (folder / name).parent.mkdir(exist_ok=True)
        write_npz(folder / f"{name}.npz", [random_graph(rng, NODES, 0.3) for _ in range(60)])


MAKERS = [write_danube, write_proteins, write_genes, write_shapes, write_stocks]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for i, make in enumerate(MAKERS):
        make(folder, np.random.default_rng(i))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_the_commands_of_a_page_run(page, data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHPRIOR_DATA", str(data))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    code = "".join(text for language, text in blocks(page) if language == "sh")
    assert smaller(code) != code
    shell(smaller(code), tmp_path)
    for rows in tmp_path.rglob("rows.csv.gz"):
        assert pd.read_csv(rows)["error"].isna().all()
    scripts = set(re.findall(rf"examples/({CASES})\.py", code))
    made = {path.parent.name.split("-")[0] for path in tmp_path.rglob("table.md")}
    made |= {"shapes"} if made & {"molecules", "threads"} else set()
    assert scripts <= made
    assert ("graphprior report" in code) == any(tmp_path.rglob("report.html"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_the_commands_of_a_page_are_all_of_one_language(page):
    assert {language for language, _ in blocks(page)} == {"sh"}
