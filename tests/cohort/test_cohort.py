"""Many tables: each is answered as if alone, and a kill changes nothing."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import (
    NAMES,
    Outcome,
    assert_refused,
    environment,
    listing,
    strict_json,
    write_known,
    write_observations,
)
from graphprior import load_prior, save_prior
from graphprior.batch import work
from graphprior.batch.work import journal
from graphprior.cli.main import main
from graphprior.cohort import cohort, worker
from graphprior.cohort.cohort import COLUMNS, JOURNAL, LOG, find_tables
from graphprior.graphs.matrices import hide
from graphprior.io.inputs import Reading
from graphprior.priors import load
from graphprior.priors.networks.evidence_network import (
    EvidenceNetwork,
    EvidenceNetworkConfig,
    EvidenceNetworkPrior,
)
from oracles import random_graph
from warm import program

HERE = Path(__file__).parent
EACH = ["estimate", "data", "--each"]
TABLES = ["a.csv", "b b.csv", "summary.csv", "ü[1].csv"]


@pytest.fixture
def tables(tmp_path, rng):
    """Tables in ``data``, their known parts in ``known``, and one of both that is for all."""
    make_tables(tmp_path, rng)
    return tmp_path


def make_tables(folder, rng, names=TABLES):
    for part in ("data", "known"):
        (folder / part).mkdir()
    for name in names:
        write_observations(folder / "data" / name, rng)
        write_known(folder / "known" / name, hide(random_graph(rng, 5, density=0.4), rng, count=6))
    shutil.copy(folder / "known" / names[0], folder / "one.csv")


def results(out):
    """All that a run leaves, apart from when it did what and how long it took."""
    left = {name: content for name, content in listing(out).items() if name not in (JOURNAL, LOG)}
    summary = pd.read_csv(out / "summary.csv")
    assert list(summary.columns) == list(COLUMNS)
    return left | {"summary.csv": summary.drop(columns="seconds").to_csv()}


def rows(out):
    return pd.read_csv(out / "summary.csv", dtype={"name": str}).set_index("name")


# A table among many


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ["--known", "known", "--prior", "egonets", "--pictures"],
        ["--known", "one.csv", "--engine", "gibbs", "--draws", "3", "--seed", "7"],
        ["--engine", "langevin", "--draws", "1", "--use", "data"],
    ],
    ids=["direct", "gibbs", "langevin"],
)
def test_a_table_among_many_is_answered_as_if_it_were_alone(here, tables, options):
    name = TABLES[1]
    for other in TABLES[2:]:
        (tables / "data" / other).unlink()
    assert here(*EACH, *options, "--out", "many").code == 0
    pictures = "--pictures" in options
    alone = [
        f"known/{name}" if word == "known" else word for word in options if word != "--pictures"
    ]
    assert here("estimate", f"data/{name}", *alone, "--out", "one").code == 0
    one, of_many = listing(tables / "one"), listing(tables / "many" / Path(name).stem)
    plain = {k: v for k, v in one.items() if k not in ("picture.png", "report.html")}
    assert of_many == (one if pictures else plain)
    drawn = "--engine" in options
    assert len(of_many) == 4 + 2 * pictures + drawn


def test_a_row_of_the_summary_tells_what_the_folder_holds(here, tables):
    write_known(tables / "known" / "a.csv", random_graph(np.random.default_rng(1), 5, density=0.4))
    (tables / "known" / "b b.csv").write_text("source,target,present\n")  # nothing known
    assert here(*EACH, "--known", "known", "--prior", "egonets", "--out", "many").code == 0
    found = rows(tables / "many")
    assert list(found.index) == sorted(Path(name).stem for name in TABLES)
    for name, row in found.iterrows():
        with np.load(tables / "many" / name / "result.npz", allow_pickle=False) as z:
            U = np.isnan(z["known"])
            P, A = z["edge_probabilities"], z["adjacency"]
        assert (row["n"], row["k"], row["unknown_pairs"]) == (5, 30, U.sum() / 2)
        assert row["edges_found"] == A[U].sum() / 2
        facts = strict_json((tables / "many" / name / "run.json").read_text())["diagnostics"]
        gain = (facts["prior_gain"] or {"bits": np.nan})["bits"]
        assert row["prior_gain_bits"] == pytest.approx(gain, rel=1e-5, nan_ok=True)
        mean = P[U].mean() if U.any() else np.nan
        assert row["mean_probability"] == pytest.approx(mean, rel=1e-5, nan_ok=True)
    assert found.loc["a", "warnings"].startswith("nothing is unknown")
    assert found["prior_gain_bits"].notna().any()
    assert found["error"].isna().all()


def test_a_prior_is_read_once_for_all_tables(here, tables, monkeypatch):
    """An own file by the worker, a shipped prior where priors are resolved."""
    read = []
    copy = save_prior(load_prior("grids"), tables / "mine.safetensors")
    worker._own.cache_clear()
    load._shipped.cache_clear()
    for module in (worker, load):
        monkeypatch.setattr(
            module, "load_prior", lambda name: read.append(name) or load_prior(name)
        )
    priors = ["--prior", "egonets", "--prior", str(copy)]
    assert here(*EACH, *priors, "--out", "many").code == 0
    assert sorted(read) == sorted(["egonets", str(copy)])


def test_what_is_no_table_is_left_out(here, tables):
    data = tables / "data"
    (data / "folder.csv").mkdir()
    for name in ("notes.txt", ".hidden.csv", "._a.csv"):
        (data / name).write_text("no table")
    (data / "t.TSV").write_text((data / "a.csv").read_text().replace(",", "\t"))
    assert here(*EACH, "--out", "many").code == 0
    assert set(rows(tables / "many").index) == {Path(name).stem for name in [*TABLES, "t.TSV"]}


def test_the_end_is_told_to_people_and_to_scripts(here, tables):
    outcome = here(*EACH, "--out", "many")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("4 of 4 tables answered, 0 failed; wrote many/")
    outcome = here(*EACH, "--out", "many", "--json")
    assert strict_json(outcome.out) == {"out": "many", "tables": 4, "failed": 0}
    facts = strict_json((tables / "many" / "run.json").read_text())
    assert facts["tables"].keys() == {Path(name).stem for name in TABLES}
    assert str(tables) not in json.dumps(facts)


# Tables that fail


def test_a_table_that_fails_is_a_row_and_the_others_are_answered(here, tables):
    assert here(*EACH, "--out", "good").code == 0
    (tables / "data" / "bad.csv").write_text("a,b\n1,2\n3,four\n")
    outcome = here(*EACH, "--out", "many")
    assert outcome.code == 1
    told, ending = outcome.err.splitlines()
    assert told.startswith("bad: bad.csv: column 'b' is not numeric")
    assert ending.startswith("4 of 5 tables answered, 1 failed")
    good, many = listing(tables / "good"), listing(tables / "many")
    assert {name for name in many if name.endswith("/run.json")} == {
        name for name in good if name.endswith("/run.json")
    }
    assert rows(tables / "many").drop(index="bad").index.equals(rows(tables / "good").index)
    assert rows(tables / "many")["error"].notna().sum() == 1
    assert strict_json(here(*EACH, "--out", "many", "--json").out)["failed"] == 1


def test_tables_that_all_fail_are_all_told(here, tables):
    names = ["one.csv", *(str(Path("known") / name) for name in TABLES)]
    for name in names:
        (tables / name).write_text("source,target,present\na,z,1\n")
    for known in ("one.csv", "known"):
        outcome = here(*EACH, "--known", known, "--out", f"many {known}")
        assert outcome.code == 1
        assert "0 of 4 tables answered, 4 failed" in outcome.err
        assert rows(tables / f"many {known}")["error"].str.contains("'z' is no column").all()


def test_a_failure_whose_cause_is_gone_is_made_good_by_the_same_command(here, tables, monkeypatch):
    assert here(*EACH, "--out", "good").code == 0
    with monkeypatch.context() as broken:

        def full(folder, *_):
            (folder / "edges.csv").write_text("half")
            raise OSError("No space left on device")

        broken.setattr(worker, "write_result", full)
        assert here(*EACH, "--out", "many").code == 1
        assert rows(tables / "many")["error"].eq("OSError: No space left on device").all()
        assert not any((tables / "many" / Path(name).stem).exists() for name in TABLES)
    assert here(*EACH, "--out", "many").code == 0
    assert results(tables / "many") == results(tables / "good")


def test_a_result_that_was_removed_is_made_again(here, tables):
    assert here(*EACH, "--out", "many").code == 0
    before = results(tables / "many")
    shutil.rmtree(tables / "many" / "a")
    (tables / "many" / "summary.csv").unlink()
    assert here(*EACH, "--out", "many").code == 0
    assert results(tables / "many") == before


# What is refused


def assert_refused_and_untouched(here, folder, words, *told):
    before = listing(folder)
    assert_refused(here(*words), *told)
    assert listing(folder) == before


def add(folder, name, content="a,b\n1,2\n2,1\n4,4\n"):
    (folder / name).write_text(content)


BAD_FOLDERS = {
    "missing": (lambda f: shutil.rmtree(f / "data"), "data is no folder"),
    "file": (lambda f: (shutil.rmtree(f / "data"), add(f, "data")), "data is no folder"),
    "empty": (lambda f: [p.unlink() for p in (f / "data").iterdir()], "data holds no table"),
    "same stem": (lambda f: add(f / "data", "a.tsv"), "a.csv and a.tsv would share"),
    "same stem, louder": (lambda f: add(f / "data", "a.CSV"), "a.CSV and a.csv would share"),
    "summary": (
        lambda f: add(f / "data", "summary.csv.csv"),
        "summary.csv is a file of the result",
    ),
    "run": (lambda f: add(f / "data", "run.json.tsv"), "run.json is a file of the result"),
    "log": (lambda f: add(f / "data", "log.txt.csv"), "log.txt is a file of the result"),
    "bytes": (lambda f: add(f / "data", os.fsdecode(b"\xff.csv")), "not UTF-8"),
    "known": (lambda f: shutil.rmtree(f / "known"), "--known known: no such file"),
    "one known": (lambda f: (f / "known" / TABLES[2]).unlink(), f"has no {TABLES[2]}"),
}


@pytest.mark.parametrize(("spoil", "word"), BAD_FOLDERS.values(), ids=BAD_FOLDERS)
def test_a_folder_that_cannot_be_used_is_refused_before_any_work(here, tables, spoil, word):
    spoil(tables)
    words = [*EACH, "--known", "known", "--out", "many"]
    assert_refused_and_untouched(here, tables, words, word)


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--prior", "nonsense", "'nonsense'"),
        ("--prior", "missing.safetensors", "missing.safetensors: no such file"),
        ("--engine", "steam", "'steam'"),
        ("--draws", "3", "does not apply to engine 'direct'"),
        ("--seed", "-1", "-1"),
        ("--device", "nonsense", "nonsense"),
        ("--jobs", "0", "--jobs 0"),
        ("--cluster", "slurm", "--cluster slurm"),
        ("--out", "data", "exists and is not empty"),
    ],
)
def test_an_option_that_fits_no_table_is_refused_before_any_work(here, tables, option, value, word):
    words = [*EACH, "--out", "many", option, value]
    assert_refused_and_untouched(here, tables, words, word)


@pytest.mark.parametrize(
    "option",
    [["--jobs", "2"], ["--scheduler", "tcp://a:1"], ["--cluster", "local"], ["--pictures"]],
    ids=lambda option: option[0],
)
def test_an_option_for_many_tables_is_refused_for_one(here, tables, option):
    words = ["estimate", "data/a.csv", "--out", "one", *option]
    assert_refused_and_untouched(here, tables, words, f"{option[0]} is for many", "--each")


def test_a_folder_without_each_is_refused_and_each_told(here, tables):
    words = ["estimate", "data", "--out", "one"]
    assert_refused_and_untouched(here, tables, words, "data is a folder", "--each")


def change_a_table(folder):
    content = (folder / "data" / "a.csv").read_text()
    (folder / "data" / "a.csv").write_text(content.rsplit("\n", 2)[0] + "\n")


def save_small_prior(folder, seed):
    from torch import manual_seed

    manual_seed(seed)
    network = EvidenceNetwork(EvidenceNetworkConfig(layers=1))
    save_prior(EvidenceNetworkPrior(network), folder / "small.safetensors")


OTHERS = {
    "seed": (["--seed", "1"], lambda f: None, "random_state 0 there, 1 here"),
    "engine": (["--engine", "gibbs"], lambda f: None, "engine direct there, gibbs here"),
    "pictures": (["--pictures"], lambda f: None, "pictures"),
    "prior": (["--prior", "egonets"], lambda f: None, "'egonets'] here"),
    "known": (["--known", "one.csv"], lambda f: None, "tables that came, went or changed: a, b b"),
    "weights": ([], lambda f: save_small_prior(f, 2), "prior_sha256"),
    "table": ([], change_a_table, "tables that came, went or changed: a)"),
    "more": ([], lambda f: [add(f / part, "z.csv") for part in ("data", "known")], "changed: z)"),
    "fewer": ([], lambda f: (f / "data" / "a.csv").unlink(), "changed: a)"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("options", "change", "word"), OTHERS.values(), ids=OTHERS)
def test_another_run_in_the_same_folder_is_refused(here, tables, options, change, word):
    save_small_prior(tables, 1)
    words = [*EACH, "--known", "known", "--prior", "small.safetensors", "--out", "many"]
    assert here(*words).code == 0
    change(tables)
    before = listing(tables)
    assert_refused(here(*words, *options), "many belongs to another run", word, "another folder")
    assert listing(tables) == before


def test_another_release_does_not_go_on_with_a_run(here, tables, monkeypatch):
    assert here(*EACH, "--out", "many").code == 0
    monkeypatch.setattr(cohort, "versions", lambda: {"torch": "0.1"})
    assert_refused_and_untouched(here, tables, [*EACH, "--out", "many"], "belongs to another run")


def test_a_run_that_did_nothing_yet_leaves_the_folder_to_any(here, tables, monkeypatch):
    monkeypatch.setattr(work, "PATIENCE", 0.2)
    words = [*EACH, "--out", "many", "--seed", "1", "--scheduler", "tcp://127.0.0.1:9"]
    assert_refused(here(*words), "no Dask scheduler answers")
    assert here(*EACH, "--out", "many").code == 0
    assert here(*EACH, "--out", "good").code == 0
    assert results(tables / "many") == results(tables / "good")


def test_two_runs_at_once_are_refused(here, tables):
    (tables / "many").mkdir()
    with journal(tables / "many" / JOURNAL):
        assert_refused(here(*EACH, "--out", "many"), JOURNAL, "in use by another run")


# Processes, kills and interrupts


@pytest.mark.slow
def test_where_the_work_is_done_changes_nothing(here, tables):
    words = [*EACH, "--known", "known", "--prior", "egonets"]
    places = {"serial": [], "jobs": ["--jobs", "2"], "local": ["--cluster", "local"]}
    for out, place in places.items():
        assert here(*words, *place, "--out", out).code == 0
    serial = results(tables / "serial")
    assert all(results(tables / out) == serial for out in places)


def test_a_run_goes_on_in_another_place(here, tables, monkeypatch):
    assert here(*EACH, "--out", "good").code == 0
    assert here(*EACH, "--out", "many").code == 0
    lines = (tables / "many" / JOURNAL).read_bytes().splitlines(keepends=True)
    (tables / "many" / JOURNAL).write_bytes(b"".join(lines[:3]) + lines[3][:20])
    monkeypatch.chdir(tables / "data")
    assert here("estimate", ".", "--each", "--out", "../many").code == 0
    assert results(tables / "many") == results(tables / "good")
    assert "4 tables, 2 of them done before" in (tables / "many" / LOG).read_text()


def kill_until_done(seed):
    """Children that run the command are killed at random moments until one gets to its end."""
    rng, kills, path = random.Random(seed), 0, Path("killed") / JOURNAL
    sys.argv = ["graphprior", *EACH, "--known", "known", "--out", "killed"]
    while True:
        child = os.fork()
        if child == 0:
            try:
                main()
            except SystemExit as ending:
                os._exit(ending.code)
        size = path.stat().st_size if path.exists() else 0
        wanted, ended = size + rng.choice([1, 1, 300]), 0
        while not ended and (not path.exists() or path.stat().st_size < wanted):
            ended = os.waitpid(child, os.WNOHANG)[0]
            time.sleep(0.0005)
        if ended:
            break
        time.sleep(rng.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
    print(kills)


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_like_one_that_was_not(here, tables, rng):
    for i in range(12):
        shutil.copy(tables / "known" / "a.csv", tables / "known" / f"{i}.csv")
        write_observations(tables / "data" / f"{i}.csv", rng)
    code = (
        f"import sys; sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}\n"
        "import test_cohort; test_cohort.kill_until_done(sys.argv[1])"
    )
    seed = str(random.randrange(10**6))
    done = subprocess.run(
        [*program("python"), "-c", code, seed], cwd=tables, env=environment(),
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (seed, done.stderr)
    assert int(done.stdout) >= 3, seed
    assert here(*EACH, "--known", "known", "--out", "good").code == 0
    assert results(tables / "killed") == results(tables / "good"), seed
    again = listing(tables / "killed")
    assert here(*EACH, "--known", "known", "--out", "killed").code == 0
    kept = {name: content for name, content in listing(tables / "killed").items() if name != LOG}
    assert kept == {name: content for name, content in again.items() if name != LOG}


def test_ctrl_c_says_how_far_it_came_and_the_same_command_goes_on(here, tables, monkeypatch):
    real = worker._answer

    def press(told):
        if told["name"] == "summary":
            threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(10)
        return real(told)

    # A shell starts what runs in the background deaf to Ctrl-C.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as pressed:
        pressed.setattr(worker, "_answer", press)
        outcome = here(*EACH, "--out", "many")
    signal.signal(signal.SIGINT, usual)
    words = "stopped after 2 of 4 tables; the same command goes on from there\n"
    assert outcome == Outcome(130, "", words)
    assert not (tables / "many" / "summary.csv").exists()
    assert here(*EACH, "--out", "many").code == 0
    assert here(*EACH, "--out", "good").code == 0
    assert results(tables / "many") == results(tables / "good")


@pytest.fixture
def text(tables, monkeypatch):
    """What a worker is told about table ``a``."""
    (found, *_) = find_tables(tables / "data", None)
    (tables / "unfinished").mkdir()
    told = {
        "name": found.name, "data": str(found.data), "known": None, "prior": None,
        "prior_sha256": None, "arguments": {"random_state": 0}, "pictures": False,
        "reading": Reading().facts(),
        "inputs": cohort.input_hashes(found.data, None),
        "unfinished": str(tables / "unfinished"), "out": str(tables / "result"),
    }  # fmt: skip
    return json.dumps(told)


def test_two_workers_at_one_table_leave_one_whole_result(tables, text):
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(worker.answer_table, [text, text])
    assert "error" not in first | second
    parts = {"edges.csv", "graph.graphml", "result.npz", "run.json"}
    assert listing(tables / "result").keys() == parts
    assert listing(tables / "unfinished") == {}


def test_a_worker_that_outlives_its_run_writes_nothing(tables, text):
    (tables / "unfinished").rmdir()
    before = listing(tables)
    assert "FileNotFoundError" in worker.answer_table(text)["error"]
    assert listing(tables) == before


def test_what_a_killed_run_left_half_done_is_out_of_reach_before_work_begins(
    here, tables, monkeypatch
):
    half = tables / "many" / cohort.UNFINISHED / "old" / "half"
    real, seen = worker._answer, []
    (tables / "many").mkdir()
    (tables / "many" / JOURNAL).touch()
    half.mkdir(parents=True)
    monkeypatch.setattr(
        worker, "_answer", lambda told: (seen.append(half.parent.exists()), real(told))[1]
    )
    assert here(*EACH, "--out", "many").code == 0
    assert seen == [False] * 4
    assert here(*EACH, "--out", "good").code == 0
    assert results(tables / "many") == results(tables / "good")


def test_a_table_that_changes_during_a_run_fails(tables, text):
    change_a_table(tables)
    assert "a.csv or what is known of it changed" in worker.answer_table(text)["error"]


def test_names_of_variables_may_differ_from_table_to_table(here, tables):
    content = (tables / "data" / "a.csv").read_text().replace(",".join(NAMES), "v,w,x,y,z")
    (tables / "data" / "a.csv").write_text(content)
    assert here(*EACH, "--out", "many").code == 0
    assert "v,w" in (tables / "many" / "a" / "edges.csv").read_text().replace("w,v", "v,w")
