"""Where the seconds of the evidence go: how many sweeps, and what each takes.

    OMP_NUM_THREADS=1 python benchmarks/sweeps.py [--problems 4]

The problems are those of benchmarks/sizes.py with 55 variables, 10 rows for each, nothing known.
Sweeps are those of all chains together. `rounds` is how often the two chains ran on because they
did not say the same; `anew` the share of problems in which six more chains were started.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from record import cpu_seconds, save
from sizes import KINDS, truth

from graphprior.evidence import chains
from graphprior.evidence.evidence import data_evidence
from graphprior.gaussian.simulate import simulate_observations
from graphprior.problem.problem import Problem

N, RATIO = 55, 10


class Watched:
    """The sweeps and the rounds of chains, counted and timed."""

    def __init__(self) -> None:
        self.sweeps, self.seconds, self.rounds, self.anew = 0, 0.0, 0, 0
        self.run, self.agree, self.more = (
            chains.many_sweeps, chains._agree, chains.Chains._anew
        )  # fmt: skip

    def many_sweeps(self, *args: Any) -> None:
        """The compiled sweeps; the last argument has a row for each."""
        start = time.process_time()
        self.run(*args)
        self.seconds += time.process_time() - start
        self.sweeps += len(args[-1])

    def says_the_same(self, *args: Any, **kwargs: Any) -> bool:
        """Whether chains agree; asked tightly once a round."""
        self.rounds += bool(kwargs.get("tight"))
        return bool(self.agree(*args, **kwargs))

    def start_anew(self, here: Any, *args: Any) -> Any:
        """More chains."""
        self.anew += 1
        return self.more(here, *args)

    def __enter__(self) -> Watched:
        chains.many_sweeps = self.many_sweeps
        chains._agree = self.says_the_same
        chains.Chains._anew = lambda here, *args: self.start_anew(here, *args)
        return self

    def __exit__(self, *_: object) -> None:
        chains.many_sweeps, chains._agree, chains.Chains._anew = self.run, self.agree, self.more


def cell(kind: str, problems: int) -> dict[str, object]:
    """Means over some problems of one kind."""
    rows = []
    for g in range(problems):
        rng = np.random.default_rng([11, KINDS.index(kind), N, RATIO, g])
        A, Theta = truth(kind, N, rng)
        problem = Problem.create(simulate_observations(Theta, RATIO * N, rng))
        with Watched() as seen:
            seconds, found = cpu_seconds(lambda problem=problem: data_evidence(problem))
        drawn = np.mean([state.edges.sum() / N for state in found.chains.states])
        rows.append([
            A.sum() / N, drawn, seen.sweeps, 1e3 * seen.seconds / seen.sweeps, seen.rounds,
            seen.anew, seconds,
        ])  # fmt: skip
    names = (
        "edges_of_a_variable", "drawn", "sweeps", "milliseconds_a_sweep", "rounds", "anew",
        "seconds",
    )  # fmt: skip
    means = dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))
    return {"kind": kind, "n": N, "k": RATIO * N, "problems": problems, **means}


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=4)
    problems = parser.parse_args().problems
    data_evidence(Problem.create(np.random.default_rng(0).standard_normal((50, 26))))  # compiled
    rows = [cell(kind, problems) for kind in KINDS]
    save("sweeps", "OMP_NUM_THREADS=1 python benchmarks/sweeps.py", rows)


if __name__ == "__main__":
    main()
