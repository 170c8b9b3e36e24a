"""Keep a measurement: rows, the commit and machine they belong to, as one small JSON file."""

import json
import platform
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphprior.provenance import machine, versions

RESULTS = Path(__file__).parent.parent / "results" / "benchmarks"


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of a call, all threads together, and what it returned."""
    start = time.process_time()
    value = work()
    return time.process_time() - start, value


def peak_megabytes() -> float:
    """Largest memory this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def processor() -> str:
    """The model of the processor, where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = (
        [line for line in info.read_text().splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    return names[0].split(":")[1].strip() if names else platform.processor()


def commit() -> str:
    """The commit measured, marked when files differ from it."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src"], check=False)
    return head.stdout.strip() + ("" if changed.returncode == 0 else " with changes")


COMMIT = commit()  # of the code that is loaded, not of what it may become meanwhile


def save(name: str, command: str, rows: list[dict[str, Any]]) -> None:
    """Write results/benchmarks/NAME.json and print the rows."""
    for row in rows:
        print({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()})
    facts = {
        "command": command,
        "commit": COMMIT,
        "machine": {**machine(), "model": processor()},
        "versions": versions(),
        "rows": rows,
    }
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1) + "\n")
