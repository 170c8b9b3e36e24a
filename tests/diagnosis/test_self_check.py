"""The self-check: right probabilities pass, wrong ones are named, and it changes nothing else."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import kstest

from graphprior import PartialGGM, read_result
from graphprior.choices import LikelihoodName
from graphprior.cli.main import main
from graphprior.diagnosis.self_check import Bin, _bin_of, check_model
from graphprior.engines.gibbs import Gibbs
from graphprior.engines.langevin import Langevin
from graphprior.engines.run import resolve_engine
from graphprior.errors import GraphPriorError, GraphPriorWarning, notes
from graphprior.gaussian.simulate import simulate_observations
from graphprior.io.inputs import Reading
from graphprior.observations.observations import ObservationFacts
from graphprior.problem.problem import Problem
from graphprior.report.page import report_page
from graphprior.report.trust import checks
from graphprior.results.diagnostics import Diagnostics
from graphprior.results.folder import write_result
from oracles import random_problem
from simulated import simulated_result

PAIRS, STRENGTH, RATE, ROWS = 40, 0.35, 0.3, 14
FIRST = np.arange(0, 2 * PAIRS, 2)


def matrices(pairs):
    """Whole matrices from values (..., PAIRS) of the pairs 2i and 2i + 1, zero elsewhere."""
    whole = np.zeros((*np.shape(pairs)[:-1], 2 * PAIRS, 2 * PAIRS))
    whole[..., FIRST, FIRST + 1] = whole[..., FIRST + 1, FIRST] = pairs
    return whole


def drawn_with(p, count, random_state):
    """Graphs whose pairs are edges with probability p, and their precision matrices."""
    edges = matrices(np.random.default_rng(random_state).random((count, PAIRS)) < p)
    return edges.astype(np.uint8), np.eye(2 * PAIRS) + STRENGTH * edges


class Islands(PartialGGM):
    """A model whose posterior is known exactly: each pair has an edge of one strength, or none.

    It draws graphs as they are before any data, so right probabilities are calibrated exactly.
    """

    factor, shift, seen = 1.0, 0.0, ()

    def fit(self, X, y=None, known=None, beliefs=None):
        type(self).seen += (np.array(X),)
        self.problem_ = Problem.create(X, known, beliefs, self.missing, self.time_series)
        Z = np.nan_to_num(self.problem_.X)
        products = (Z[:, FIRST] * Z[:, FIRST + 1]).sum(axis=0)
        gain = len(Z) / 2 * np.log1p(-(STRENGTH**2)) - STRENGTH * products
        p = expit(self.factor * (gain + logit(RATE)) + self.shift)
        self.edge_probabilities_ = matrices(p)
        drawn = self.drawn(p, np.random.default_rng(self.random_state))
        self.samples_ = matrices(drawn).astype(np.uint8)
        self.threshold_, self.location_ = 0.5, np.zeros(2 * PAIRS)
        self.diagnostics_ = Diagnostics(
            ObservationFacts(2 * PAIRS, len(Z), effective_k=9.4), PAIRS, 0.5, "islands",
            LikelihoodName.MARGINAL,
        )  # fmt: skip
        return self

    def drawn(self, p, rng):
        return rng.random(((resolve_engine(self.engine).draws or 10), PAIRS)) < p

    def draw(self, count, random_state=None):
        return drawn_with(RATE, count, random_state)


class Doubled(Islands):
    factor = 2.0


class Halved(Islands):
    factor = 0.5


class Eager(Islands):
    shift = 1.0


class Shy(Islands):
    shift = -1.0


class Alike(Islands):
    """Right probabilities, but only one graph is drawn, again and again."""

    def drawn(self, p, rng):
        return np.tile(rng.random(PAIRS) < p, ((resolve_engine(self.engine).draws or 10), 1))


class Own(Islands):
    """It draws graphs from its posterior, and is fitted to data of its own kind."""

    def draw(self, count, random_state=None):
        p = self.edge_probabilities_[FIRST, FIRST + 1]
        return drawn_with(p, count, random_state)


class NoEdges(Islands):
    def draw(self, count, random_state=None):
        return drawn_with(0, count, random_state)


def islands(kind=Islands, X=None, **parameters):
    """Such a model, fitted; ``seen`` begins anew."""
    if X is None:
        X = np.random.default_rng(0).standard_normal((ROWS, 2 * PAIRS))
    model = kind(**parameters).fit(X, known=matrices(np.full(PAIRS, np.nan)))
    kind.seen = ()
    return model


# What it says of probabilities


def test_right_probabilities_can_be_trusted(record_property):
    check = islands().check(100, random_state=1)
    record_property("calibration_error_of_right_probabilities", check.error)
    assert check.verdict == "trusted"
    assert check.error <= check.chance_high
    assert check.words().startswith("Probabilities on a problem like this one can be trusted")
    spread = np.sqrt(sum(b.pairs * b.p * (1 - b.p) for b in check.bins))
    assert abs(check.expected_edges - check.true_edges) < 3 * spread
    assert check.edge_ratio == check.expected_edges / check.true_edges
    assert (check.simulations, check.asked) == (100, 100)
    assert (check.rows, check.unknown_pairs, check.pairs) == (ROWS, PAIRS, 100 * PAIRS)


@pytest.mark.slow
def test_right_probabilities_are_off_as_chance_has_it():
    """By how much, and how often by more than is told to be rare."""
    found = [islands().check(20, random_state=seed) for seed in range(60)]
    errors = np.array([check.error for check in found])
    chance = np.mean([check.chance for check in found])
    assert abs(errors.mean() - chance) < 3 * errors.std() / np.sqrt(len(errors))
    rare = np.mean([check.error > check.chance_high for check in found])
    assert abs(rare - 0.05) < 3 * np.sqrt(0.05 * 0.95 / len(found))


@pytest.mark.slow
def test_a_right_model_is_rarely_called_wrong_though_all_tables_come_from_one(record_property):
    """What the one table said of its pairs is in all of them: chance alone would not allow it."""
    verdicts, beyond = [], []
    for seed in range(25):
        _, (Theta,) = drawn_with(RATE, 1, seed)
        X = simulate_observations(Theta, ROWS, np.random.default_rng(seed))
        check = islands(Own, X).check(60, random_state=seed)
        assert check.limit >= check.chance_high
        verdicts.append(check.verdict)
        beyond.append(check.error > check.chance_high)
    record_property("right_models_beyond_chance", np.mean(beyond))
    wrong = np.mean([verdict not in ("trusted", "cannot tell") for verdict in verdicts])
    record_property("right_models_called_wrong", wrong)
    assert np.mean(beyond) > 0.2
    assert wrong <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(verdicts))


@pytest.mark.parametrize(
    ("kind", "verdict", "told"),
    [
        (Doubled, "too confident", "are too confident: of pairs said to be "),
        (Halved, "too cautious", "are too cautious: of pairs said to be "),
        (Eager, "too many edges", "too many edges are expected, "),
        (Shy, "too few edges", "too few edges are expected, "),
    ],
)
def test_wrong_probabilities_are_named(kind, verdict, told):
    check = islands(kind).check(100, random_state=1)
    assert check.verdict == verdict
    assert check.error > check.chance_high
    assert told in check.words()


EXAMPLES = [
    ("too confident", 0.9, 0.7, "of pairs said to be edges with about 90%, only 70% are."),
    ("too confident", 0.1, 0.3, "of pairs said to be no edges with about 90%, only 70% are none."),
    ("too cautious", 0.7, 0.9, "of pairs said to be edges with about 70%, 90% are."),
    ("too cautious", 0.3, 0.1, "of pairs said to be no edges with about 70%, 90% are none."),
    ("too many edges", 0.3, 0.1, "of pairs said to be edges with about 30%, only 10% are."),
    ("too few edges", 0.01, 0.025, "of pairs said to be edges with about 1.0%, 2% are."),
]


@pytest.mark.parametrize(("verdict", "p", "share", "words"), EXAMPLES)
def test_the_sentence_has_an_example_on_the_side_that_the_verdict_names(verdict, p, share, words):
    check = islands().check(10, random_state=1)
    bins = Bin(0.4, 0.4, 20), Bin(p, share, 20), Bin(0.6, 0.6, 20)
    assert replace(check, verdict=verdict, bins=bins, alike_p=None).words().endswith(words)


def test_an_example_that_speaks_against_the_verdict_is_not_taken():
    check = islands().check(10, random_state=1)
    bins = Bin(0.2, 0.05, 20), Bin(0.9, 0.8, 20)
    words = replace(check, verdict="too confident", bins=bins, alike_p=None).words()
    assert words.endswith("edges with about 90%, only 80% are.")


def test_few_pairs_cannot_tell():
    check = islands().check(2, random_state=0)
    assert check.verdict == "cannot tell"
    assert f"{2 * PAIRS} pairs in 2 simulated data sets" in check.words()
    assert (check.ranks_p, check.alike_p) == (None, None)


def test_whether_more_simulations_would_tell_is_said():
    check = replace(islands().check(10, random_state=1), verdict="cannot tell", alike_p=None)
    words = replace(check, limit=check.chance_high).words()
    assert words.endswith("more simulations tell more.")
    words = replace(check, limit=3 * check.chance_high).words()
    assert words.endswith("too few pairs are unknown.")


def test_pairs_called_edges_are_counted_by_the_threshold():
    model = islands()
    check = model.check(50, random_state=2)
    assert 0 < check.called_right < check.called < check.pairs
    assert check.right_share == check.called_right / check.called
    assert check.found_share == check.called_right / check.true_edges


def test_graphs_without_edges_are_told_as_such():
    check = islands(NoEdges).check(30, random_state=0)
    assert check.true_edges == 0
    assert (check.edge_ratio, check.found_share) == (None, None)
    assert check.verdict == "too many edges"
    assert ("edges found", "there is none") in check.table()
    assert "where there are 0" in check.words()


@pytest.mark.slow
@pytest.mark.parametrize("draws", [2, 20])
def test_ranks_are_uniform_where_graphs_drawn_are_right(draws):
    model = islands(engine=Gibbs(draws))
    found = [model.check(30, random_state=seed) for seed in range(40)]
    for values in ([check.ranks_p for check in found], [check.alike_p for check in found]):
        assert kstest(values, "uniform").pvalue > 0.01


def test_graphs_that_are_all_alike_are_told():
    check = islands(Alike).check(60, random_state=0)
    assert check.verdict == "trusted"
    assert check.alike_p < 0.01
    assert "the graphs drawn are too much alike" in check.words()
    assert len(check.ranks) == 60
    assert set(check.ranks) <= set(range(check.draws + 1))


@given(st.lists(st.sampled_from([0.0, 0.1, 0.1001, 0.5, 0.9, 1.0]) | st.floats(0, 1), min_size=1))
def test_bins_part_no_equal_probabilities_and_go_up(values):
    p = np.array(values)
    which = _bin_of(p)
    assert set(which) == set(range(which.max() + 1))
    assert which.max() < 10
    order = np.argsort(p, kind="stable")
    assert (np.diff(which[order]) >= 0).all()
    assert (np.diff(p[order])[np.diff(which[order]) > 0] > 0).all()


def test_bins_of_different_probabilities_are_equally_full(rng):
    assert set(np.bincount(_bin_of(rng.random(1003)))) <= {100, 101}
    assert np.bincount(_bin_of(rng.random(35))).size == 3


# Seeds, processes, interruption


def test_the_same_seed_gives_the_same_answer_and_another_does_not():
    model = islands()
    first = model.check(5, random_state=3)
    assert model.check(5, random_state=3) == first
    assert model.check(5, random_state=4) != first
    assert check_model(model, 5, 3) == first


def test_jobs_do_not_change_the_answer():
    _, problem = random_problem(np.random.default_rng(1), n=6, k=40)
    model = PartialGGM(None, engine=Gibbs(draws=4), random_state=0)
    with notes():
        model.fit(problem.X, known=problem.known)
    assert model.check(5, random_state=0, jobs=2) == model.check(5, random_state=0)


def test_what_was_done_before_an_interruption_is_kept():
    reports = []

    def impatient(done, total):
        reports.append((done, total))
        if done == 7:
            raise KeyboardInterrupt

    model = islands()
    with pytest.warns(GraphPriorWarning, match="stopped after 7 of 20"):
        check = model.check(20, random_state=0, progress=impatient)
    assert reports == [(done, 20) for done in range(8)]
    assert (check.simulations, check.asked, check.pairs) == (7, 20, 7 * PAIRS)
    assert ("data sets simulated", "7 of 20 asked for, of 14 rows") in check.table()
    assert model.check_ == check


def test_an_interruption_before_the_first_answer_is_one():
    def impatient(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        islands().check(3, progress=impatient)


# What is simulated and how it is fitted


def test_each_table_is_fitted_with_the_same_settings_and_nothing_of_the_model_changes():
    used = []

    class Settings(Islands):
        def fit(self, X, y=None, known=None, beliefs=None):
            used.append((self.get_params(), known, beliefs))
            return super().fit(X, y, known, beliefs)

    model = islands(Settings, engine=Gibbs(3), threshold=0.4, random_state=5)
    before = dict(vars(model))
    used.clear()
    model.check(3, random_state=0)
    assert {name: value for name, value in vars(model).items() if name != "_self_check"} == before
    for parameters, known, beliefs in used:
        different = {n for n, v in parameters.items() if v != model.get_params()[n]}
        assert different <= {"random_state", "threshold"}
        assert parameters["threshold"] == 0.4
        np.testing.assert_array_equal(known, model.problem_.known)
        np.testing.assert_array_equal(beliefs, model.problem_.beliefs)
    assert len({parameters["random_state"] for parameters, *_ in used}) == 3


def test_tables_have_the_mean_and_the_covariance_drawn():
    X = np.random.default_rng(0).standard_normal((4000, 2 * PAIRS))
    model = islands(X=X)
    model.location_ = np.arange(2.0 * PAIRS)
    _, (Theta,) = model.draw(1, random_state=0)
    model.draw = lambda count, random_state: (Theta[None] != 0, Theta[None])
    model.check(1, random_state=0)
    (simulated,) = Islands.seen
    spread = 5 / np.sqrt(len(simulated))
    assert np.abs(simulated.mean(axis=0) - model.location_).max() < spread
    assert np.abs(np.cov(simulated.T) - np.linalg.inv(Theta)).max() < 2 * spread


def test_gaps_are_where_they_were():
    X = np.random.default_rng(0).standard_normal((ROWS, 2 * PAIRS))
    X[2, 3:7] = X[5, 0] = np.nan
    model = islands(X=X, missing="em")
    model.check(2, random_state=0)
    for simulated in Islands.seen:
        np.testing.assert_array_equal(np.isnan(simulated), np.isnan(X))


def test_a_series_becomes_as_many_independent_rows_as_it_is_worth():
    X = np.random.default_rng(0).standard_normal((40, 2 * PAIRS))
    model = islands(X=X, time_series=True)
    check = model.check(2, random_state=0)
    assert check.rows == 9
    assert {simulated.shape for simulated in Islands.seen} == {(9, 2 * PAIRS)}
    assert model.time_series


# Refusals


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"simulations": 0}, "simulations = 0"),
        ({"simulations": -3}, "simulations = -3"),
        ({"simulations": 2.5}, "simulations = 2.5"),
        ({"simulations": True}, "simulations = True"),
        ({"jobs": 0}, "jobs = 0"),
        ({"random_state": "seed"}, "random_state = 'seed'"),
    ],
)
def test_bad_arguments_are_refused(arguments, word):
    with pytest.raises(GraphPriorError, match=word):
        islands().check(**arguments)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"use": "prior"}, "does not look at the data"),
        ({"engine": Langevin(2, bootstrap=None)}, "plug-in likelihood"),
        (
            {"engine": Langevin(2, "marginal")},
            "engine 'direct' or 'gibbs'",
        ),
    ],
)
def test_models_without_a_posterior_of_the_precision_are_refused(parameters, word):
    _, problem = random_problem(np.random.default_rng(3), n=4, k=60)
    with notes():
        model = PartialGGM(**{"prior": None, "random_state": 0, **parameters}).fit(
            problem.X, known=problem.known
        )
    with pytest.raises(GraphPriorError, match=word):
        model.check(2)


def test_a_model_with_nothing_unknown_is_refused():
    A, problem = random_problem(np.random.default_rng(3), n=4, k=60)
    with notes():
        model = PartialGGM(None).fit(problem.X, known=A)
    with pytest.raises(GraphPriorError, match="no pair was unknown"):
        model.check(2)


def test_an_unfitted_model_cannot_be_checked():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        PartialGGM(None).check()


def test_a_table_that_cannot_be_fitted_is_told():
    class Fails(Islands):
        def fit(self, X, y=None, known=None, beliefs=None):
            if self.seen:
                raise GraphPriorError("no such table")
            return super().fit(X, y, known, beliefs)

    model = islands(Fails)
    Fails.seen = (None,)
    with pytest.raises(GraphPriorError, match="simulated data set could not be fitted: no such"):
        model.check(2)


# In the report and in the folder


def checked_result(kind=Islands, seed=1):
    return replace(simulated_result(8), self_check=islands(kind).check(100, random_state=seed))


def shown(result):
    return [check for check in checks(result) if check.title == "Self-check"]


def test_the_report_shows_a_check_only_where_there_is_one():
    result = checked_result()
    page, silent = report_page(result), report_page(replace(result, self_check=None))
    assert "Self-check" not in silent
    assert '<svg class="reliability"' not in silent
    assert page.count("<circle") == len(result.self_check.bins)
    assert result.self_check.words() in page
    for name, value in result.self_check.table():
        assert f'<th scope="row">{name}</th><td>{value}</td>' in page


@pytest.mark.parametrize(
    ("kind", "level"), [(Islands, "good"), (Doubled, "weak"), (Shy, "weak"), (Alike, "weak")]
)
def test_a_check_that_fails_is_a_weak_point(kind, level):
    (check,) = shown(checked_result(kind))
    assert check.level == level


def test_a_check_that_cannot_tell_is_a_note():
    result = replace(simulated_result(8), self_check=islands().check(2, random_state=0))
    (check,) = shown(result)
    assert check.level == "note"
    assert shown(simulated_result(8)) == []


def test_points_of_the_picture_lie_in_its_frame():
    from graphprior.report.reliability import reliability_picture

    drawn = reliability_picture(checked_result(Doubled).self_check)
    for point in drawn["points"]:
        assert drawn["left"] <= point["x"] <= drawn["right"]
        assert drawn["top"] <= point["high"] <= point["y"] <= point["low"] <= drawn["bottom"]


def test_another_fit_forgets_the_check():
    model = islands()
    assert not hasattr(model, "check_")
    check = model.check(3, random_state=0)
    assert model.check_ is check
    model.fit(model.problem_.X, known=model.problem_.known)
    assert not hasattr(model, "check_")
    assert not hasattr(sklearn.clone(model), "check_")


def test_a_folder_keeps_the_check(tmp_path):
    result = checked_result(Doubled)
    write_result(tmp_path, result)
    told = json.loads((tmp_path / "check.json").read_text())
    assert told["words"] == result.self_check.words()
    assert told["verdict"] == "too confident"
    back = read_result(tmp_path)
    assert back.self_check == result.self_check
    assert report_page(back) == report_page(result)


def test_a_folder_without_a_check_has_no_file_of_it(tmp_path):
    write_result(tmp_path, simulated_result(8))
    assert not (tmp_path / "check.json").exists()
    assert read_result(tmp_path).self_check is None


@pytest.mark.parametrize("content", ["{}", "[]", "{", '{"verdict": "fine"}', None])
def test_a_damaged_check_is_refused_with_what_to_do(tmp_path, content):
    result = checked_result()
    write_result(tmp_path, result)
    if content is None:
        content = json.dumps({**result.self_check.facts(), "verdict": "fine"})
    (tmp_path / "check.json").write_text(content)
    with pytest.raises(GraphPriorError, match=r"no self-check of this release.*remove it"):
        read_result(tmp_path)


# The command line


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The command in this process, in a folder with a result."""
    _, problem = random_problem(np.random.default_rng(0), n=6, k=60)
    names = list("abcdef")
    pd.DataFrame(problem.X, columns=names).to_csv(tmp_path / "x.csv", index=False)
    pd.DataFrame(problem.known, index=names, columns=names).to_csv(tmp_path / "known.csv")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["graphprior", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        return ending.value.code or 0, *capsys.readouterr()

    words = ["x.csv", "--known", "known.csv", "--out", "result", "--transform", "standardise"]
    assert run("estimate", *words)[0] == 0
    return run


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_command_checks_a_folder_and_the_report_shows_it(here, tmp_path):
    before = content(tmp_path)
    code, out, err = here("check", "result", "--simulations", 6, "--seed", 3)
    assert (code, out) == (0, "")
    check = read_result("result").self_check
    assert check.simulations == 6
    assert check.words() in err
    assert "probabilities differ" not in err
    assert err.endswith("wrote check.json and report.html\n")
    after = content(tmp_path)
    assert "Self-check" in (tmp_path / "result" / "report.html").read_text()
    changed = {path.name for path in after if after[path] != before.get(path)}
    assert changed == {"check.json", "report.html"}
    assert here("report", "result", "--out", "again.html")[0] == 0
    assert (tmp_path / "again.html").read_bytes() == after[tmp_path / "result" / "report.html"]


@pytest.mark.slow
def test_the_command_is_the_method(here):
    code, out, _ = here("check", "result", "--simulations", 4, "--seed", 3, "--json")
    assert code == 0
    given = Reading("standardise").read(Path("x.csv"), Path("known.csv"))
    check = given.fit(PartialGGM(random_state=0)).check(4, random_state=3)
    assert json.loads(out) == check.facts()


@pytest.mark.slow
def test_a_folder_without_a_report_gets_none(here, tmp_path):
    (tmp_path / "result" / "report.html").unlink()
    assert here("check", "result", "--simulations", 2)[2].endswith("wrote check.json\n")
    assert not (tmp_path / "result" / "report.html").exists()


@pytest.mark.slow
def test_inputs_elsewhere_are_said(here, tmp_path):
    (tmp_path / "far").mkdir()
    for name in ("x.csv", "known.csv"):
        (tmp_path / name).rename(tmp_path / "far" / name)
    words = ["check", "result", "--simulations", 2]
    code, _, err = here(*words)
    assert code == 2
    assert "x.csv: no such file here" in err
    assert here(*words, "--data", "far/x.csv", "--known", "far/known.csv")[0] == 0


def without_inputs(run):
    del run["inputs"]


def with_a_strange_argument(run):
    run["arguments"]["speed"] = 3


def with_a_strange_reading(run):
    run["reading"]["speed"] = 3


def with_two_tables(run):
    run["inputs"]["data"]["y.csv"] = "0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (without_inputs, "names no table"),
        (with_a_strange_argument, "speed"),
        (with_a_strange_reading, "another way to read"),
        (with_two_tables, "does not tell which file was the data"),
    ],
)
def test_a_run_that_does_not_tell_how_it_was_made_is_refused(here, tmp_path, spoil, told):
    path = tmp_path / "result" / "run.json"
    run = json.loads(path.read_text())
    spoil(run)
    path.write_text(json.dumps(run))
    assert_refused(here, tmp_path, ["result"], told)


