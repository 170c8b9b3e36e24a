"""Experiments: problems that do not move, rows that follow Algorithm 2, figures that are whole."""

import gzip
import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from documents import ROOT
from graphprior.batch.work import Place, journal
from graphprior.errors import GraphPriorError
from graphprior.paper.baselines import langevin
from graphprior.paper.baselines.protocol import Penalty, Setting
from graphprior.paper.baselines.registry import methods, without_data
from graphprior.paper.datasets.registry import families
from graphprior.paper.experiments import units
from graphprior.paper.experiments.figure import draw, styles, table
from graphprior.paper.experiments.folder import save_figure
from graphprior.paper.experiments.published import best, curve, published_methods
from graphprior.paper.experiments.registry import experiment, experiments
from graphprior.paper.experiments.rows import Finished
from graphprior.paper.experiments.run import Comparison, Options, planned
from graphprior.paper.experiments.spec import Budget, Spec, Unknown
from graphprior.paper.experiments.tuning import fit_penalty, fitted, tuning_units, tuning_xs
from graphprior.priors.noise import Schedule
from graphprior.priors.store import load_prior
from graphprior.results.metrics import auc, f1, split_metric

SMALL = Spec(
    name="small",
    title="Small | test",
    dataset="grids",
    unknown=Unknown(share=0.05),
    xs=(0.5, 2.0),
    x_name="k/|U|",
    k_per="unknown pair",
    methods=("Threshold", "WGL"),
    priors={},
    graphs=4,
    splits=3,
    tuning_graphs=1,
)
RESULTS = ROOT / "results"
COMPARISONS = [e for e in experiments().values() if isinstance(e, Comparison)]


def silent(done, total, words):
    pass


@pytest.mark.parametrize("figure", COMPARISONS, ids=lambda e: e.name)
def test_every_figure_names_things_that_exist(figure):
    spec = figure.spec
    assert spec.dataset in families()
    assert set(spec.methods) <= set(methods())
    assert set(spec.budgets) <= set(spec.methods)
    assert all(load_prior(name).card for name in spec.priors.values())
    assert set(published_methods(spec.name)) <= set(spec.methods)
    assert set(best(spec.name)) == set(spec.xs)
    assert Spec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize("figure", experiments().values(), ids=lambda e: e.name)
def test_committed_results_are_of_the_figure_as_it_is_declared(figure):
    kept = json.loads((RESULTS / figure.name / "spec.json").read_text())
    made_of = Spec.from_json(json.dumps(kept["spec"]))
    assert kept["figure"] == figure.name
    assert made_of.identity == figure.spec.identity
    if isinstance(figure, Comparison):  # others do not depend on methods and graphs
        assert made_of == figure.spec


@pytest.mark.parametrize("figure", COMPARISONS, ids=lambda e: e.name)
def test_committed_results_have_every_graph_declared_and_are_what_the_table_shows(figure):
    spec, folder = figure.spec, RESULTS / figure.name
    summary = pd.read_csv(folder / "summary.csv")
    graphs = summary.set_index(["method", "x"])["graphs"]
    for method in spec.methods:
        budget = spec.budgets.get(method, Budget(spec.graphs))
        for x in budget.xs or spec.xs:
            assert graphs[method, x] == budget.graphs, (method, x)
    assert (folder / "table.md").read_text() == table(spec, summary)


def test_every_published_figure_has_an_experiment():
    names = {"grids-10", "grids-20", "ba-10", "egonets-50", "egonets-full", "ergm", "egonets-sweep"}
    assert names | {"lambda-tuning", "illustration"} == set(experiments())


