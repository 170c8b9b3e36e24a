"""`graphprior summary`, in a folder with a result that has draws and one that has none."""

import sys

import numpy as np
import pandas as pd
import pytest

from graphprior.cli.main import main
from graphprior.errors import notes
from graphprior.estimator import PartialGGM
from graphprior.graphs.quantities import QUANTITIES
from graphprior.results.folder import read_result, write_result
from graphprior.results.result import Result
from graphprior.results.summaries import posterior_summary
from oracles import engine_with, random_problem


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    _, problem = random_problem(np.random.default_rng(0), n=5)
    X = pd.DataFrame(problem.X, columns=["a[b]", "b", "c, d", "e", "f"])
    for name, engine in (("drawn", "gibbs"), ("direct", "direct")):
        model = PartialGGM(None, engine=engine_with(engine, draws=45), random_state=0)
        (tmp_path / name).mkdir()
        write_result(tmp_path / name, Result.of(model.fit(X, known=problem.known)))
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["graphprior", "summary", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        return ending.value.code or 0, *capsys.readouterr()

    return run


def test_the_table_is_the_summary_of_the_result(here, tmp_path):
    what = list(QUANTITIES)
    code, out, err = here("drawn", "--what", ", ".join(what), "--level", 0.8, "--csv", "new/s.csv")
    assert code == 0
    expected = posterior_summary(read_result(tmp_path / "drawn"), what, 0.8)
    written = pd.read_csv(tmp_path / "new" / "s.csv")
    pd.testing.assert_frame_equal(written, expected, check_dtype=False, rtol=1e-5)
    assert len(out.splitlines()) == 1 + len(expected)
    assert "a[b]" in out
    assert "45 graphs drawn" in err


def test_too_few_draws_are_a_note(here):
    code, _, err = here("drawn", "--level", 0.99)
    assert code == 0
    assert err.startswith("note: 45 draws are too few")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["direct"], "--engine gibbs --draws 100"),
        (["nowhere"], "no such folder"),
        (["drawn", "--what", "degre"], "'degre' is nothing to ask"),
        (["drawn", "--what", ""], "'' is nothing to ask"),
        (["drawn", "--level", "95"], "level = 95"),
        (["drawn", "--csv", "drawn/run.json"], "exists"),
    ],
)
def test_what_cannot_be_told_is_refused_in_one_line_and_nothing_is_written(
    here, tmp_path, words, told
):
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    code, out, err = here(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_note_of_the_package_is_no_warning_of_the_command(here):
    with notes() as words:
        here("drawn", "--level", 0.99)
    assert words == []
