"""Many units of work: on one core, on several, or on a cluster; a run that is killed goes on.

A unit is a key and a text (JSON) that says all of it; the function that does it
returns a value that JSON can hold. Texts travel with the task, through the
scheduler, so that no worker is the only one to hold them. Results reach one
process, which writes each at once to a journal.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any

import joblib
import torch
from threadpoolctl import ThreadpoolController

from graphprior.errors import GraphPriorError
from graphprior.io.safe import gunzip

Unit = tuple[str, str]
Work = Callable[[str], Any]
Results = Iterator[tuple[str, Any]]
Runner = Callable[[Work, Sequence[Unit]], Results]

START = b'{"key": '  # of every line of a journal
PATIENCE = 10  # seconds for a scheduler to answer, and for its first worker
WAITING = 1000  # units that a scheduler is given at a time, so that it need not hold them all
# A terminal sends Ctrl-C to all processes; workers leave it to the one that started them.
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
_one_at_a_time = threading.RLock()


class Journal:
    """Results by key in one file, a line each; a line that a kill cut short is forgotten."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        try:
            _lock(self._file, path)
            self.results, whole = read_results(path)
            os.truncate(path, whole)
        except BaseException:
            self._file.close()
            raise

    def add(self, key: str, result: Any) -> Any:
        """Keep a result; once this returns, no kill takes it away. Returns it as it reads back."""
        line = result_line(key, result)
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
        # A tuple reads back as a list: a run that was killed must not see another value.
        self.results[key] = json.loads(line)["result"]
        return self.results[key]

    def close(self) -> None:
        """Let another run have the file."""
        self._file.close()


def read_results(path: Path) -> tuple[dict[str, Any], int]:
    """Results by key of a file of such lines, and how many of its bytes are whole lines."""
    content = path.read_bytes()
    content = gunzip(path) if path.suffix == ".gz" else content
    whole = content.rfind(b"\n") + 1
    lines, rest = content[:whole].splitlines(), content[whole:]
    results: dict[str, Any] = {}
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            results[entry["key"]] = entry["result"]
        except (ValueError, KeyError, TypeError):
            raise _foreign(path, number) from None
    if not rest.startswith(START[: len(rest)]):  # not ours to cut
        raise _foreign(path, len(lines) + 1)
    return results, whole


def _foreign(path: Path, line: int) -> GraphPriorError:
    return GraphPriorError(
        f"{path} line {line} is no result of a run: move the file away, or repair it"
    )


def result_line(key: str, result: Any) -> bytes:
    """A result as a line of a journal."""
    return (json.dumps({"key": key, "result": result}) + "\n").encode()


def _lock(file: IO[bytes], path: Path) -> None:
    """Have the file alone; the lock ends with the process, however that ends."""
    if sys.platform == "win32":  # no such lock there: two runs on one file are the user's care
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise GraphPriorError(f"{path} is in use by another run: wait for it, or stop it") from None
    except OSError as error:
        raise GraphPriorError(
            f"{path} cannot be locked ({error.strerror}): write to a disk that has locks"
        ) from None


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
            raise GraphPriorError(f"jobs={self.jobs}: expected at least 1")
        if self.cluster not in (None, "local"):
            raise GraphPriorError(f"cluster={self.cluster!r}: the only one to start is 'local'")
        if self.cluster and self.scheduler is not None:
            raise GraphPriorError("cluster= starts a cluster and scheduler= names one: take one")
        if self.scheduler is not None and self.jobs > 1:
            raise GraphPriorError(
                f"jobs={self.jobs} with scheduler=: the cluster has as many workers as it has"
            )

    @contextmanager
    def open(self) -> Iterator[Runner]:
        """Something that does units and gives results as they come."""
        if self.scheduler is None and self.cluster is None:
            yield lambda function, units: _here(self.jobs, function, units)
            return
        with _client(self) as client:
            yield lambda function, units: _on_dask(client, function, units)