def test_a_problem_depends_on_its_graph_and_x_alone():
    one = SMALL.problem(2.0, SMALL.graph("test", 3), "test", 3)
    SMALL.problem(0.5, SMALL.graph("test", 0), "test", 0)
    again = SMALL.problem(2.0, SMALL.graph("test", 3), "test", 3)
    assert np.array_equal(one.X, again.X)
    assert np.array_equal(one.known, again.known, equal_nan=True)
    other_x = SMALL.problem(0.5, SMALL.graph("test", 3), "test", 3)
    assert np.array_equal(one.known, other_x.known, equal_nan=True)
    more = replace(SMALL, graphs=300)
    assert np.array_equal(more.graph("test", 3), SMALL.graph("test", 3))
    assert not np.array_equal(
        SMALL.graph("train", 3), SMALL.graph("test", 3)
    )  # never judged on what was tuned on


def test_number_of_observations_follows_the_axis():
    known = np.full((5, 5), np.nan)
    np.fill_diagonal(known, 0.0)
    assert SMALL.observations(2.0, known) == 20
    assert replace(SMALL, k_per="node").observations(1.5, known) == 8
    assert replace(SMALL, k_per="x").observations(25, known) == 25
    assert replace(SMALL, k_per="graph", k=100).observations(0.3, known) == 100
    assert SMALL.observations(0.01, known) == 2
    with pytest.raises(GraphPriorError, match="not given"):
        replace(SMALL, k_per="graph").observations(0.3, known)


def test_x_may_be_the_share_unknown():
    spec = replace(SMALL, unknown=Unknown(), k_per="graph", k=10)
    A = spec.graph("test", 0)
    pairs = len(A) * (len(A) - 1) / 2
    for x in (0.1, 0.6, 1.0):
        assert spec.problem(x, A, "test", 0).U.sum() / 2 == int(x * pairs)


def test_a_family_that_is_read_ends_with_its_files(tmp_path, monkeypatch):
    from graphprior.io.graph_sets import write_npz

    folder = tmp_path / "egonets"
    folder.mkdir()
    for part in ("train", "test"):
        write_npz(folder / f"{part}.npz", [np.ones((3, 3)) - np.eye(3)] * 2)
    monkeypatch.setenv("GRAPHPRIOR_DATA", str(tmp_path))
    spec = replace(SMALL, name="own", dataset="egonets")
    assert len(spec.graph("test", 1)) == 3
    with pytest.raises(GraphPriorError, match="has 2 test graphs"):
        spec.graph("test", 2)
    with pytest.raises(GraphPriorError, match="has 2 test graphs, not 101"):
        spec.graph("test", 100)


def test_a_unit_gives_the_same_answer_wherever_it_runs():
    _, text = units.solve_unit(SMALL, "Threshold", 2.0, 1, {})
    one, two = units.solve(text), units.solve(text)
    assert one["scores"] == two["scores"]
    assert one["error"] is None
    assert len(one["truth"]) == len(one["scores"]) == one["unknown"]


def test_a_failure_is_a_row_and_not_the_end():
    spec = replace(SMALL, priors={"evidence": "no such prior"})
    _, text = units.solve_unit(spec, "direct", 2.0, 0, {})
    result = units.solve(text)
    assert result["error"].startswith("GraphPriorError: ")
    _, good = units.solve_unit(spec, "Threshold", 2.0, 0, {})
    results = {"direct | 2 | 0": result, "Threshold | 2 | 0": units.solve(good)}
    finished = Finished(spec, results, ["direct", "Threshold"])
    rows = finished.rows()
    failed = rows[rows["method"] == "direct"]
    assert failed["value"].isna().all()
    assert (failed["error"] == result["error"]).all()
    summary = finished.summary().set_index("method")
    assert summary.loc["direct", "failed"] == 1
    assert summary.loc["Threshold", "failed"] == 0
    assert "direct failed on 1 problems" in table(spec, finished.summary())


def test_a_method_without_data_is_run_once_for_all_x():
    spec = replace(SMALL, methods=("LPr", "Threshold"), priors={"edp-gnn": "grids-edp-gnn"})
    assert "LPr" in without_data()
    keys = [key for key, _ in planned(spec, list(spec.methods), Options(graphs=2), {})]
    assert sorted(keys) == sorted(
        [
            "LPr | * | 0",
            "LPr | * | 1",
            "Threshold | 0.5 | 0",
            "Threshold | 0.5 | 1",
            "Threshold | 2 | 0",
            "Threshold | 2 | 1",
        ]
    )
    moving = replace(spec, unknown=Unknown())
    keys = [key for key, _ in planned(moving, ["LPr"], Options(graphs=1), {})]
    assert keys == ["LPr | 0.5 | 0", "LPr | 2 | 0"]


