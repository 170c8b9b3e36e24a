"""`graphprior sample`: graphs drawn from a prior, beside real ones if given."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import networkx as nx
import numpy as np
import typer
from matplotlib.figure import Figure
from rich.table import Table

from graphprior.cli.common import check_seed, new_folder, print_json
from graphprior.engines.generate import draw_graphs
from graphprior.errors import GraphPriorError
from graphprior.graphs.convert import Changes
from graphprior.graphs.statistics import graph_statistics, histogram_distance
from graphprior.io.graph_sets import changes_in_words, drop_small, read_graphs, write_npz
from graphprior.io.progress import console, progress
from graphprior.io.provenance import machine, versions
from graphprior.plots.answers import plot_degree_histograms
from graphprior.priors.noise import Schedule
from graphprior.priors.store import load_prior, read_card
from graphprior.results.folder import whole_folder
from graphprior.types import Matrix


def draw_sizes(card: dict[str, Any], nodes: int | None, count: int, seed: int) -> list[int]:
    """Node counts: the one asked for, or drawn as in the training set."""
    if nodes is not None:
        if nodes < 2:
            raise GraphPriorError(f"--nodes {nodes}: a graph needs at least 2 nodes")
        return [nodes] * count
    sizes = card.get("graphs", {}).get("sizes")
    if not sizes:
        raise GraphPriorError("this prior has no card that tells sizes: give --nodes")
    weights = np.array(list(sizes.values()), dtype=float)
    drawn = np.random.default_rng(seed).choice(
        [int(n) for n in sizes], size=count, p=weights / weights.sum()
    )
    return sorted(int(n) for n in drawn)


def comparison_table(drawn: dict[str, Any], real: dict[str, Any]) -> Table:
    """Generated next to real, a row for each statistic."""
    table = Table("", "drawn", "given", title="drawn from the prior, beside real graphs")
    for key in ("graphs", "nodes", "density", "clustering", "triangles", "highest_degree"):
        table.add_row(key.replace("_", " "), f"{drawn[key]:.3f}", f"{real[key]:.3f}")
    distance = histogram_distance(drawn["degree_histogram"], real["degree_histogram"])
    table.add_row("distance of degree histograms", f"{distance:.3f}", "")
    return table


def _real(compare: Path) -> list[Matrix]:
    """Graphs to set the drawn ones beside, read as `train` reads them."""
    changes: Changes = Counter()
    real = drop_small(read_graphs(compare, changes), changes)
    if not real:
        raise GraphPriorError(f"--compare {compare}: expected graphs of at least 2 nodes")
    if any(changes.values()):
        words = f"note: {compare}: {changes_in_words(changes)} (graphs each)"
        console().print(words, style="yellow")
    return real


def write_drawn(out: Path, graphs: list[Matrix], facts: dict[str, Any]) -> None:
    """The graphs in two formats, their statistics, and a picture where real ones stand beside."""
    with whole_folder(out) as folder:
        write_npz(folder / "graphs.npz", graphs)
        for g, A in enumerate(graphs):
            nx.write_graphml(nx.from_numpy_array(A, edge_attr=None), folder / f"{g:04d}.graphml")
        (folder / "statistics.json").write_text(json.dumps(facts, indent=1) + "\n")
        if "given" in facts:
            figure = Figure(figsize=(7, 3.5), layout="constrained")
            sets = {key: facts[key] for key in ("drawn", "given")}
            plot_degree_histograms(sets, ax=figure.subplots())
            figure.savefig(folder / "degrees.png", dpi=130)


def sample_command(
    prior: Annotated[str, typer.Option(help="Shipped prior or .safetensors file.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must be new or empty.")],
    count: Annotated[int, typer.Option(help="Graphs to draw.")] = 10,
    nodes: Annotated[
        int | None, typer.Option(help="Nodes of each; by default as in the training set.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same graphs.")] = 0,
    compare: Annotated[
        Path | None,
        typer.Option(help="Real graphs to set the drawn ones beside; else the training set's."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    paper_schedule: Annotated[
        bool, typer.Option(help="The paper's L = 10, T = 300, epsilon = 1e-6.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the statistics as JSON.")] = False,
) -> None:
    """Draw graphs from a prior: graphs.npz, one GraphML file each, statistics."""
    new_folder(out)
    check_seed(seed)
    if count < 1:
        raise GraphPriorError(f"--count {count}: at least one graph must be drawn")
    network, real = load_prior(prior), None if compare is None else _real(compare)
    card = read_card(prior)
    sizes = draw_sizes(card, nodes, count, seed)
    schedule = Schedule.linear() if paper_schedule else None
    with progress("drawing graphs") as report:
        graphs = draw_graphs(network, sizes, seed, schedule, device, report)
    facts: dict[str, Any] = {"prior": Path(prior).name, "seed": seed, "count": count}
    facts |= {"schedule": "paper" if paper_schedule else "usual"}
    facts |= {"drawn": graph_statistics(graphs), "versions": versions(), "machine": machine()}
    given = card.get("graphs", {}).get("statistics") if real is None else graph_statistics(real)
    if given:
        facts["given"] = given
        facts["degree_histogram_distance"] = histogram_distance(
            facts["drawn"]["degree_histogram"], facts["given"]["degree_histogram"]
        )
    write_drawn(out, graphs, facts)
    if as_json:
        print_json(facts)
    elif given:
        console().print(comparison_table(facts["drawn"], given))
    if not as_json:
        console().print(f"wrote {len(graphs)} graphs to {out}/")
