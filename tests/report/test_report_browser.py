"""The report as its reader has it: a real browser, no network, mouse or keyboard alone."""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

from graphprior.report.page import write_report
from graphprior.results.folder import write_result
from simulated import simulated_result

pytestmark = pytest.mark.slow

HOSTILE = [
    "<script>window.hurt=1</script>",
    "</script><img src=x onerror=window.hurt=1>",
    "\"quoted\" 'name'",
    "$$\\frac{1}{2}$$",
    "a,b\nc",
    "🧬 & co",
    "&lt;b&gt;",
    "x" * 80,
]
DOCS = os.environ.get("GRAPHPRIOR_SCREENSHOTS")
LARGEST = 400_000  # bytes of a picture in the docs


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("no chromium on the PATH: `make browser` installs it where apt-get is there")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


def opened(browser, folder, result, width=1280, **options):
    """A page with its report open; what it logged and asked for is kept on it."""
    path = write_report(result, folder / "report.html", **options)
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.complaints, page.asked = [], []
    page.on("console", lambda m: page.complaints.append(m.text) if m.type != "log" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    return page


@pytest.fixture(scope="module")
def result():
    return simulated_result(20, seed=1, draws=40)


@pytest.fixture(scope="module")
def shared(browser, tmp_path_factory, result):
    """One page for all tests that can share it; it must never complain, nor ask for anything."""
    page = opened(browser, tmp_path_factory.mktemp("report"), result)
    yield page
    assert page.complaints == []
    assert [url for url in page.asked if not url.startswith("blob:")] == [page.url.split("#")[0]]


@pytest.fixture
def page(shared):
    shared.reload()
    shared.wait_for_selector("body[data-ready]")
    shared.asked[:] = shared.asked[:1]
    return shared


def drawn(page, name="found-edges"):
    """Rows of the table whose edges the drawing holds."""
    return page.evaluate(
        "name => Bokeh.documents.map(d => d.get_model_by_name(name)).find(m => m).data.pair", name
    )


def on_screen(page, x, y, chart="graph"):
    """Where a point of a drawing is in the window."""
    return page.evaluate(
        """([x, y, chart]) => {
          const view = [...Bokeh.index.roots].find(v => v.model.name === chart);
          const box = view.el.getBoundingClientRect();
          const frame = view.frame;
          return [box.x + frame.x_scale.compute(x), box.y + frame.y_scale.compute(y)];
        }""",
        [x, y, chart],
    )


def middle(page, row):
    ends = page.evaluate(
        """row => {
          for (const name of ["found-edges", "known-edges"]) {
            const { data } = Bokeh.documents.map(d => d.get_model_by_name(name)).find(m => m);
            const at = data.pair.indexOf(row);
            if (at >= 0) return ["x0", "x1", "y0", "y1"].map(c => data[c][at]);
          }
        }""",
        row,
    )
    # Off the middle, where another edge is less likely to cross.
    return on_screen(page, 0.6 * ends[0] + 0.4 * ends[1], 0.6 * ends[2] + 0.4 * ends[3])


def slide(page, value):
    page.locator("#threshold").fill(str(value))


def number(page, element):
    return float(page.inner_text(f"#{element}").replace(",", ""))


def named(table, row):
    return f"{table['source'][row]} – {table['target'][row]}"


@pytest.mark.parametrize("t", [None, 0.01, 0.25, 0.7, 0.95, 1.0])
def test_the_threshold_draws_and_counts_as_python_does(page, result, t):
    if t is not None:
        slide(page, t)
    table = result.edge_table()
    unknown = table[table["known"] == 0]["probability"]
    found = unknown[unknown >= (result.threshold if t is None else t)]
    assert len(drawn(page)) == number(page, "found-count") == len(found)
    assert page.inner_text("#false-count") == f"{(1 - found).sum():.2f}"
    assert page.inner_text("#missed-count") == f"{unknown.drop(found.index).sum():.2f}"
    assert len(drawn(page, "known-edges")) == (table["known"] * table["edge"]).sum()
    assert sorted(drawn(page)) == list(found.index)


def test_the_drawing_changes_with_the_threshold(page):
    before = page.locator("#graph").screenshot()
    slide(page, 0.99)
    page.wait_for_timeout(100)
    assert page.locator("#graph").screenshot() != before


def test_search_opens_a_variable_and_its_neighbours(page, result):
    page.fill("#search", "G007")
    assert page.inner_text("#node h3") == "g007"
    neighbours = page.locator("#node .neighbours button span:first-child").all_inner_texts()
    expected = [f"g{j:03d}" for j in np.flatnonzero(result.adjacency[7])]
    assert sorted(neighbours) == expected
    page.fill("#search", "")
    assert page.locator("#node").is_hidden()


def test_a_click_on_a_node_opens_it(page, result):
    node = int(result.adjacency.sum(0).argmax())
    x, y = page.evaluate(
        "i => JSON.parse(document.getElementById('data').textContent).places[i]", node
    )
    page.locator("#graph").scroll_into_view_if_needed()
    page.mouse.click(*on_screen(page, x, y))
    page.wait_for_selector("#node:not([hidden])")
    assert page.inner_text("#node h3") == result.names[node]
    page.get_by_role("button", name="Show all").click()
    assert page.locator("#node").is_hidden()


def test_pointing_at_an_edge_tells_its_reasons(page, result):
    table = result.edge_table()
    row = drawn(page)[-1]
    page.locator("#graph").scroll_into_view_if_needed()
    x, y = middle(page, row)
    page.mouse.move(x - 40, y - 3)
    page.mouse.move(x, y, steps=4)
    page.wait_for_selector("#tip:not([hidden])")
    shown = int(page.get_attribute("#pair", "data-row"))
    assert named(table, shown) == page.inner_text("#pair h3") == named(table, row)
    words = page.inner_text("#pair").replace("−", "-")
    assert f"{table['probability'][row]:.3f}" in words
    parts = ["prior_log_odds", "data_log_odds", "hidden_log_odds"]  # nothing was believed
    for column in [*parts, "partial_correlation"]:
        assert f"{table[column][row]:+.2f}" in words
    assert named(table, row) in page.inner_text("#tip")


def test_an_edge_can_be_reached_by_keyboard_alone(page, result):
    """Tab to the drawing, arrows through the edges, Enter to a variable, Escape back."""
    table = result.edge_table()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "graph":
            break
    assert page.evaluate("document.activeElement.id") == "graph"
    best = [row for row in table.index if not table["known"][row]]
    for row in best[:2]:
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#pair h3") == named(table, row)
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#pair h3") == named(table, best[0])
    page.keyboard.press("Enter")
    assert page.inner_text("#node h3") == table["source"][best[0]]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#node') !== null")
    assert table["source"][best[0]] in page.inner_text("#pair h3")
    page.locator("#graph").focus()
    page.keyboard.press("Escape")
    assert page.locator("#node").is_hidden()


def test_the_slider_moves_by_keys(page):
    before = number(page, "threshold-value")
    page.locator("#threshold").focus()
    page.keyboard.press("ArrowRight")
    assert number(page, "threshold-value") == pytest.approx(before + 0.01)


def test_the_matrix_shows_each_pair_by_keys_and_by_mouse(page, result):
    order = page.evaluate("JSON.parse(document.getElementById('data').textContent).order")
    assert sorted(order) == list(range(20))
    page.locator("#matrix").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    by_keys = page.inner_text("#cell")
    i, j = order[1], order[2]
    assert {result.names[i], result.names[j]} <= set(by_keys.split(":")[0].split(" – "))
    page.locator("#matrix").scroll_into_view_if_needed()
    page.mouse.move(*on_screen(page, 0.5, 19.5, "matrix"))
    page.mouse.move(*on_screen(page, 2.5, 18.5, "matrix"), steps=3)
    assert page.inner_text("#cell") == by_keys


def test_the_matrix_has_the_colours_of_its_view(page, result):
    order = page.evaluate("JSON.parse(document.getElementById('data').textContent).order")
    P = result.edge_probabilities[np.ix_(order, order)]

    def cells():
        get = (
            "[...Bokeh.documents.map(d => d.get_model_by_name('cells')).find(m => m).data.image[0]]"
        )
        return np.array(page.evaluate(get)).reshape(20, 20)

    assert np.abs(cells() / 255 - P).max() <= 0.5 / 255 + 1e-12
    page.get_by_label("what was known").check()
    known = result.known[np.ix_(order, order)]
    off = ~np.eye(20, dtype=bool)
    assert np.array_equal(np.isnan(known)[off], (cells() == 0)[off])
    assert np.array_equal((known == 1)[off], (cells() == 255)[off])
    page.get_by_label("partial correlation", exact=True).check()
    rho = result.partial_correlations[np.ix_(order, order)]
    assert np.array_equal(
        np.sign(rho)[off], np.sign(np.round(cells() - 127.6))[off] * (rho != 0)[off]
    )


def column(page, number):
    return page.locator(f"#table tbody td:nth-child({number})").all_inner_texts()


def test_the_table_sorts_and_filters(page, result):
    table = result.edge_table()
    assert column(page, 1) == list(table["source"][:50])
    page.get_by_role("button", name="Sort by partial correlation").click()
    shown = [float(v.replace("−", "-")) for v in column(page, 8)]
    expected = table["partial_correlation"].sort_values(ascending=False)[:50]
    assert shown == pytest.approx(list(expected), abs=0.00501)
    assert page.locator("th[aria-sort=descending]").count() == 1
    page.get_by_role("button", name="Sort by partial correlation").click()
    shown = [float(v.replace("−", "-")) for v in column(page, 8)]
    assert shown == sorted(shown)
    page.fill("#filter", "g003")
    assert page.locator("#table tbody tr").count() == 19
    page.select_option("#kind", "unknown")
    page.fill("#least", "0.2")
    ours = table[(table["source"] == "g003") | (table["target"] == "g003")]
    ours = ours[(ours["known"] == 0) & (ours["probability"] >= 0.2)]
    assert page.locator("#table tbody tr").count() == len(ours)


def test_pages_of_the_table_hold_every_pair_once(page, result):
    seen = []
    for _ in range(4):
        seen += zip(column(page, 1), column(page, 2), strict=True)
        if page.locator("#next").is_enabled():
            page.locator("#next").click()
    table = result.edge_table()
    assert seen == list(zip(table["source"], table["target"], strict=True))


def download(page, path):
    with page.expect_download() as info:
        page.locator("#download").click()
    info.value.save_as(path)
    return path.read_bytes()


def test_the_download_is_edges_csv(page, result, tmp_path):
    write_result(tmp_path, result)
    assert download(page, tmp_path / "all.csv") == (tmp_path / "edges.csv").read_bytes()
    page.select_option("#kind", "found")
    download(page, tmp_path / "some.csv")
    some, all_rows = (pd.read_csv(tmp_path / name, dtype=str) for name in ("some.csv", "all.csv"))
    found = (all_rows["known"] == "0") & (all_rows["probability"].astype(float) >= 0.5)
    kept = all_rows[found]
    pd.testing.assert_frame_equal(some, kept.reset_index(drop=True))


def test_a_row_of_the_table_leads_to_its_edge(page, result):
    page.locator("#table tbody tr:nth-child(3) button").click()
    assert page.inner_text("#pair h3") == named(result.edge_table(), 2)


def test_every_control_has_a_name(page):
    page.locator("#search").fill("g001")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll(
             "button, input, select, a, summary, [tabindex], table, nav, aside, section")]
          .filter(e => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")
            || (e.labels && e.labels.length) || e.textContent.trim()))
          .map(e => e.outerHTML)"""
    )
    assert unnamed == []
    tree = page.locator("body").aria_snapshot()
    assert 'slider "Threshold' in tree
    assert 'searchbox "Find a variable' in tree or 'combobox "Find a variable' in tree
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("#table th:not([scope])").count() == 0


def test_names_are_shown_and_never_run(browser, tmp_path):
    hostile = simulated_result(8, names=HOSTILE, share=0.9)
    tables = [(HOSTILE[0], pd.DataFrame({HOSTILE[1]: [HOSTILE[1]]}))]
    page = opened(browser, tmp_path, hostile, answers=tables)
    shown = set(page.locator("#table tbody td:nth-child(-n+2)").all_text_contents())
    assert shown == set(HOSTILE)
    for name in HOSTILE:
        page.fill("#search", name.replace("\n", " "))  # a field has one line
        if "\n" not in name:
            assert page.text_content("#node h3") == name
    page.locator("#graph").focus()
    page.keyboard.press("ArrowRight")
    write_result(tmp_path, hostile)
    assert download(page, tmp_path / "all.csv") == (tmp_path / "edges.csv").read_bytes()
    assert page.evaluate("window.hurt") is None
    assert page.locator("#answers caption").text_content() == HOSTILE[0]
    assert page.complaints == []
    assert len([url for url in page.asked if not url.startswith("blob:")]) == 1
    page.close()


def test_nothing_unknown_has_a_page(browser, tmp_path):
    page = opened(browser, tmp_path, simulated_result(6, share=0.0))
    assert number(page, "found-count") == number(page, "false-count") == 0
    assert page.complaints == []
    page.close()


@pytest.mark.parametrize(
    ("name", "n", "width"),
    [("20", 20, 1280), ("100", 100, 1280), ("500", 500, 1280), ("narrow", 20, 400)],
)
def test_screenshot(browser, tmp_path, record_property, name, n, width):
    """Large and narrow pages open without complaint and fit the window."""
    gain = {"bits": 0.21, "standard_error": 0.04, "pairs": 60, "known": True}
    gain |= {"rate": 0.2, "temperature": 1.0}
    result = simulated_result(
        n, seed=2, draws=0 if n == 500 else 200, r_hat=1.01, ess=310.0, prior_gain=gain
    )
    page = opened(browser, tmp_path, result, width)
    size = (tmp_path / "report.html").stat().st_size / 1e6
    record_property("megabytes", size)
    assert size < 5
    page.locator("#graph").focus()
    page.keyboard.press("ArrowRight")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    folder = tmp_path if DOCS is None else Path(DOCS)
    height = {400: 2300}.get(width, 1780)
    picture = folder / f"report-{name}.png"
    page.screenshot(
        path=picture, clip={"x": 0, "y": 0, "width": width, "height": height}, full_page=True
    )
    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE)
    small.save(picture, optimize=True)
    assert picture.stat().st_size < LARGEST
    assert page.complaints == []
    page.close()