@pytest.mark.parametrize(("method", "M"), [("LPr", 10), ("LPr(one sample)", 1)])
def test_scores_are_shares_of_as_many_graphs_as_are_drawn(method, M):
    spec = replace(SMALL, T=2, priors={"edp-gnn": "grids-edp-gnn"})
    scores = np.array(units.solve(units.solve_unit(spec, method, 0.5, 0, {})[1])["scores"])
    np.testing.assert_allclose(scores * M, np.round(scores * M), atol=1e-9)
    assert (len(np.unique(scores)) > 2) == (M > 1)


def test_budgets_hold_unless_all_is_asked():
    spec = replace(SMALL, budgets={"WGL": Budget(1, (2.0,))})
    some = [key for key, _ in planned(spec, ["WGL"], Options(), {})]
    assert some == ["WGL | 2 | 0"]
    everything = planned(spec, ["WGL"], Options(full=True), {})
    assert len(everything) == spec.graphs * len(spec.xs)


def made_up(spec, score, rng, methods=("A", "B"), R=30, pairs=40):
    """Results of methods whose scores ``score`` makes from the truth."""
    results = {}
    for m in methods:
        for x in spec.xs:
            for g in range(R):
                truth = (rng.random(pairs) < 0.3).astype(int)
                results[f"{m} | {x:g} | {g}"] = {
                    "k": 5, "unknown": pairs, "error": None, "seconds": 0.1,
                    "truth": "".join(map(str, truth)), "scores": score(truth).tolist(),
                }  # fmt: skip
    return results


@pytest.mark.slow
def test_perfect_scores_give_one_and_noise_gives_chance(rng):
    perfect = Finished(SMALL, made_up(SMALL, lambda a: a * 0.8, rng), ["A", "B"]).summary()
    assert np.allclose(perfect["value"], 1.0)
    assert np.allclose(perfect["auc"], 1.0)
    noise = made_up(SMALL, lambda a: rng.random(len(a)), rng, R=200)
    chance = Finished(SMALL, noise, ["A", "B"]).summary()
    # By chance the best is to call every pair an edge: F1 = 2p / (1 + p), p = 0.3.
    assert np.allclose(chance["value"], 0.6 / 1.3, atol=0.03)
    assert np.allclose(chance["auc"], 0.5, atol=4 / np.sqrt(200 * 12))


def test_summary_is_algorithm_2_and_rows_are_its_graphs(rng):
    results = made_up(SMALL, lambda a: np.clip(a * 0.4 + rng.random(len(a)) * 0.6, 0, 1), rng)
    finished = Finished(SMALL, results, ["A"])
    row = finished.summary().iloc[0]
    at = [results[f"A | 0.5 | {g}"] for g in range(30)]
    truths = [np.array(list(map(float, r["truth"]))) for r in at]
    scores = [np.array(r["scores"]) for r in at]
    splits = split_metric(truths, scores, SMALL.seeds("splits"), f1, S=3)
    assert row["value"] == splits.mean
    assert row["sd"] == splits.values.std()
    rows = finished.rows()
    mine = rows[(rows["x"] == 0.5) & (rows["metric"] == "f1")].set_index("graph")["value"]
    assert np.allclose(mine, splits.by_graph, equal_nan=True)
    areas = rows[(rows["x"] == 0.5) & (rows["metric"] == "auc")].set_index("graph")["value"]
    assert np.allclose(areas, [auc(a, s) for a, s in zip(truths, scores, strict=True)])


