"""Units of work: a kill loses nothing that was kept, and where they run changes nothing."""

import errno
import fcntl
import gc
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from graphprior.batch import work
from graphprior.batch.work import Journal, Place, alone, do, journal
from graphprior.errors import GraphPriorError
from warm import program

SERIAL = Place()
HERE = Path(__file__).parent


# What units do. Workers import these by name.


def digest(text):
    """A long sum whose last bits would tell threads apart."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    X = np.random.default_rng(seed).standard_normal((60, 60))
    return {"text": text[:20], "length": len(text), "sum": float((X @ X).sum()), "pair": (1, 2)}


def digest_or_hang(text):
    """The same; a unit that has a trace hangs until killed, unless it was there before."""
    told = json.loads(text)
    trace = Path(told["trace"] or "/dev/null")
    if not trace.exists():
        trace.write_text(str(os.getpid()))
        time.sleep(300)
    return digest(told["payload"])


def wait_a_little(text):
    time.sleep(0.004)
    return text.upper()


def die_at_x(text):
    if text == "x":
        os.kill(os.getpid(), signal.SIGKILL)
    return text


def stumble_at_x(text):
    if text == "x":
        raise RuntimeError("stumbled")
    return text


def take_turns(text):
    """How many were at it at once, as far as can be seen."""
    take_turns.inside += 1
    time.sleep(0.01)
    seen, take_turns.inside = take_turns.inside, take_turns.inside - 1
    return seen, torch.get_num_threads()


take_turns.inside = 0


def letters(text):
    return [(letter, letter) for letter in text]


def finish(path, units, function, place=SERIAL):
    """Do all that is missing; what the journal then holds."""
    with journal(path) as kept:
        for _ in do(units, function, kept, place):
            pass
        return kept.results


def sorted_lines(path):
    return sorted(path.read_bytes().splitlines())


# The journal

ODD = [("plain", "a"), ("two\nlines\r", "b"), ("ünï\u2028", "ü"), ('"quoted"\\', ""), ("", "e")]


def test_a_journal_cut_at_any_byte_reads_as_a_prefix_and_ends_the_same(tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    results = finish(whole, ODD, str.upper)
    content = whole.read_bytes()
    assert list(results) == [key for key, _ in ODD]
    for length in range(len(content) + 1):
        cut.write_bytes(content[:length])
        with journal(cut) as kept:
            lines = content[:length].count(b"\n")
            assert list(kept.results.items()) == list(results.items())[:lines]
        assert finish(cut, ODD, str.upper) == results
        assert cut.read_bytes() == content


def test_what_a_run_yields_is_what_a_later_run_reads(tmp_path):
    with journal(tmp_path / "j") as kept:
        yielded = dict(do(ODD, digest, kept, SERIAL))
        assert yielded == kept.results
    with journal(tmp_path / "j") as kept:
        assert kept.results == yielded
        assert list(do(ODD, digest, kept, SERIAL)) == []


@pytest.mark.parametrize(
    "content",
    [
        b"mine",
        b"mine\n",
        b"{}\n",
        b"[1]\n",
        b'{"key": 1}\n',
        b"\xff\xfe\n",
        b'{"key": "a"\n',
        b"{}",
    ],
)
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "notes.txt"
    for before in (b"", b'{"key": "a", "result": 1}\n'):
        path.write_bytes(before + content)
        with pytest.raises(
            GraphPriorError, match=rf"line {before.count(10) + 1} .* move"
        ) as refusal:
            Journal(path)
        assert "notes.txt" in str(refusal.value)
        assert path.read_bytes() == before + content
        path.write_bytes(before)
        Journal(path).close()  # whoever was refused holds no lock


def test_a_second_run_on_one_file_is_refused_until_the_first_ends(tmp_path):
    path = tmp_path / "j"
    with journal(path) as kept:
        kept.add("a", 1)
        with pytest.raises(GraphPriorError, match="j is in use by another run: wait"):
            Journal(path)
        kept.add("b", 2)
    with journal(path) as kept:
        assert kept.results == {"a": 1, "b": 2}


def test_a_disk_without_locks_is_told_apart_from_a_second_run(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(GraphPriorError, match=r"cannot be locked .No locks available."):
        Journal(tmp_path / "j")


def test_two_units_of_one_key_are_refused(tmp_path):
    with journal(tmp_path / "j") as kept, pytest.raises(GraphPriorError, match="one key"):
        list(do([("a", "1"), ("a", "2")], digest, kept, SERIAL))


# Kills and interrupts

MANY = [(f"unit {i}", f"text {i}") for i in range(60)]


def run_and_kill_until_done(path, seed):
    """Children that do `MANY` are killed at random moments until one gets to its end."""
    rng, kills = random.Random(seed), 0
    path = Path(path)
    path.touch()
    while True:
        child = os.fork()
        if child == 0:
            finish(path, MANY, wait_a_little)
            os._exit(0)
        wanted, ended = path.stat().st_size + rng.randrange(400), 0
        while path.stat().st_size < wanted and not (ended := os.waitpid(child, os.WNOHANG)[0]):
            time.sleep(0.0005)
        if ended:
            break
        time.sleep(rng.uniform(0, 0.006))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
    print(kills)


@pytest.mark.slow
def test_a_run_killed_at_random_moments_writes_what_an_unkilled_one_does(tmp_path):
    code = (
        f"import sys; sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}\n"
        "import test_work; test_work.run_and_kill_until_done(sys.argv[1], sys.argv[2])"
    )
    seed = str(random.randrange(10**6))
    done = subprocess.run(
        [*program("python"), "-c", code, tmp_path / "killed", seed],
        cwd=HERE, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (seed, done.stderr)
    assert int(done.stdout) >= 3, seed
    finish(tmp_path / "unkilled", MANY, wait_a_little)
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "unkilled").read_bytes(), seed


def long_units(trace=None):
    """Texts of 5 kB, which a cluster might leave with one worker; the sixth hangs once."""
    return [
        (
            f"unit {i}",
            json.dumps({"payload": f"{i} {'x' * 5000}", "trace": trace if i == 5 else ""}),
        )
        for i in range(16)
    ]


# Processes take seconds to start; the next tests share theirs until one kills them.


@pytest.mark.slow
def test_several_processes_give_what_one_gives(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    one = finish(a, long_units(), digest_or_hang)
    assert finish(b, long_units(), digest_or_hang, Place(jobs=2)) == one
    assert sorted_lines(a) == sorted_lines(b)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_a_run_and_keeps_what_was_done(tmp_path, jobs):
    yielded, path = {}, tmp_path / "j"

    def run():
        with journal(path) as kept:
            for key, result in do(MANY, wait_a_little, kept, Place(jobs)):
                yielded[key] = result
                if len(yielded) == 5:
                    threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGINT)).start()

    # A shell starts what runs in the background deaf to Ctrl-C.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(signal.SIGINT, usual)
    with journal(path) as kept:
        assert yielded.items() <= kept.results.items()
        assert 5 <= len(kept.results) < len(MANY)
    assert finish(path, MANY, wait_a_little) == {key: text.upper() for key, text in MANY}


def test_a_run_that_is_left_early_goes_on_later(tmp_path):
    path = tmp_path / "j"
    with journal(path) as kept:
        next(do(MANY, wait_a_little, kept, SERIAL))
    assert finish(path, MANY, wait_a_little).keys() == dict(MANY).keys()


def test_an_error_in_a_unit_ends_the_run_and_keeps_what_was_done(tmp_path):
    with journal(tmp_path / "j") as kept:
        with pytest.raises(RuntimeError, match="stumbled"):
            list(do(letters("abcxd"), stumble_at_x, kept, SERIAL))
        assert set(kept.results) == set("abc")


@pytest.mark.slow
def test_a_killed_worker_process_is_an_error_that_says_so(tmp_path):
    with journal(tmp_path / "j") as kept:
        with pytest.raises(GraphPriorError, match=r"worker process was killed.* fewer jobs="):
            list(do(letters("abcdefx"), die_at_x, kept, Place(jobs=2)))
        assert set(kept.results) <= set("abcdef")  # all others may be done by then


# Where the work is done


def test_units_of_one_process_take_turns_on_one_thread_which_ends_with_them():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with ThreadPoolExecutor(4) as pool:
            seen = list(pool.map(lambda key: alone(take_turns, key, ""), "abcdef"))
        assert seen == [(key, (1, 1)) for key in "abcdef"]
        assert alone(take_turns, "g", "") == ("g", (1, 1))  # torch counts for each thread apart
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster whose two workers are processes of their own."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as running:
        yield running


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_gives_what_one_process_gives(tmp_path, cluster):
    trace, path, killed = tmp_path / "trace", tmp_path / "cluster", False
    place = Place(scheduler=cluster.scheduler_address)
    with journal(path) as kept:
        for _ in do(long_units(str(trace)), digest_or_hang, kept, place):
            if not killed and trace.exists() and trace.read_text():
                os.kill(int(trace.read_text()), signal.SIGKILL)
                killed = True
    assert killed
    finish(tmp_path / "serial", long_units(), digest_or_hang)
    assert sorted_lines(path) == sorted_lines(tmp_path / "serial")


@pytest.mark.slow
def test_an_error_in_a_unit_on_a_cluster_is_that_error(tmp_path, cluster):
    place = Place(scheduler=cluster.scheduler_address)
    with journal(tmp_path / "j") as kept, pytest.raises(RuntimeError, match="stumbled"):
        list(do(letters("ax"), stumble_at_x, kept, place))


@pytest.mark.slow
def test_a_scheduler_gets_all_units_though_few_at_a_time(tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(work, "WAITING", 3)
    place = Place(scheduler=cluster.scheduler_address)
    assert finish(tmp_path / "j", MANY, wait_a_little, place).keys() == dict(MANY).keys()


@pytest.mark.slow
def test_a_unit_that_kills_every_worker_is_named_once_all_others_are_kept(tmp_path, cluster):
    usual, cluster.scheduler.allowed_failures = cluster.scheduler.allowed_failures, 0
    place = Place(scheduler=cluster.scheduler_address)
    try:
        with journal(tmp_path / "j") as kept:
            list(do(letters("abcdefg"), die_at_x, kept, place))
            with pytest.raises(GraphPriorError, match=r"1 of the units killed .*\(x\)"):
                list(do(letters("abcdefgx"), die_at_x, kept, place))
            assert set(kept.results) == set("abcdefg")
    finally:
        cluster.scheduler.allowed_failures = usual


@pytest.mark.slow
def test_a_cluster_without_workers_is_an_error_that_says_what_to_start(monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(work, "PATIENCE", 0.5)
    with (
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty,
        pytest.raises(GraphPriorError, match=r"no worker: start some .* `dask worker tcp://"),
        Place(scheduler=empty.scheduler_address).open(),
    ):
        pass


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_an_error_in_about_ten_seconds():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    start = time.monotonic()
    with (
        pytest.raises(GraphPriorError, match=f"scheduler={address!r}: no Dask scheduler answers"),
        Place(scheduler=address).open(),
    ):
        pass
    assert time.monotonic() - start < 30  # ten, and what a busy machine adds


@pytest.mark.slow
@pytest.mark.parametrize("address", ["nonsense", "foo://x:1", "", "tcp://127.0.0.1:x"])
def test_an_address_that_is_none_is_an_error_that_shows_one(monkeypatch, address):
    monkeypatch.setattr(work, "PATIENCE", 0.5)
    with (
        pytest.raises(GraphPriorError, match="expected an address such as tcp://host:8786"),
        Place(scheduler=address).open(),
    ):
        pass


@pytest.mark.slow
def test_no_half_client_is_left_of_an_address_that_is_none(monkeypatch):
    """One that is collected while another client starts waits for ever."""
    from distributed import Client

    def clients():
        return {id(c) for c in gc.get_objects() if type(c) is Client}

    monkeypatch.setattr(work, "PATIENCE", 0.5)
    for address in ("nonsense", "tcp://127.0.0.1:1"):
        before = clients()
        with pytest.raises(GraphPriorError), Place(scheduler=address).open():
            pass
        assert clients() <= before


def test_without_dask_a_cluster_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    for place in (Place(scheduler="tcp://127.0.0.1:1"), Place(cluster="local")):
        with pytest.raises(GraphPriorError, match=r"pip install .*\[dask\].*jobs="), place.open():
            pass


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"jobs": 0}, "jobs=0"),
        ({"jobs": -1}, "jobs=-1"),
        ({"cluster": "slurm"}, "cluster=.slurm"),
        ({"cluster": "local", "scheduler": "tcp://a:1"}, "take one"),
        ({"jobs": 2, "scheduler": "tcp://a:1"}, "jobs=2 with scheduler="),
    ],
)
def test_a_place_that_makes_no_sense_is_refused(options, word):
    with pytest.raises(GraphPriorError, match=word):
        Place(**options)
