"""The report without a browser: what the page holds, says and refuses."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from graphprior import PartialGGM
from graphprior.cli.main import app
from graphprior.engines.gibbs import Gibbs
from graphprior.engines.posterior import Reasons
from graphprior.errors import GraphPriorError, notes
from graphprior.gaussian.linalg import partial_correlations
from graphprior.graphs.layout import matrix_order, places
from graphprior.report.card import result_card
from graphprior.report.charts import matrix_chart
from graphprior.report.page import report_page, write_report
from graphprior.report.payload import embedded, packed, payload
from graphprior.report.trust import checks, correlation_error, expected_errors
from graphprior.results.folder import edges_csv, read_result, write_result
from graphprior.results.result import Result
from oracles import random_graph, random_precision, random_problem, relabel
from simulated import simulated_result

HOSTILE = ["<script>alert(1)</script>", "</script><b>", '"quoted"', "$$x^2$$", "a,b\nc", "🧬 & co"]


@pytest.fixture(scope="module")
def model():
    _, problem = random_problem(np.random.default_rng(3), n=6, k=60)
    X = pd.DataFrame(problem.X, columns=HOSTILE)
    return PartialGGM(None, engine=Gibbs(draws=7), random_state=0).fit(X, known=problem.known)


class Page(HTMLParser):
    """Elements of a page, in order, and the text of those that hold scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, text):
        inside = self.elements[-1] if self.elements else ("", {})
        (self.scripts if inside[0] == "script" else self.words).append((inside, text))


def page_data(text):
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found)


def unpacked(text):
    return gzip.decompress(base64.b64decode(text))


def test_the_page_asks_for_nothing_outside_itself(model):
    page = Page(report_page(Result.of(model)))
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]


def test_the_policy_allows_exactly_the_scripts_of_the_page(model):
    page = Page(report_page(Result.of(model)))
    (policy,) = (a["content"] for _, a in page.elements if "http-equiv" in a)
    run = {text for (_, a), text in page.scripts if "type" not in a and text.strip()}
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes
    assert len(hashes) == 2
    assert "default-src 'none'" in policy
    assert "unsafe" not in re.search(r"script-src [^;]*", policy)[0]


def test_names_of_users_are_never_markup(model):
    text = report_page(Result.of(model), [("<i>title</i>", pd.DataFrame({"<u>": ["<s>"]}))])
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"u", "s"}
    assert "&lt;i&gt;title&lt;/i&gt;" in text
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 3
    assert page_data(text)["names"] == HOSTILE
    assert "<script>alert" not in text