def test_honest_probabilities_are_calibrated_and_shifted_ones_are_not(rng):
    def honest(R, shift):
        results = {}
        for g in range(R):
            p = rng.random(50)
            truth = (rng.random(50) < p).astype(int)
            results[f"A | 2 | {g}"] = {
                "error": None, "seconds": 0.0, "truth": "".join(map(str, truth)),
                "scores": np.clip(p + shift, 0, 1).tolist(),
            }  # fmt: skip
        return Finished(SMALL, results, ["A"])

    good, bad = honest(200, 0.0), honest(200, 0.2)
    # Ten bins of a thousand pairs: mean absolute error of a share about sqrt(2/pi) * .4 / 32
    assert good.summary()["calibration_error"].iloc[0] < 0.02
    assert bad.summary()["calibration_error"].iloc[0] > 0.1
    assert good.reliability()["pairs"].sum() == 200 * 50


def test_the_penalty_curve_is_recovered_exactly():
    truth = Penalty(-0.5, 12.0, -4.0)
    k = np.geomspace(10, 500, 8)
    lam = 1 / (truth.a * np.log(k) ** 2 + truth.b * np.log(k) + truth.c)
    found = fit_penalty(k, lam)
    assert np.allclose([found.a, found.b, found.c], [truth.a, truth.b, truth.c], rtol=1e-3)
    assert found(5) == found(10)  # beyond what was tuned it keeps its value
    assert found(10_000) == found(500)


def test_a_penalty_without_value_says_so():
    with pytest.raises(GraphPriorError, match="no value at k = 50"):
        Penalty(0.0, 0.0, -1.0)(50)
    with pytest.raises(GraphPriorError, match="not tuned"):
        Setting().penalty("WGL")
    with pytest.raises(GraphPriorError, match="no prior of kind"):
        Setting().prior("evidence")


def test_tuning_takes_the_best_penalty_of_each_k():
    spec = replace(SMALL, tuning_graphs=3)
    peaks = np.linspace(5, 20, len(tuning_xs(spec))).astype(int)
    results = {}
    for x, peak in zip(tuning_xs(SMALL), peaks, strict=True):
        for g in range(3):
            heights = -np.abs(np.arange(len(units.LAMBDAS)) - peak) / 50 + 0.9
            key = units.tune_unit(SMALL, "WGL", x, g)[0]
            results[key] = {"k": int(100 * x), "values": heights.tolist()}
    tuned = fitted(spec, "WGL", results)
    assert np.allclose(tuned.best, np.array(units.LAMBDAS)[peaks])
    assert len(tuning_units(spec, "WGL")) == 3 * len(peaks)


def run(out, **options):
    return Comparison(SMALL).run(out, Options(graphs=3, **options), silent)


def rows_of(out):
    table = pd.read_csv(out / "rows.csv.gz").drop(columns="seconds")
    return table.sort_values(list(table.columns[:6])).to_csv(index=False)


@pytest.mark.slow
def test_a_run_leaves_everything_behind_and_joins_what_is_added(tmp_path):
    run(tmp_path / "one", methods=("Threshold",))
    words = run(tmp_path / "one", methods=("WGL",))
    run(tmp_path / "both")
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "both")
    assert {"Threshold", "WGL"} == set(pd.read_csv(tmp_path / "one" / "rows.csv.gz")["method"])
    assert "| Threshold | 3 |" in words
    found = {path.name for path in (tmp_path / "one").iterdir()}
    assert found == {
        "rows.csv.gz", "summary.csv", "reliability.csv", "figure.png", "table.md", "spec.json",
        "run.json", "penalties.json", "units.jsonl", "log.txt",
    }  # fmt: skip
    runs = json.loads((tmp_path / "one" / "run.json").read_text())["runs"]
    assert [r["methods"] for r in runs] == [["Threshold"], ["WGL"]]
    assert all(r["versions"]["numpy"] == np.__version__ for r in runs)