def assert_refused(here, folder, words, told):
    before = content(folder)
    code, out, err = here("check", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert content(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["result", "--simulations", "0"], "simulations = 0"),
        (["result", "--jobs", "0"], "jobs = 0"),
        (["result", "--seed", "-1"], "--seed -1"),
        (["nowhere"], "no such folder"),
        (["result", "--prior", "grids"], "not the one that the result was made with"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_one_line(here, tmp_path, words, told):
    assert_refused(here, tmp_path, words, told)


@pytest.mark.parametrize(("name", "what"), [("x.csv", "x.csv"), ("known.csv", "known.csv")])
def test_inputs_that_changed_or_are_gone_are_refused(here, tmp_path, name, what):
    path = tmp_path / name
    path.write_text(path.read_text() + "\n")
    assert_refused(here, tmp_path, ["result"], f"{what} is not what the result was made from")
    path.unlink()
    assert_refused(here, tmp_path, ["result"], f"{what}: no such file here")


@pytest.mark.slow
def test_another_fit_than_the_folder_holds_is_told(here, tmp_path):
    with np.load(tmp_path / "result" / "result.npz") as z:
        arrays = {name: z[name] for name in z.files}
    arrays["edge_probabilities"] = arrays["edge_probabilities"] * 0.5
    np.savez(tmp_path / "result" / "result.npz", **arrays)
    code, _, err = here("check", "result", "--simulations", 2)
    assert code == 0
    assert "note: fitted again, probabilities differ by up to" in err


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_done(here, tmp_path, monkeypatch):
    fits = PartialGGM.fit

    def impatient(model, *arguments, **others):
        impatient.count += 1
        if impatient.count == 5:  # the fit again, and three data sets
            raise KeyboardInterrupt
        return fits(model, *arguments, **others)

    impatient.count = 0
    monkeypatch.setattr(PartialGGM, "fit", impatient)
    code, _, err = here("check", "result", "--simulations", 9)
    assert code == 130
    assert "note: stopped after 3 of 9 simulated data sets" in err
    assert read_result("result").self_check.simulations == 3
    impatient.count = 3
    assert here("check", "result", "--simulations", 9)[0] == 130
