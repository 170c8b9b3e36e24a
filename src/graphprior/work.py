"""Many units of work: on one core, on several, or on a cluster; a run that is killed goes on.

A unit is a key and a text (JSON) that says all of it; the function that does it
returns a value that JSON can hold. Texts are short on purpose: a cluster loses
large arguments together with the worker that holds them. Results reach one
process, which writes each at once to a journal.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import torch
from threadpoolctl import threadpool_limits

from graphprior.errors import GraphPriorError

Work = Callable[[str], Any]


class Journal:
    """Results by key in one file, a line each; a line that a kill cut short is forgotten."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise GraphPriorError(
                f"{path} is in use by another run: wait for it, or stop it"
            ) from None
        self.results = self._read()

    def _read(self) -> dict[str, Any]:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        os.truncate(self.path, whole)
        results: dict[str, Any] = {}
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                entry = json.loads(line)
                results[entry["key"]] = entry["result"]
            except (ValueError, KeyError, TypeError):
                raise GraphPriorError(
                    f"{self.path} line {number} is no result of a run: move the file away"
                ) from None
        return results

    def add(self, key: str, result: Any) -> None:
        """Keep a result; once this returns, no kill takes it away."""
        line = json.dumps({"key": key, "result": result}) + "\n"
        self._file.write(line.encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.results[key] = result

    def close(self) -> None:
        """Let another run have the file."""
        self._file.close()


@contextmanager
def journal(path: Path) -> Iterator[Journal]:
    """An open journal, closed at the end."""
    opened = Journal(path)
    try:
        yield opened
    finally:
        opened.close()


@dataclass(frozen=True)
class Place:
    """Where work is done: ``jobs`` processes here, a Dask ``scheduler``, or a local cluster."""

    jobs: int = 1
    scheduler: str | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise GraphPriorError(f"--jobs {self.jobs}: expected at least 1")
        if self.cluster not in (None, "local"):
            raise GraphPriorError(f"--cluster {self.cluster}: the only one to start is 'local'")
        if self.cluster and self.scheduler:
            raise GraphPriorError("--cluster starts a cluster and --scheduler names one: take one")

    @contextmanager
    def open(self) -> Iterator[joblib.Parallel]:
        """Something that runs delayed calls and gives results as they come."""
        options = {"return_as": "generator_unordered", "batch_size": 1}
        if self.scheduler is None and self.cluster is None:
            yield joblib.Parallel(n_jobs=self.jobs, **options)
            return
        with _client(self) as client, joblib.parallel_config("dask", client=client):
            yield joblib.Parallel(**options)


@contextmanager
def _client(place: Place) -> Iterator[Any]:
    """A connection to the Dask cluster; one that was started here also ends here."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise GraphPriorError(
            "a cluster needs Dask: pip install 'graphprior[dask]', or use --jobs"
        ) from None
    if place.cluster == "local":
        with (
            LocalCluster(
                n_workers=place.jobs, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = Client(place.scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise GraphPriorError(
            f"--scheduler {place.scheduler}: no Dask scheduler answers there ({error})"
        ) from None
    with client:
        yield client


def alone(function: Work, key: str, text: str) -> tuple[str, Any]:
    """One unit on one thread: the same bytes wherever it runs, and workers do not crowd a core."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        return key, function(text)


def do(
    units: Sequence[tuple[str, str]], function: Work, kept: Journal, place: Place
) -> Iterator[tuple[str, Any]]:
    """Do the units that the journal lacks; yield each result once it is kept."""
    missing = [(key, text) for key, text in units if key not in kept.results]
    if not missing:
        return
    with place.open() as parallel:
        for key, result in parallel(joblib.delayed(alone)(function, *unit) for unit in missing):
            kept.add(key, result)
            yield key, result
