"""Keep a measurement: rows, the commit and machine they belong to, as one small JSON file."""

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphprior.io.provenance import commit, machine, versions

RESULTS = Path(__file__).parent.parent / "results" / "benchmarks"


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of a call, all threads together, and what it returned."""
    start = time.process_time()
    value = work()
    return time.process_time() - start, value


def peak_megabytes() -> float:
    """Largest memory this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


COMMIT = commit()  # of the code that is loaded, not of what it may become meanwhile


def save(name: str, command: str, rows: list[dict[str, Any]]) -> None:
    """Write results/benchmarks/NAME.json and print the rows."""
    for row in rows:
        print({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()})
    facts = {
        "command": command,
        "commit": COMMIT,
        "machine": machine(),
        "versions": versions(),
        "rows": rows,
    }
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1) + "\n")
