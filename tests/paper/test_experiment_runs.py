"""Runs that are killed, and runs on a real Dask cluster: the same rows as a quiet one."""

import os
import signal
import subprocess
import threading
import time

import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from documents import graphprior
from graphprior.batch.work import Place
from graphprior.paper.experiments.folder import JOURNAL
from graphprior.paper.experiments.registry import experiment
from graphprior.paper.experiments.run import Options
from warm import program

pytestmark = pytest.mark.slow

ARGUMENTS = ["experiment", "grids-10", "--methods", "Threshold,TIGER", "--graphs", "6"]
OPTIONS = {"methods": ("Threshold", "TIGER"), "graphs": 6}


def silent(done, total, words):
    pass


def rows_of(out):
    """The rows as bytes, sorted; only the time that they took may differ."""
    table = pd.read_csv(out / "rows.csv.gz").drop(columns="seconds")
    return table.sort_values(["method", "x", "graph", "metric"]).to_csv(index=False).encode()


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    out = tmp_path_factory.mktemp("quiet") / "out"
    experiment("grids-10").run(out, Options(**OPTIONS), silent)
    return out


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def run_and_kill(out, reached, wait=0.0):
    """Run, and kill so many seconds after something is reached."""
    process = subprocess.Popen(
        [*program("graphprior"), *ARGUMENTS, "--out", str(out)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not reached() and process.poll() is None:
        time.sleep(0.001)
    time.sleep(wait)
    assert process.poll() is None, f"it ended before it was killed: {process.stderr.read()}"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("_", range(2))
def test_a_run_that_is_killed_goes_on_to_the_same_rows(tmp_path, quiet, _):
    """Killed at random moments, wherever it then is; finished by running again."""
    seed = np.random.SeedSequence().entropy
    print("seed of the moments:", seed)  # shown if it fails
    out, rng = tmp_path / "out", np.random.default_rng(seed)
    for least in (1, 12):
        moment = rng.integers(least, least + 11)
        run_and_kill(out, lambda m=moment: lines(out / JOURNAL) >= m, rng.uniform(0, 0.02))
        assert moment <= lines(out / JOURNAL) < 48
        assert not (out / "rows.csv.gz").exists()
    kept = (out / JOURNAL).read_bytes()
    experiment("grids-10").run(out, Options(**OPTIONS), silent)
    whole = kept[: kept.rfind(b"\n") + 1]
    assert (out / JOURNAL).read_bytes().startswith(whole)  # nothing was done twice
    assert lines(out / JOURNAL) == lines(quiet / JOURNAL) == 48
    assert rows_of(out) == rows_of(quiet)


@pytest.mark.parametrize("file", ["spec.json", "run.json", "rows.csv.gz", "table.md"])
def test_a_run_that_is_killed_while_it_writes_ends_with_the_same_rows(tmp_path, quiet, file):
    """As soon as it has begun, and with every unit there but of the results only a part."""
    out = tmp_path / "out"
    run_and_kill(out, (out / file).exists)
    assert lines(out / JOURNAL) == (0 if file.endswith(".json") else 48)
    assert not (out / "figure.png").exists()
    experiment("grids-10").run(out, Options(**OPTIONS), silent)
    assert rows_of(out) == rows_of(quiet)
    for name in ("reliability.csv", "figure.png"):
        assert (out / name).read_bytes() == (quiet / name).read_bytes()


def test_a_cluster_that_loses_a_worker_gives_the_same_rows(tmp_path, quiet):
    out = tmp_path / "out"
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        pids = client.run(os.getpid)
        assert len(set(pids.values()) | {os.getpid()}) == 3  # processes of their own
        victim = next(iter(pids.values()))

        def kill_in_the_middle():
            while lines(out / JOURNAL) < 5:
                time.sleep(0.005)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill_in_the_middle)
        killer.start()
        place = Place(scheduler=cluster.scheduler_address)
        experiment("grids-10").run(out, Options(**OPTIONS, place=place), silent)
        killer.join()
        assert victim not in client.run(os.getpid).values()
    assert rows_of(out) == rows_of(quiet)


def test_the_local_cluster_of_the_command_line_works(tmp_path, quiet):
    words = [*ARGUMENTS, "--out", str(tmp_path / "out"), "--cluster", "local", "--jobs", "2"]
    done = graphprior(words, tmp_path)
    assert "| TIGER | 6 |" in done.stdout
    assert rows_of(tmp_path / "out") == rows_of(quiet)
