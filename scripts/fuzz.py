"""Break the files of every reader in many ways, and see that each is read or refused.

python scripts/fuzz.py --examples 10000    writes results/fuzz/{rows.csv,run.json}
Each reader runs in a process of its own, with bounded memory: one that dies is told of too.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
import traceback
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from fuzzing import accepts, damage, place, readers  # noqa: E402
from graphprior.io.atomic import write_whole  # noqa: E402
from graphprior.io.provenance import commit, machine, versions  # noqa: E402
from graphprior.io.safe import MOST_BYTES  # noqa: E402

CRASHES = 5  # of one reader, after which it has been seen enough


def fuzz(name: str, examples: int, seed: int) -> dict:
    """Rows of one reader: how many inputs were refused, accepted, and broke the law."""
    taken = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (taken + 3 * MOST_BYTES, resource.RLIM_INFINITY))
    counts = {"inputs": 0, "refused": 0, "accepted": 0, "crashed": 0}
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as folder:
        reader = readers(Path(made))[name]
        place(reader, Path(folder))
        start = time.process_time()
        for number in range(examples):
            rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
            content = damage(rng, reader.files[reader.target])
            counts["inputs"] += 1
            try:
                accepted = accepts(reader, Path(folder), content)
            except (Exception, MemoryError):
                counts["crashed"] += 1
                print(f"{name}, input {number}:\n{traceback.format_exc(limit=-4)}", file=sys.stderr)
                if counts["crashed"] >= CRASHES:
                    break
            else:
                counts["accepted" if accepted else "refused"] += 1
        seconds = round(time.process_time() - start, 1)
    return {"reader": name, **counts, "seconds": seconds}


def run_one(name: str, examples: int, seed: int) -> dict:
    """In a process of its own, forked from one that has imported all."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        try:
            row = pool.submit(fuzz, name, examples, seed).result()
        except BrokenProcessPool:
            row = {"reader": name, "inputs": 0, "refused": 0, "accepted": 0, "crashed": 1}
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--reader", action="append", help="these readers only")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "fuzz")
    options = parser.parse_args()
    code = commit()  # before a long run in which the checkout may move on
    with tempfile.TemporaryDirectory() as made:
        names = options.reader or list(readers(Path(made)))
    with ThreadPoolExecutor(options.jobs) as jobs:
        rows = pd.DataFrame(
            jobs.map(lambda name: run_one(name, options.examples, options.seed), names)
        )
    run = {
        "command": f"python scripts/fuzz.py --examples {options.examples} --seed {options.seed}",
        "commit": code,
        "machine": machine(),
        "versions": versions(),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    write_whole(options.out / "rows.csv", rows.to_csv(index=False).encode())
    write_whole(options.out / "run.json", (json.dumps(run, indent=1) + "\n").encode())
    sys.exit(int(rows["crashed"].sum() > 0))


if __name__ == "__main__":
    main()
