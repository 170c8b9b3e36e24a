"""Write the tables of README and docs anew from committed results.

    python scripts/tables.py

A table stands between `<!-- table NAME -->` and `<!-- end -->`; the text around it names the
command that measured it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pandas as pd

from graphprior.paper.experiments.published import best

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
PAGES = (
    "README.md",
    "docs/measured.md",
    "docs/calibration.md",
    "docs/decisions.md",
    "docs/which-prior.md",
    "docs/examples/danube.md",
    "docs/examples/genes.md",
    "docs/examples/proteins.md",
    "docs/examples/stocks.md",
    "docs/tutorials/own-graphs.md",
)
FIGURES = {
    "grids-10": "grids, 10% unknown",
    "grids-20": "grids, 20% unknown",
    "ba-10": "dual Barabasi-Albert, 10% unknown",
    "egonets-50": "ego-nets, 50% unknown",
    "egonets-full": "ego-nets, all unknown",
    "ergm": "ERGM, 30 pairs unknown",
}
# What was to be reached, before the work began.
MARKS = {
    "grids-10": ".86/.87/.89/.92",
    "grids-20": ".74/.78/.82/.87",
    "ba-10": ".44/.47/.56/.66",
    "egonets-50": ".77/.79/.83/.86",
    "egonets-full": ".70/.77/.82/.86",
    "ergm": ".85/.88/.93/.97",
}
KINDS = {
    "uniform": "never weak: ±[.2, .6]",
    "wishart": "masked Wishart",
    "factor": "three factors, a quarter of all pairs",
}


def markdown(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table."""
    heads = list(heads)
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    lines += [f"| {' | '.join(str(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def short(value: float, digits: int = 3) -> str:
    """A number for a table: .963, 1.02, or 12."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def benchmark(name: str) -> pd.DataFrame:
    """The rows of a benchmark."""
    return pd.DataFrame(json.loads((RESULTS / "benchmarks" / f"{name}.json").read_text())["rows"])


def curve(figure: str, method: str) -> dict[float, float]:
    """Our values of a figure by x."""
    table = pd.read_csv(RESULTS / figure / "summary.csv")
    rows = table[table["method"] == method]
    return dict(zip(rows["x"], rows["value"], strict=True))


def figures_in_short() -> str:
    """The first and the last point of each figure."""
    rows = []
    for name, title in FIGURES.items():
        ours, theirs = curve(name, "direct"), best(name)
        ends = (min(ours), max(ours))
        rows.append([
            f"[{title}](docs/experiments.md)", f"`{name}`",
            *(f"{short(ours[x])} ({short(theirs[x])})" for x in ends),
        ])  # fmt: skip
    return markdown(["graphs", "figure", "fewest observations", "most observations"], rows)


def figures() -> str:
    """All points of each figure, by engine."""
    rows = []
    for name, title in FIGURES.items():
        ours = {method: curve(name, method) for method in ("direct", "gibbs")}
        theirs = best(name)
        rows += [
            [title if i == 0 else "", f"{x:g}", *(short(c[x]) for c in ours.values()),
             short(theirs[x])]
            for i, x in enumerate(sorted(ours["direct"]))
        ]  # fmt: skip
    return markdown(["graphs", "x", "`direct`", "`gibbs`", "best published"], rows)


def marks() -> str:
    """Each figure in a line: published, to be reached, ours, calibration, seconds."""
    rows = []
    for name, title in FIGURES.items():
        table, theirs = pd.read_csv(RESULTS / name / "summary.csv"), best(name)
        ours = {m: table[table["method"] == m].sort_values("x") for m in ("direct", "gibbs")}
        rows.append([
            f"{title}, x = {'/'.join(f'{x:g}' for x in ours['direct']['x'])}",
            "/".join(short(theirs[x]) for x in ours["direct"]["x"]), MARKS[name],
            *("/".join(short(v) for v in part["value"]) for part in ours.values()),
            ", ".join(short(part["calibration_error"].max()) for part in ours.values()),
            ", ".join(f"{part['seconds'].mean():.1f}" for part in ours.values()),
        ])  # fmt: skip
    heads = [
        "figure", "best published", "mark", "`direct`", "`gibbs`", "largest calibration error",
        "CPU seconds per problem",
    ]  # fmt: skip
    return markdown(heads, rows)


def passes() -> str:
    """CPU seconds of one problem."""
    rows = benchmark("passes")
    found = rows[rows["what"].str.startswith("engine")]
    each = zip(found["what"], found["cpu_seconds"], strict=True)
    return markdown(
        ["problem", "CPU seconds"],
        ([what.replace("engine ", ""), f"{seconds:.2f}"] for what, seconds in each),
    )


def real_tables() -> str:
    """Edges found in real tables with nothing known, and seconds."""
    rows = benchmark("sizes")
    rows = rows[~rows["kind"].isin(list(KINDS))]
    return markdown(
        ["table", "variables", "rows", "edges", "expected edges", "settled", "CPU seconds"],
        (
            [r["kind"], r["n"], r["k"], int(r["edges"]), f"{r['expected_edges']:.0f}",
             "yes" if r["settled"] else "no: it says so", f"{r['median_cpu_seconds']:.1f}"]
            for r in rows.to_dict("records")
        ),
    )  # fmt: skip


def sizes() -> str:
    """Simulated problems from 20 to 100 variables."""
    rows = benchmark("sizes")
    rows = rows[rows["kind"].isin(list(KINDS)) & rows["n"].isin(SIZES)]
    keys = ["kind", "known", "k_per"]
    rows = rows.assign(k_per=(rows["k"] / rows["n"]).round().astype(int))
    rows = rows[rows["k_per"].isin([10, 20])]
    lines = []
    for (kind, known, ratio), part in rows.groupby(keys, sort=False):
        by = part.set_index("n")
        for what, digits in (("expected_over_true", 2), ("f1", 2), ("median_cpu_seconds", 1)):
            title = {"expected_over_true": "expected/true edges", "f1": "F1"}.get(what, "seconds")
            lines.append([
                KINDS[kind], known, f"{ratio}n", title,
                *(short(by[what].get(n, float("nan")), digits) for n in SIZES),
            ])  # fmt: skip
    heads = ["strengths", "known", "rows", "what", *(f"n = {n}" for n in SIZES)]
    return markdown(heads, lines)


def held_out() -> str:
    """Log-likelihood of held-out rows of real tables."""
    rows = benchmark("held-out")
    wide = rows.pivot_table("nats", ["table", "n", "k"], "method", sort=False)
    lines = []
    for (table, n, k), values in wide.iterrows():
        each = [short(v) if v < values.max() else f"**{short(v)}**" for v in values]
        lines.append([table, n, k, *each])
    return markdown(["table", "variables", "rows", *wide.columns], lines)


def peers() -> str:
    """Ours beside BDgraph, GraphicalLassoCV and huge: means over cells."""
    rows = benchmark("peers")
    for name in ("auc", "bits", "f1"):
        rows[name] = pd.to_numeric(rows[name], errors="coerce")
    lines = []
    for (n, known), part in rows.groupby(["n", "known"], sort=True):
        for method, mine in part.groupby("method", sort=False):
            bits = mine["bits"].mean()
            lines.append([
                n, known, method, short(mine["auc"].mean()), short(mine["f1"].mean()),
                "-" if pd.isna(bits) else short(bits), f"{mine['cpu_seconds'].median():.2f}",
            ])  # fmt: skip
    return markdown(["variables", "known", "method", "AUC", "F1", "bits", "CPU seconds"], lines)


def wrong_prior() -> str:
    """Certain pairs that are wrong under a prior that does not fit."""
    rows = benchmark("wrong_prior")
    return markdown(
        ["variables", "rows", "prior", "certain", "wrong", "wrong without a note", "bits"],
        (
            [r["n"], r["k"], r["prior"], r["certain"], r["wrong"], r["wrong_without_a_note"],
             short(r["bits"])]
            for r in rows.to_dict("records")
        ),
    )  # fmt: skip


def shapes() -> str:
    """What is not known of rate and shape costs."""
    rows = benchmark("shapes")
    lines = []
    for (kind, n, k), part in rows.groupby(["kind", "n", "k"], sort=False):
        by = part.set_index("told")
        cells = [
            f"{by['expected_over_true'][told]:.2f} ({short(by['bits'][told])})"
            for told in ("nothing", "rate", "rate and shape")
        ]
        lines.append([KINDS[kind], n, k, *cells])
    heads = [
        "strengths",
        "variables",
        "rows",
        "nothing given",
        "rate given",
        "rate and shape given",
    ]
    return markdown(heads, lines)


def calibration() -> str:
    """Medians over the cells of the standing benchmark, engine `direct`."""
    table = pd.read_csv(RESULTS / "benchmarks" / "calibration" / "table.csv")
    table = table[(table["columns"] == "gaussian") & (table["engine"] == "direct")]
    lines = []
    for (known, strength), part in table.groupby(["known", "strength"]):
        middle = part[["expected_over_true", "calibration_error", "by_chance"]].median()
        lines.append([
            known, strength, len(part), f"{middle['expected_over_true']:.2f}",
            short(middle["calibration_error"]), short(middle["by_chance"]),
        ])  # fmt: skip
    heads = ["known", "strengths", "cells", "expected/true edges", "calibration error", "by chance"]
    return markdown(heads, lines)


def calibration_lines() -> str:
    """The summary of the standing benchmark."""
    told = json.loads((RESULTS / "benchmarks" / "calibration" / "run.json").read_text())
    return "\n".join(f"- {line}" for line in told["summary"])


def example(folder: str) -> tuple[pd.DataFrame, list[tuple[float, int]], list[str]]:
    """The summary of a worked example, its settings, and a head for each."""
    summary = pd.read_csv(RESULTS / "examples" / folder / "summary.csv")
    settings = sorted(set(zip(summary["share"], summary["k"], strict=True)))
    heads = [f"{share:.0%} hidden, k = {k}" for share, k in settings]
    return summary.set_index(["method", "share", "k"]), settings, heads


def spread(mean: float, error: float) -> str:
    """A mean and its standard error."""
    return "-" if pd.isna(mean) else f"{mean:.3f} ± {error:.3f}"


def found_by_all(folder: str) -> str:
    """F1 on the hidden pairs by each method; a star marks ours of an earlier run."""
    summary, settings, heads = example(folder)
    rows = []
    for method in dict.fromkeys(summary.index.get_level_values("method")):
        mine = summary.loc[method]
        is_ours = method.startswith(("direct", "gibbs", "auto", "own"))
        star = " *" if is_ours and ("bits" not in mine or mine["bits"].isna().all()) else ""
        cells = [spread(*mine.loc[at, ["f1", "f1_se"]]) for at in settings]
        rows.append([method + star, int(mine["repeats"].max()), *cells])
    return markdown(["F1", "hidings", *heads], rows)


def by_prior(folder: str) -> str:
    """Bits and AUC with several priors, what each costs or saves against none, and weights."""
    summary, settings, heads = example(folder)
    rows = pd.read_csv(RESULTS / "examples" / folder / "rows.csv.gz")
    bits = rows[rows["metric"] == "bits"].set_index(["share", "k", "repeat"])
    none = bits[bits["method"] == "direct, no prior"]["value"]
    there = [m for m in BY_PRIOR if m in summary.index and summary.loc[m, "bits"].notna().any()]
    lines = []
    for name, label in (("bits", "bits"), ("against", "bits more than none"), ("auc", "AUC")):
        for method in there:
            if name == "against":
                if method == "direct, no prior":
                    continue
                more = (bits[bits["method"] == method]["value"] - none).dropna()
                at = more.groupby(["share", "k"]).agg(["mean", "sem"])
                cells = [spread(*at.loc[setting, :]) for setting in settings]
            else:
                cells = [spread(*summary.loc[(method, *s), [name, f"{name}_se"]]) for s in settings]
            lines.append([label, BY_PRIOR[method], *cells])
    for method in [m for m in there if m in ("auto", "own prior, averaged")]:
        cells = [f"{summary.loc[(method, *s), 'weight']:.2f}" for s in settings]
        lines.append(["weight of the prior", BY_PRIOR[method], *cells])
    return markdown(["", "prior", *heads], lines)


BY_PRIOR = {
    "direct, no prior": "none",
    "auto": '"auto"',
    "own prior, averaged": "own, averaged",
    "direct": "own, in full",
}
EXAMPLES = {
    "danube": "danube",
    "proteins": "proteins",
    "ecoli": "genes-ecoli70",
    "ecoli half": "genes-ecoli70-half",
    "arabidopsis": "genes-arth150",
    "stocks": "stocks",
}


def own_prior() -> str:
    """Bits per unknown pair, without and with data, of priors from few graphs."""
    rows = benchmark("own_prior")
    rows["both"] = [
        f"{short(a)} / {short(b)}"
        for a, b in zip(rows["bits_no_data"], rows["bits_with_data"], strict=True)
    ]
    lines = []
    for family, part in rows.groupby("family", sort=False):
        density = part.iloc[0][["density_no_data", "density_with_data"]]
        fixed = part[part["minutes"] == 0].set_index("prior")["both"]
        for minutes, own in part[part["prior"] == "own"].groupby("minutes"):
            found = own.set_index("graphs")["both"]
            lines.append([
                OWN_FAMILIES[family], f"{60 * minutes:.0f} s", " / ".join(map(short, density)),
                fixed["general"], *(found.get(count, "-") for count in OWN_COUNTS),
                fixed.get(family, "-"),
            ])  # fmt: skip
    counts = (f"{count} graphs" for count in OWN_COUNTS)
    return markdown(["kind", "time", "density", "`general`", *counts, "3000, 15 min"], lines)


OWN_COUNTS = (10, 30, 100)
OWN_FAMILIES = {
    "molecules": "molecules", "threads": "threads", "regnets": "regulatory networks",
}  # fmt: skip
SIZES = (20, 50, 55, 56, 64, 100)


def families() -> str:
    """Bits of `general` on kinds of graphs that it never saw."""
    found = benchmark("families")
    told, rows = found.set_index(["kind", "source", "prior"]).sort_index(), []
    for kind in dict.fromkeys(found["kind"]):
        cells = []
        for source in ("no data", "with data"):
            at = told.loc[kind, source]
            cells += [short(at.loc["density", "bits"])]
            cells += [
                f"{short(at.loc['general', 'bits'])} ± {short(at.loc['general', 'standard_error'])}"
            ]
            cells += [short(at.loc["own", "bits"]) if "own" in at.index else "-"]
        rows.append([kind, int(at.iloc[0]["graphs"]), *cells])
    heads = [f"{source}: {what}" for source in ("no data", "with data")
             for what in ("density", "general", "own")]  # fmt: skip
    return markdown(["kind", "graphs", *heads], rows)


UNKNOWN = {1.0: "all unknown", 0.5: "half unknown", 0.1: "a tenth unknown"}


def averaging() -> str:
    """What priors cost beside none: the mean over the kinds that they fit, and over the others."""
    told = benchmark("averaging").set_index(["candidate", "kind", "unknown"])["cost"]
    names = dict.fromkeys(told.index.get_level_values("candidate"))
    rows = []
    for name in names:
        if name == "none":
            continue
        own = name.removesuffix(", full")
        cells = []
        for share in UNKNOWN:
            costs = told.loc[name].xs(share, level="unknown")
            rest = costs.drop(index=own, errors="ignore")
            cells += [short(costs[own]) if own in costs.index else "-"]
            cells += [short(rest.mean()), f"{short(rest.max())} ({rest.idxmax()})"]
        rows.append([name, *cells])
    heads = [f"{words}: {what}" for words in UNKNOWN.values()
             for what in ("own kind", "others, mean", "worst of them")]  # fmt: skip
    return markdown(["prior", *heads], rows)


def far_sizes() -> str:
    """Expected over true numbers of edges, by size."""
    told = benchmark("far-sizes")
    told = told[told["use"] == "both"].groupby(["kind", "prior", "n"], sort=False).sum()
    ratio, sizes = told["expected"] / told["true"], sorted(set(told.index.get_level_values("n")))
    rows = [
        [kind, prior, *(short(ratio.loc[kind, prior, n], 2) for n in sizes)]
        for kind, prior in dict.fromkeys((k, p) for k, p, _ in told.index)
    ]
    return markdown(["kind", "prior", *(f"n = {n}" for n in sizes)], rows)


def auto_calibration() -> str:
    """Bits, calibration error and expected over true edges of the default prior, beside none."""
    told = benchmark("auto-calibration").set_index(["unknown", "candidate"])
    rows = [
        [
            words,
            name,
            *(short(told.loc[(share, name), what]) for what in ("bits", "calibration_error")),
            short(told.loc[(share, name), "beyond_chance"]),
            short(told.loc[(share, name), "expected_over_true"], 2),
        ]
        for share, words in UNKNOWN.items()
        for name in ("none", "auto")
    ]
    heads = ["pairs", "prior", "bits", "calibration error", "beyond chance", "expected/true edges"]
    return markdown(heads, rows)


TABLES: dict[str, Callable[[], str]] = {
    "figures in short": figures_in_short,
    "figures": figures,
    "marks": marks,
    "passes": passes,
    "real tables": real_tables,
    "sizes": sizes,
    "held out": held_out,
    "peers": peers,
    "wrong prior": wrong_prior,
    "shapes": shapes,
    "calibration": calibration,
    "calibration in words": calibration_lines,
    "own prior": own_prior,
    "auto calibration": auto_calibration,
    "families": families,
    "averaging": averaging,
    "far sizes": far_sizes,
    **{f"{name} found": partial(found_by_all, folder) for name, folder in EXAMPLES.items()},
    **{f"{name} by prior": partial(by_prior, folder) for name, folder in EXAMPLES.items()},
}
PLACE = re.compile(r"(<!-- table ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """A page with its tables as the results have them."""
    return PLACE.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n\n{m[3]}", page)


def main() -> None:
    """All pages."""
    for name in PAGES:
        path = ROOT / name
        path.write_text(filled(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