@pytest.mark.slow
@given(
    st.recursive(st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_embedded_json_reads_back_and_ends_no_element(value):
    text = embedded(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&")
    assert text.isascii()


def test_embedded_json_refuses_what_is_not_json():
    with pytest.raises(ValueError):
        embedded({"p": float("nan")})


@given(st.binary())
def test_packing_loses_nothing_and_is_the_same_each_time(content):
    assert unpacked(packed(content)) == content
    assert packed(content) == packed(content)


def test_the_page_holds_edges_csv_and_the_exact_probabilities(tmp_path, model):
    result = Result.of(model)
    write_result(tmp_path, result)
    held = payload(result)
    assert unpacked(held["csv"]) == (tmp_path / "edges.csv").read_bytes()
    exact = np.frombuffer(unpacked(held["probabilities"]), "<f8")
    assert np.array_equal(exact, result.edge_table()["probability"])


def test_every_kind_of_reason_is_shown_and_beliefs_where_there_are_some(model):
    plain = Result.of(model)
    assert [column for column, _ in payload(plain)["parts"]] == [
        f"{name}_log_odds" for name in Reasons._fields if name != "belief"
    ]
    result = replace(plain, reasons=plain.reasons._replace(belief=np.where(plain.U, 1.0, 0.0)))
    columns = edges_csv(result.edge_table()).splitlines()[0].split(",")
    assert [column for column, _ in payload(result)["parts"]] == [
        column for column in columns if column.endswith("_log_odds")
    ]
    assert len(payload(result)["parts"]) == len(Reasons._fields)
    assert payload(replace(result, reasons=None))["parts"] == []


def test_the_same_result_is_the_same_page_even_when_read_back(tmp_path, model):
    result = Result.of(model, {"command": "estimate"})
    write_result(tmp_path, result)
    assert report_page(result) == report_page(read_result(tmp_path))


def test_numbering_models_leaves_names_alone():
    """A variable may be called like one of Bokeh's models."""
    names = tuple(f"p{i}" for i in range(1001, 1041))
    text = json.dumps(matrix_chart(names, list(range(40))))
    assert all(f'"text": "{name}"' in text for name in names)


def test_a_page_of_100_is_small():
    assert len(report_page(simulated_result(100)).encode()) < 5e6


def test_places_depend_on_the_graph_alone_and_fill_the_drawing(rng):
    for n, density in ((2, 0.0), (2, 1.0), (9, 0.2), (30, 0.05), (70, 0.1)):
        A = random_graph(rng, n, density)
        xy = places(A)
        assert np.array_equal(xy, places(A.copy()))
        assert xy.shape == (n, 2)
        assert (xy >= 0).all() and (xy <= 1).all()  # noqa: PT018
        gaps = np.abs(xy[:, None] - xy[None]).max(-1) + np.eye(n)
        assert gaps.min() > 1e-3


def test_connected_parts_do_not_mix():
    A = nx.to_numpy_array(nx.disjoint_union_all([nx.cycle_graph(6), nx.path_graph(4)]))
    xy = places(A)
    assert xy[:6, 0].max() < xy[6:, 0].min() or xy[:6, 1].min() > xy[6:, 1].max()


def test_the_order_of_the_matrix_gathers_communities(rng):
    blocks = np.kron(np.eye(4), np.ones((5, 5))) * 0.8 + 0.05
    mixed = rng.permutation(20)
    P = relabel(blocks, mixed)
    order = matrix_order(P)
    assert sorted(order) == list(range(20))
    communities = mixed[order] // 5
    assert (np.diff(communities) != 0).sum() == 3


def test_expected_errors_are_those_of_the_probabilities(model):
    result = Result.of(model)
    table = result.edge_table()
    unknown = table[table["known"] == 0]
    found = unknown[unknown["probability"] >= result.threshold]["probability"]
    rest = unknown[unknown["probability"] < result.threshold]["probability"]
    count, false, missed = expected_errors(result)
    assert count == len(found)
    assert false == pytest.approx((1 - found).sum())
    assert missed == pytest.approx(rest.sum())


def level(result, title):
    return {check.title: check.level for check in checks(result)}[title]


ORDER = {"columns": ["g000", "g001"], "neighbours": 0.5, "inflation": 2.0}
GAIN = {"pairs": 50, "known": True, "rate": 0.2, "temperature": 1.0}


@pytest.mark.parametrize(("bits", "expected"), [(0.5, "good"), (0.1, "weak"), (-0.3, "weak")])
def test_a_gain_within_its_error_is_called_weak(bits, expected):
    gain = {**GAIN, "bits": bits, "standard_error": 0.1}
    result = simulated_result(8, prior_gain=gain)
    assert level(result, "Fit of the prior") == expected
    (check,) = (c for c in checks(result) if c.title == "Fit of the prior")
    assert f"{bits:.3f} ± 0.100" in check.words


@pytest.mark.parametrize(
    ("facts", "title", "expected"),
    [
        ({"k": 8}, "Observations", "weak"),
        ({"k": 80}, "Observations", "good"),
        ({"precision_shrinkage": 0.2}, "Partial correlations", "weak"),
        ({}, "Partial correlations", "good"),
        ({"least_k": 15.0}, "Partial correlations", "note"),
        ({"least_k": 6.5}, "Partial correlations", "weak"),
        ({"least_k": 2.5}, "Partial correlations", "weak"),
        ({"row_order": None, "time_series": False}, "Partial correlations", "good"),
        ({"row_order": ORDER, "time_series": False}, "Partial correlations", "weak"),
        (
            {"row_order": ORDER, "time_series": True, "effective_k": 32.0},
            "Partial correlations",
            "good",
        ),
        ({"draws": 5, "r_hat": 1.3, "ess": 400.0}, "Draws", "weak"),
        ({"draws": 5, "r_hat": 1.0, "ess": 40.0}, "Draws", "weak"),
        ({"draws": 5, "r_hat": 1.0, "ess": 400.0}, "Draws", "good"),
        ({"draws": 5}, "Draws", "weak"),
        ({}, "Draws", "note"),
        ({"mle_exists": False, "shrinkage": 0.3}, "Likelihood", "weak"),
    ],
)
def test_weak_ground_is_called_weak(facts, title, expected):
    assert level(simulated_result(8, **facts), title) == expected


def told_and_off(rng, A, k, pairs, hide=None):
    """Squares of the error told and of that of some pairs, in 40 fits to a known graph."""
    told, off = [], []
    for _ in range(40):
        Theta_0 = random_precision(rng, A)
        X = rng.multivariate_normal(np.zeros(len(A)), np.linalg.inv(Theta_0), k)
        if hide is not None:
            X[hide] = np.nan
        with notes():  # that nothing is unknown
            model = PartialGGM(prior=None, missing="em").fit(X, known=A)
        error = Result.of(model).partial_correlations - partial_correlations(Theta_0)
        told.append(correlation_error(Result.of(model)) ** 2)
        off.append(np.mean(error[pairs] ** 2))
    return np.array(told), np.array(off)


@pytest.mark.parametrize(("density", "k", "least"), [(1.0, 14, 0.7), (0.2, 40, 0.5)])
def test_partial_correlations_are_as_far_off_as_is_told(rng, density, k, least):
    """Few edges make the bound a loose one."""
    A = random_graph(rng, 8, density)
    told, off = told_and_off(rng, A, k, A == 1)
    ratio = off / told.mean()
    spread = ratio.std() / np.sqrt(len(ratio))
    assert least**2 < ratio.mean() < 1 + 3 * spread


def test_the_error_told_holds_for_the_pair_that_is_seen_least(rng):
    A, hide = 1 - np.eye(5), np.zeros((200, 5), dtype=bool)
    hide[:95, 0] = hide[105:, 1] = True  # seen together in ten rows
    pair = np.zeros((5, 5), dtype=bool)
    pair[0, 1] = True
    told, off = told_and_off(rng, A, 200, pair, hide)
    ratio = off / told.mean()
    assert ratio.mean() < 1 + 3 * ratio.std() / np.sqrt(len(ratio))
    everywhere, _ = told_and_off(rng, A, 200, pair)
    assert told.mean() > 2 * everywhere.mean()


def test_a_graph_without_edges_has_no_values_to_doubt():
    result = simulated_result(8)
    empty = replace(result, adjacency=np.zeros((8, 8)))
    (check,) = (c for c in checks(empty) if c.title == "Partial correlations")
    assert check.level == "note"
    assert "all of them are zero" in check.words


def test_one_pass_says_that_it_draws_nothing():
    assert "draws no graphs" in report_page(simulated_result(8))


def test_notes_stand_first_and_whole():
    result = replace(simulated_result(8), notes=("the <data> hardly tell pairs apart",))
    first = checks(result)[0]
    assert (first.level, first.words) == ("weak", "The <data> hardly tell pairs apart.")
    assert "The &lt;data&gt; hardly tell pairs apart." in report_page(result)


def test_a_size_that_the_prior_never_saw_is_weak():
    _, problem = random_problem(np.random.default_rng(3), n=6, k=60)
    with notes():
        model = PartialGGM("egonets", random_state=0).fit(problem.X, known=problem.known)
    result = Result.of(model)
    assert level(result, "Where the prior comes from") == "weak"
    sizes = {**result.card["graphs"], "sizes": {"5": 1, "9": 1}}
    seen = replace(result, card={**result.card, "graphs": sizes})
    assert level(seen, "Where the prior comes from") == "note"
    assert "egonets" in report_page(result)


@pytest.mark.parametrize(
    "card",
    [
        {"graphs": {"sizes": {"4": 1, "9": 3}}},
        {"graphs": "many", "validation": [1], "kind": 3, "name": None},
        {"graphs": {"sizes": ["small"]}, "validation": {"best": {"loss": "low"}}},
        {"graphs": {"sizes": 20}},
        {"graphs": {"sizes": {"²": 1}}},
        {"anything": "<hurt>"},
    ],
)
def test_a_card_that_lacks_parts_is_told_as_such(card):
    result = replace(simulated_result(8), card=card)
    (check,) = (c for c in checks(result) if c.title == "Where the prior comes from")
    assert "does not tell" in check.words
    assert check.level == ("note" if "4" in str(card) else "weak")
    assert "<hurt>" not in report_page(result)


def test_answers_are_shown_as_tables(model):
    tables = [("Degree of Ada", pd.DataFrame({"low": [1.23456], "words": ["many"]}))]
    page = report_page(Result.of(model), tables)
    assert "Degree of Ada" in page
    assert "<td>1.23</td><td>many</td>" in page
    assert 'id="answers"' not in report_page(Result.of(model))


def test_how_it_was_made_tells_seed_versions_and_paper(model):
    run = {"arguments": {"random_state": 4711}, "versions": {"graphprior": "9.9", "torch": "8.8"}}
    page = report_page(replace(Result.of(model), run=run))
    for words in ("4711", "8.8", "version 9.9", "Sevilla", "AISTATS 2024"):
        assert words in page


@pytest.mark.parametrize("n", [2, 3])
def test_the_smallest_graphs_have_a_page(n):
    assert "<!DOCTYPE html>" in report_page(simulated_result(n, share=1.0))


def test_a_model_and_its_result_write_the_same_page(tmp_path, model):
    assert model.report(tmp_path / "a.html") == tmp_path / "a.html"
    write_report(Result.of(model), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_folder_is_no_place_for_a_page(tmp_path, model):
    with pytest.raises(GraphPriorError, match="is a folder"):
        model.report(tmp_path)


def test_a_report_replaces_a_report_and_nothing_else(tmp_path, model):
    page = model.report(tmp_path / "a.html")
    first = page.read_bytes()
    page.write_bytes(first + b"<!-- old -->")
    assert model.report(page).read_bytes() == first
    page.write_text("<title>my thesis</title>")
    with pytest.raises(GraphPriorError, match="no report"):
        model.report(page)
    assert page.read_text() == "<title>my thesis</title>"


def test_an_unfitted_model_has_no_report(tmp_path):
    with pytest.raises(sklearn.exceptions.NotFittedError):
        PartialGGM(None).report(tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_writes_into_the_folder_or_where_it_is_told(tmp_path, model):
    (folder := tmp_path / "result").mkdir()
    write_result(folder, Result.of(model))
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    other = tmp_path / "new" / "page.html"
    assert CliRunner().invoke(app, ["report", str(folder), "--out", str(other)]).exit_code == 0
    assert other.read_bytes() == (folder / "report.html").read_bytes()


def test_the_command_refuses_what_is_no_result_and_no_page(tmp_path, model):
    refused = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert isinstance(refused.exception, GraphPriorError)
    write_result(tmp_path, Result.of(model))
    before = sorted(tmp_path.iterdir())
    refused = CliRunner().invoke(
        app, ["report", str(tmp_path), "--out", str(tmp_path / "edges.csv")]
    )
    assert "ends in .html" in str(refused.exception)
    assert sorted(tmp_path.iterdir()) == before


def test_a_notebook_shows_the_result_once_fitted(model):
    shown = model._repr_mimebundle_()
    assert shown["text/html"] == model._repr_html_() == result_card(Result.of(model))
    tags = [tag for tag, _ in Page(shown["text/html"]).elements]
    assert tags.count("line") == model.adjacency_.sum() // 2
    assert tags.count("circle") == 6
    assert "script" not in tags
    assert "b" not in tags
    likeliest = Result.of(model).edge_table().query("known == 0")["probability"].head(3)
    assert all(f"{p:.3f}" in shown["text/html"] for p in likeliest)


def test_an_unfitted_estimator_keeps_scikit_learns_diagram():
    assert "sk-" in PartialGGM(None)._repr_html_()
    assert "sk-" in PartialGGM(None)._repr_mimebundle_()["text/html"]


def test_text_display_is_respected(model):
    with sklearn.config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(model, "_repr_html_")
