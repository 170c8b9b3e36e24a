"""Priors from 10, 30 and 100 graphs of one's own in half a minute and in two: what they know.

    OMP_NUM_THREADS=1 GRAPHPRIOR_DATA=... python benchmarks/own_prior.py     (about 25 minutes)

Bits per unknown pair on graphs that were never trained on, half of the pairs unknown, without and
with data (an estimate has .2 of the variance of an edge's strength): of the density of the test
graphs, of the shipped prior `general` as it is, of the prior that was trained, and for molecules
of the shipped prior that learned from 3000 graphs for 15 minutes. The time is CPU time of one
core and includes the choice of what to start from. Threads and molecules have test sets; of the
regulatory networks a fifth is set aside. The training graphs are drawn at random. A run that was
stopped goes on with --resume.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from typing import Any

import numpy as np
import torch
from record import RESULTS, save

from graphprior.io.graph_sets import read_npz
from graphprior.paper.datasets.files import data_folder
from graphprior.priors.store import load_prior, shipped_priors
from graphprior.priors.training.budget import plan, usual_batch
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.fit import GENERAL, find_starts
from graphprior.priors.training.training import TrainingConfig, train
from graphprior.types import Matrix

FAMILIES = ("molecules", "threads", "regnets")
COUNTS, MINUTES = (10, 30, 100), (0.5, 2.0)
NAME, SEED = "own_prior", 0
KEYS = ("family", "prior", "graphs", "minutes")
COMMAND = "OMP_NUM_THREADS=1 GRAPHPRIOR_DATA=... python benchmarks/own_prior.py"
CELLS = {"no_data": "unknown=0.5 no data", "with_data": "unknown=0.5 with data"}


def graphs_of(family: str, count: int, seed: int) -> tuple[list[Matrix], list[Matrix]]:
    """Some training graphs, and test graphs, which are the same for every count and seed."""
    folder = data_folder() / family
    if family == "regnets":
        graphs = read_npz(folder / "graphs.npz")
        order = np.random.default_rng(0).permutation(len(graphs))
        fifth = len(graphs) // 5
        test, pool = [graphs[g] for g in order[:fifth]], [graphs[g] for g in order[fifth:]]
    else:
        test, pool = read_npz(folder / "test.npz"), read_npz(folder / "train.npz")
    chosen = np.random.default_rng([1, seed]).permutation(len(pool))[:count]
    return [pool[g] for g in chosen], test


def bits(network: Any, test: list[Matrix]) -> dict[str, float]:
    """Bits of a network and of the density, and the standard error of the gain over it."""
    objective = CrossEntropy()
    row = objective.validate(network, test, 0)
    errors = objective.standard_errors(network, test, 0)
    found: dict[str, float] = {}
    for name, cell in CELLS.items():
        found[f"bits_{name}"], found[f"density_{name}"] = row[cell], row[f"rate {cell}"]
        found[f"gain_error_{name}"] = errors[f"gain {cell}"]
    return found


def as_it_is(family: str) -> list[dict[str, Any]]:
    """Shipped priors that learn nothing here: `general`, and that of the family if there is one."""
    rows = []
    for name in (GENERAL, family):
        if name in shipped_priors():
            found = bits(load_prior(name).network, graphs_of(family, 10, 0)[1])
            rows.append({"family": family, "prior": name, "graphs": 0, "minutes": 0.0, **found})
    return rows


def own(family: str, count: int, minutes: float, seed: int) -> dict[str, Any]:
    """A prior that learned from ``count`` graphs."""
    graphs, test = graphs_of(family, count, seed)
    began = time.process_time()
    config = TrainingConfig(minutes=minutes, seed=seed, batch=usual_batch(graphs))
    planned = plan(graphs, config, find_starts("auto", "evidence"), clock=time.process_time)
    config, state = planned.config, planned.state
    for _ in train(graphs, config, state):
        pass
    seconds = time.process_time() - began
    best = min(state.history, key=lambda row: row["loss"])
    return {
        "family": family, "prior": "own", "graphs": count, "minutes": minutes, "seed": seed,
        "start": config.start or "nothing", "seconds": seconds, "steps": state.step,
        "best_step": best["step"], **bits(state.best, test),
    }  # fmt: skip


def main() -> None:
    """Measure and keep; what is short comes first, and rows are written as they come."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--counts", nargs="+", type=int, default=list(COUNTS))
    parser.add_argument("--minutes", nargs="+", type=float, default=list(MINUTES))
    parser.add_argument("--resume", action="store_true", help="keep the rows that are there")
    parser.add_argument("--dry-run", action="store_true", help="print, and write nothing")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    path = RESULTS / f"{NAME}.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"] if asked.resume else []
    done = {tuple(row[key] for key in KEYS) for row in rows}
    for family in asked.families:
        rows += [row for row in as_it_is(family) if tuple(row[key] for key in KEYS) not in done]
    for minutes, count, family in product(asked.minutes, asked.counts, asked.families):
        if (family, "own", count, minutes) in done:
            continue
        rows.append(own(family, count, minutes, SEED))
        rows.sort(key=lambda row: (FAMILIES.index(row["family"]), row["minutes"], row["graphs"]))
        if asked.dry_run:
            print(rows)
        else:
            save(NAME, COMMAND, rows)


if __name__ == "__main__":
    main()
