"""CPU seconds to enter: the package and its help beside `import torch`.

    OMP_NUM_THREADS=1 python benchmarks/entering.py

Each is a process of its own; the median of seven, taken in turn.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median

from record import save

HELP = "from graphprior.cli.main import app; app(['--help'], standalone_mode=False)"
WAYS = {
    "import torch": "import torch",
    "import graphprior": "import graphprior",
    "graphprior --help": HELP,
    "from graphprior import PartialGGM": "from graphprior import PartialGGM",
}


def seconds(code: str) -> float:
    """CPU time of a process."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime - start.ru_utime + end.ru_stime - start.ru_stime


def main() -> None:
    """Measure and keep."""
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(7):
        for name, code in WAYS.items():
            taken[name].append(seconds(code))
    torch = median(taken["import torch"])
    rows = [
        {"what": name, "cpu_seconds": median(each), "of_torch": median(each) / torch}
        for name, each in taken.items()
    ]
    save("entering", "OMP_NUM_THREADS=1 python benchmarks/entering.py", rows)


if __name__ == "__main__":
    main()