def _here(jobs: int, function: Work, units: Sequence[Unit]) -> Results:
    """On this machine; one process is this one."""
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    results = parallel(joblib.delayed(alone)(function, *unit) for unit in units)
    try:
        for result in results:  # noqa: UP028  # `yield from` would close it at once, unheard
            yield result
    except BrokenProcessPool:
        raise GraphPriorError(
            "a worker process was killed, perhaps for want of memory: "
            "go on with fewer jobs=; what was done is kept"
        ) from None
    finally:
        with warnings.catch_warnings():  # joblib's, of what a Ctrl-C left undone: that was meant
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _on_dask(client: Any, function: Work, units: Sequence[Unit]) -> Results:
    """On a cluster. A unit whose workers die again and again ends the run, but ends it last.

    Not by joblib's Dask backend, which waits forever for such a unit.
    """
    from distributed import KilledWorker, as_completed

    waiting, lost = iter(units), []
    futures, keys = as_completed(loop=client.loop), {}

    def submit(count: int) -> None:
        for key, text in islice(waiting, count):
            future = client.submit(alone, function, key, text, pure=False)
            keys[future.key] = key
            futures.add(future)

    submit(WAITING)
    for future in futures:
        key = keys.pop(future.key)
        try:
            result = future.result()
        except KilledWorker:
            lost.append(key)
        except CancelledError:
            raise GraphPriorError(
                "the connection to the Dask scheduler was lost; what was done is kept"
            ) from None
        else:
            yield result
        submit(1)
    if lost:
        raise GraphPriorError(
            f"{len(lost)} of the units killed every worker that took them, perhaps for want of "
            f"memory ({', '.join(lost[:3])}); all others are kept"
        )


@contextmanager
def _client(place: Place) -> Iterator[Any]:
    """A connection to the Dask cluster; one that was started here also ends here."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise GraphPriorError(
            "a cluster needs Dask: pip install 'graphprior[dask]', or use jobs="
        ) from None
    if place.cluster == "local":
        with (
            LocalCluster(
                n_workers=place.jobs,
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.ERROR,  # a worker that is slow to end is no news
                preload=[DEAF],
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    with _connect(Client, place.scheduler) as client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise GraphPriorError(
                f"scheduler={place.scheduler!r} has no worker: start some with "
                f"`dask worker {place.scheduler} --nthreads 1`"
            ) from None
        yield client


def _connect(Client: Any, scheduler: str | None) -> Any:
    """A client of a scheduler that is there."""
    try:
        return Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, AssertionError) as error:  # the last: a host that is not there
        words = f" ({error})" if str(error) else ""
    # Half a client is left. Collected while another starts, it waits for a lock that that one
    # holds, for ever: so it is collected now, which takes that the error is gone.
    gc.collect()
    raise GraphPriorError(
        f"scheduler={scheduler!r}: no Dask scheduler answers there{words}; "
        "expected an address such as tcp://host:8786"
    )


@lru_cache(maxsize=1)
def _threadpools(modules: int) -> ThreadpoolController:
    """The libraries that have threads; found anew (milliseconds) only after an import."""
    return ThreadpoolController()


def alone(function: Work, key: str, text: str) -> tuple[str, Any]:
    """One unit on one thread: the same bytes wherever it runs, and workers do not crowd a core.

    Units of one process take turns: a limit of threads, and a filter of
    warnings, belong to the whole process.
    """
    with _one_at_a_time:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with _threadpools(len(sys.modules)).limit(limits=1):
                return key, function(text)
        finally:
            torch.set_num_threads(threads)


def do(units: Sequence[Unit], function: Work, kept: Journal, place: Place) -> Results:
    """Do the units that the journal lacks; yield each result once it is kept."""
    missing = [(key, text) for key, text in units if key not in kept.results]
    if len(dict(missing)) < len(missing):
        raise GraphPriorError("two units have one key: keys must differ")
    if not missing:
        return
    with place.open() as run:
        for key, result in run(function, missing):
            yield key, kept.add(key, result)