def test_a_run_that_is_refused_is_not_told_of(tmp_path):
    run(tmp_path, methods=("Threshold",))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with journal(tmp_path / "units.jsonl"), pytest.raises(GraphPriorError, match="another run"):
        run(tmp_path, methods=("WGL",))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def checked_out(run_folder):
    """The folder as a fresh checkout has it."""
    (run_folder / "units.jsonl").unlink()
    (run_folder / "log.txt").unlink()


def test_results_without_units_are_replaced_only_when_told(tmp_path):
    out = tmp_path / "out"
    run(out, methods=("Threshold",))
    before = rows_of(out)
    checked_out(out)
    with pytest.raises(GraphPriorError, match=r"results of Threshold to which.*replace=True"):
        run(out, methods=("Threshold", "TIGER"))
    assert rows_of(out) == before
    run(out, methods=("Threshold",), replace=True)
    assert rows_of(out) == before
    assert len(json.loads((out / "run.json").read_text())["runs"]) == 1


@pytest.mark.slow
def test_methods_that_are_not_run_keep_the_results_of_a_checkout(tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "out"
    run(whole)
    for method in ("WGL", "Threshold"):
        run(out, methods=(method,))
        checked_out(out)
    for name in ("rows.csv.gz", "summary.csv"):
        one, two = (pd.read_csv(f / name).drop(columns="seconds") for f in (whole, out))
        pd.testing.assert_frame_equal(one, two)
    assert (whole / "reliability.csv").read_bytes() == (out / "reliability.csv").read_bytes()
    assert "| Threshold | 3 |" in (out / "table.md").read_text()
    with pytest.raises(GraphPriorError, match="other problems"):  # they are not for others to join
        Comparison(replace(SMALL, seed=1)).run(
            out, Options(graphs=2, methods=("WGL",), replace=True), silent
        )


@pytest.mark.slow
def test_a_checkout_of_a_slow_method_takes_more_graphs(tmp_path):
    figure = Comparison(replace(SMALL, budgets={"Threshold": Budget(4)}))
    whole, out = tmp_path / "whole", tmp_path / "out"
    figure.run(whole, Options(), silent)
    figure.run(out, Options(graphs=2), silent)
    checked_out(out)
    figure.run(out, Options(methods=("Threshold",)), silent)
    new = {json.loads(line)["key"] for line in (out / "units.jsonl").read_text().splitlines()}
    assert new == {f"Threshold | {x} | {g}" for x in ("0.5", "2") for g in (2, 3)}
    units_of = {
        f: [
            json.loads(line)
            for line in gzip.decompress((f / "slow.jsonl.gz").read_bytes()).splitlines()
        ]
        for f in (whole, out)
    }
    for entry in (*units_of[whole], *units_of[out]):
        entry["result"].pop("seconds")
    assert units_of[whole] == units_of[out]
    slow = [rows[rows["method"] == "Threshold"].drop(columns="seconds").reset_index(drop=True)
            for rows in (pd.read_csv(f / "rows.csv.gz") for f in (whole, out))]  # fmt: skip
    pd.testing.assert_frame_equal(*slow)
    assert pd.read_csv(out / "rows.csv.gz").groupby("method")["graph"].nunique()["WGL"] == 2


def value_of(out, method):
    summary = pd.read_csv(out / "summary.csv").set_index("method")
    return summary.loc[[method], "auc"].tolist()


WITH_PRIOR = Comparison(replace(SMALL, xs=(2.0,), priors={"evidence": "grids"}))


@pytest.mark.slow
def test_another_prior_of_the_same_name_is_not_joined(tmp_path, monkeypatch):
    out = tmp_path / "out"
    WITH_PRIOR.run(out, Options(graphs=2, methods=("Threshold", "direct")), silent)
    monkeypatch.setattr("graphprior.paper.experiments.methods.file_hash", lambda path: "another")
    with pytest.raises(GraphPriorError, match=r"results of direct to which.*another prior"):
        WITH_PRIOR.run(out, Options(graphs=3, methods=("Threshold", "direct")), silent)
    WITH_PRIOR.run(out, Options(graphs=3, methods=("Threshold",)), silent)  # it takes no prior
    counts = pd.read_csv(out / "rows.csv.gz").groupby("method")["graph"].nunique()
    assert counts.to_dict() == {"Threshold": 3, "direct": 2}
    WITH_PRIOR.run(out, Options(graphs=3, methods=("direct",), replace=True), silent)
    keys = [json.loads(line)["key"] for line in (out / "units.jsonl").read_text().splitlines()]
    assert keys.count("direct | 2 | 0") == 2  # once with each prior


SLOW_LL = Comparison(replace(SMALL, T=2, budgets={"LL": Budget(4)}))


def other_schedule(monkeypatch):
    monkeypatch.setattr(langevin, "papers", lambda T: Schedule.linear(T=T, epsilon=1e-3))
    units._method.cache_clear()


@pytest.mark.slow
def test_a_method_that_changed_under_its_name_is_not_joined(tmp_path, monkeypatch):
    out = tmp_path / "out"

    def run_only(method, **options):
        SLOW_LL.run(out, Options(graphs=2, methods=(method,), **options), silent)

    run_only("LL")
    before = rows_of(out), value_of(out, "LL")
    run_only("LL")  # made anew, it is described by the same words
    assert (rows_of(out), value_of(out, "LL")) == before
    other_schedule(monkeypatch)
    with pytest.raises(GraphPriorError, match="results of LL to which"):
        run_only("LL")
    run_only("Threshold")  # others go on, and its results stay
    assert value_of(out, "LL") == before[1]
    old = (out / "slow.jsonl.gz").read_bytes()
    run_only("LL", replace=True)
    assert value_of(out, "LL") != before[1]
    new = (out / "slow.jsonl.gz").read_bytes()
    assert new != old
    assert len(gzip.decompress(new).splitlines()) == len(gzip.decompress(old).splitlines())


@pytest.mark.slow
def test_an_old_journal_does_not_join_newer_results(tmp_path, monkeypatch):
    """Results come with a checkout, the journal beside them was made here before."""
    here, theirs = tmp_path / "here", tmp_path / "theirs"
    SLOW_LL.run(here, Options(graphs=2, methods=("LL",)), silent)
    other_schedule(monkeypatch)
    SLOW_LL.run(theirs, Options(graphs=2, methods=("LL",)), silent)
    journal = (here / "units.jsonl").read_bytes()
    shutil.rmtree(here)
    shutil.copytree(theirs, here)
    (here / "units.jsonl").write_bytes(journal)
    SLOW_LL.run(here, Options(graphs=2, methods=("LL", "Threshold")), silent)
    assert value_of(here, "LL") == value_of(theirs, "LL")
    assert (here / "slow.jsonl.gz").read_bytes() == (theirs / "slow.jsonl.gz").read_bytes()


@pytest.mark.slow
def test_rows_wait_until_all_their_units_are_there_again(tmp_path):
    out = tmp_path / "out"
    run(out, methods=("Threshold",))
    before = rows_of(out)
    first = (out / "units.jsonl").read_bytes().splitlines(keepends=True)[0]
    (out / "units.jsonl").write_bytes(first)  # as a run that replaces them leaves it when killed
    run(out, methods=("TIGER",))
    rows = pd.read_csv(out / "rows.csv.gz")
    assert rows[rows["method"] == "Threshold"].shape[0] == len(before.splitlines()) - 1
    run(out, methods=("Threshold",))
    whole = tmp_path / "whole"
    run(whole, methods=("Threshold", "TIGER"))
    assert rows_of(out) == rows_of(whole)


@pytest.mark.slow
def test_units_of_a_method_that_is_no_longer_slow_are_not_thrown_away(tmp_path):
    out = tmp_path / "out"
    SLOW_LL.run(out, Options(graphs=2, methods=("LL",)), silent)
    checked_out(out)
    kept = (out / "slow.jsonl.gz").read_bytes()
    fast = Comparison(replace(SLOW_LL.spec, budgets={}))
    fast.run(out, Options(graphs=2, methods=("LL", "Threshold")), silent)
    assert (out / "slow.jsonl.gz").read_bytes() == kept


def test_failures_are_tried_again_and_missing_priors_are_skipped(tmp_path, monkeypatch):
    out = tmp_path / "out"
    words = run(out, methods=("Threshold", "direct"))
    assert "direct skipped: this figure has no prior of kind 'evidence'" in words
    lines = (out / "units.jsonl").read_text().splitlines()
    broken = json.loads(lines[0])
    broken["result"] = {"error": "TimeoutError: ", "seconds": 1.0, "k": 2, "unknown": 3}
    (out / "units.jsonl").write_text("\n".join([*lines[1:], json.dumps(broken)]) + "\n")
    before = rows_of(out)
    run(out, methods=("Threshold",))
    assert rows_of(out) == before
    assert pd.read_csv(out / "rows.csv.gz")["error"].isna().all()


@pytest.mark.parametrize("bad", [[0.5], [np.nan] * 3, [1.5, 0.0, 0.0], [-0.1, 0.0, 0.0]])
def test_scores_that_are_none_are_refused(bad):
    with pytest.raises(GraphPriorError, match="3 numbers from 0 to 1"):
        units.check_scores(np.array(bad), 3)


def test_tuning_is_by_the_figures_own_metric():
    """Calling every pair an edge is worth its rate in accuracy, and more than that in F1."""
    first = {}
    for metric in ("f1", "accuracy"):
        spec = replace(SMALL, metric=metric)
        result = units.tune(units.tune_unit(spec, "WGL", 0.5, 0)[1])
        first[metric] = result["values"][-1]  # the largest penalty keeps next to nothing
    assert first["f1"] < 0.2
    assert first["accuracy"] > 0.8


def test_tuning_never_looks_at_test_graphs(monkeypatch):
    parts = []
    original = Spec.graph

    def watched(self, part, g):
        parts.append(part)
        return original(self, part, g)

    monkeypatch.setattr(Spec, "graph", watched)
    units.tune(units.tune_unit(SMALL, "WGL", 0.5, 0)[1])
    assert parts == ["train"]


def test_more_graphs_than_there_are_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(
        Spec, "graph", lambda self, part, g: pytest.fail("early") if g < 8 else boom()
    )

    def boom():
        raise GraphPriorError("has 8 test graphs")

    with pytest.raises(GraphPriorError, match="has 8 test graphs"):
        Comparison(SMALL).run(tmp_path / "out", Options(graphs=9), silent)


def test_a_kill_in_the_first_write_does_not_lock_the_folder(tmp_path):
    (tmp_path / ".spec.json.tmp").write_text("{")
    Comparison(SMALL).run(tmp_path, Options(methods=("Threshold",), graphs=2), silent)
    assert (tmp_path / "rows.csv.gz").exists()
    assert not (tmp_path / ".spec.json.tmp").exists()


def test_other_problems_in_the_same_folder_are_refused(tmp_path):
    run(tmp_path / "out", methods=("Threshold",))
    with pytest.raises(GraphPriorError, match="other problems"):
        Comparison(replace(SMALL, seed=1)).run(tmp_path / "out", Options(graphs=2), silent)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(GraphPriorError, match="not empty"):
        run(tmp_path / "full", methods=("Threshold",))


def test_wrong_wishes_are_refused(tmp_path):
    with pytest.raises(GraphPriorError, match="no method is called 'lasso'"):
        run(tmp_path / "out", methods=("lasso",))
    with pytest.raises(GraphPriorError, match="names none: expected some of Threshold, WGL"):
        run(tmp_path / "out", methods=())
    with pytest.raises(GraphPriorError, match="at least 2"):
        Comparison(SMALL).run(tmp_path / "out", Options(graphs=1), silent)
    with pytest.raises(GraphPriorError, match="graphs=0: at least 2"):
        Comparison(SMALL).run(tmp_path / "out", Options(graphs=0), silent)
    with pytest.raises(GraphPriorError, match="no experiment is called 'grid'"):
        experiment("grid")
    with pytest.raises(GraphPriorError, match="neither methods="):
        experiment("lambda-tuning").run(tmp_path / "out", Options(graphs=5), silent)
    assert not (tmp_path / "out").exists()


def test_jobs_change_nothing_but_the_time(tmp_path):
    run(tmp_path / "serial", methods=("Threshold",))
    run(tmp_path / "parallel", methods=("Threshold",), place=Place(jobs=2))
    assert rows_of(tmp_path / "serial") == rows_of(tmp_path / "parallel")


def test_the_table_escapes_bars_and_shows_what_was_published(rng):
    spec = replace(SMALL, name="ergm", xs=(25.0, 100.0))
    results = made_up(spec, lambda a: a * 0.9, rng, ["LPost(|A|=1000)"], R=4)
    words = table(spec, Finished(spec, results, ["LPost(|A|=1000)"]).summary())
    assert "| LPost(\\|A\\|=1000) | 4 | 1.000 ± 0.000 (0.679)" in words
    assert "| TIGER | not run | - (0.526)" in words
    assert curve("ergm", "TIGER")[25.0] == 0.526


def test_one_sample_stands_next_to_what_is_published_as_the_prior(rng):
    spec = replace(SMALL, name="grids-10", xs=(0.15, 0.35, 0.85, 2.0))
    results = made_up(spec, lambda a: a * 0.9, rng, ["mine"], R=4)
    summary = Finished(spec, results, ["mine"]).summary().assign(method="LPr(one sample)")
    assert "| LPr(one sample) | 4 | 1.000 ± 0.000 (0.288)" in table(spec, summary)
    _, right = draw(spec, summary).axes
    shown = [t.get_text() for t in right.get_legend().get_texts()]
    assert sorted(shown) == published_methods("grids-10")


@pytest.mark.parametrize("figure", COMPARISONS, ids=lambda e: e.name)
def test_methods_of_a_figure_can_be_told_apart(figure):
    spec = figure.spec
    names = list(dict.fromkeys([*spec.methods, *published_methods(spec.name)]))
    drawn = {(s["color"], s["linestyle"]) for s in styles(names).values()}
    assert len(drawn) == len(names)


def test_the_figure_draws_every_method_that_was_run_or_published(rng):
    spec = replace(SMALL, name="grids-10", xs=(0.15, 0.35, 0.85, 2.0))
    results = made_up(spec, lambda a: a * 0.9, rng, ["LPost", "mine"], R=4)
    left, right = draw(spec, Finished(spec, results, ["LPost", "mine"]).summary()).axes
    assert [t.get_text() for t in left.get_legend().get_texts()] == ["LPost", "mine"]
    shown = {t.get_text() for t in right.get_legend().get_texts()}
    assert shown == set(published_methods("grids-10"))


def test_a_saved_picture_is_lighter_and_looks_the_same(tmp_path, rng):
    spec = replace(SMALL, name="grids-10", xs=(0.15, 0.35, 0.85, 2.0))
    results = made_up(spec, lambda a: a * 0.9, rng, ["LPost", "mine"], R=4)
    figure = draw(spec, Finished(spec, results, ["LPost", "mine"]).summary())
    figure.savefig(tmp_path / "full.png", dpi=110)
    save_figure(tmp_path / "few.png", figure)
    full, few = (Image.open(tmp_path / f"{name}.png").convert("RGB") for name in ("full", "few"))
    assert np.abs(np.asarray(full, float) - np.asarray(few, float)).max(2).mean() < 1
    assert 2 * (tmp_path / "few.png").stat().st_size < (tmp_path / "full.png").stat().st_size


def test_committed_results_are_light():
    """What a run leaves behind on this machine alone does not count."""
    ours = {"units.jsonl", "log.txt"}
    sizes = [p.stat().st_size for p in RESULTS.rglob("*") if p.is_file() and p.name not in ours]
    assert sum(sizes) < 3e6
