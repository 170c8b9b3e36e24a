"""The house rules: which module may import which, what the paper's table promises, sizes."""

import ast
import importlib
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "graphprior"
PAPER = Path(__file__).parent.parent / "docs" / "paper.md"
# A module may import only those above it.
ORDER = [
    "errors",
    "provenance",
    "guards",
    "checks",
    "beliefs",
    "graphs",
    "statistics",
    "tables",
    "independence",
    "observations",
    "known_files",
    "transforms",
    "linalg",
    "wishart",
    "em",
    "moments",
    "glasso",
    "covariance",
    "noise",
    "ggm",
    "slab",
    "columns",
    "chains",
    "quadratic",
    "slack",
    "evidence",
    "marginal",
    "graph_objects",
    "graphsets",
    "prior.protocol",
    "prior.exact",
    "prior.tempered",
    "prior.memory",
    "prior.norms",
    "prior.ring",
    "prior.edp_gnn",
    "prior.pairs",
    "prior.network",
    "prior.batches",
    "prior.score_matching",
    "prior.cross_entropy",
    "prior.card",
    "prior.training",
    "prior.store",
    "prior.resolve",
    "engines.posterior",
    "engines.selection",
    "engines.direct",
    "engines.gibbs",
    "engines.draws",
    "engines.langevin",
    "engines.generate",
    "engines.run",
    "fit_check",
    "ground",
    "explain",
    "thresholds",
    "bootstrap",
    "networks",
    "quantities",
    "parameters",
    "work",
    "self_check",
    "result",
    "summaries",
    "result_folder",
    "exports",
    "metrics",
    "places",
    "plots.canvas",
    "plots.graphs",
    "plots.pairs",
    "plots.checks",
    "plots.answers",
    "plots.page",
    "report.colours",
    "report.charts",
    "report.payload",
    "report.trust",
    "report.making",
    "report.headline",
    "report.reliability",
    "report.assets",
    "report.page",
    "report.card",
    "answers",
    "estimate",
    "datasets.family",
    "datasets.files",
    "datasets.grids",
    "datasets.barabasi_albert",
    "datasets.ergm",
    "datasets.egonets",
    "datasets.registry",
    "baselines.protocol",
    "baselines.lasso",
    "baselines.threshold",
    "baselines.langevin",
    "baselines.ours",
    "baselines.tiger",
    "baselines.graphsage",
    "baselines.sklearn_cv",
    "baselines.bdgraph",
    "baselines.registry",
    "inputs",
    "experiments.spec",
    "experiments.published",
    "experiments.units",
    "experiments.rows",
    "experiments.tuning",
    "experiments.methods",
    "experiments.figure",
    "experiments.folder",
    "experiments.run",
    "experiments.tuning_figure",
    "experiments.illustration",
    "experiments.figures.grids_10",
    "experiments.figures.grids_20",
    "experiments.figures.ba_10",
    "experiments.figures.egonets_50",
    "experiments.figures.egonets_full",
    "experiments.figures.egonets_sweep",
    "experiments.figures.ergm",
    "experiments.figures.lambda_tuning",
    "experiments.figures.illustration",
    "experiments.registry",
    "answer",
    "cohort",
    "cli.common",
    "cli.options",
    "cli.cohort",
    "cli.estimate",
    "cli.summary",
    "cli.demo",
    "cli.export",
    "cli.priors",
    "cli.sample",
    "cli.train",
    "cli.experiment",
    "cli.report",
    "cli.check",
    "cli.main",
]


def module_files():
    files = [p for p in SOURCE.rglob("*.py") if p.name != "__init__.py"]
    return {".".join(p.relative_to(SOURCE).with_suffix("").parts): p for p in files}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield "relative import"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphprior."):
            yield node.module.removeprefix("graphprior.")
        elif isinstance(node, ast.Import):
            yield from (
                name.name.removeprefix("graphprior.")
                for name in node.names
                if name.name.startswith("graphprior.")
            )


def test_every_module_has_its_place():
    assert sorted(module_files()) == sorted(ORDER)


@pytest.mark.parametrize("module", ORDER)
def test_imports_point_one_way(module):
    """Each module imports only earlier ones, so there is no cycle either."""
    allowed = set(ORDER[: ORDER.index(module)])
    assert set(imports(module_files()[module])) <= allowed


def test_no_module_imports_the_package_itself():
    for name, path in module_files().items():
        lines = re.findall(r"^\s*(?:from|import) graphprior(?: import.*)?$", path.read_text(), re.M)
        assert not lines, name


@pytest.mark.parametrize("module", ORDER)
def test_functions_stay_small(module):
    text = module_files()[module].read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.end_lineno - node.body[0].lineno
            assert body <= 60, node.name


def table_rows():
    for line in PAPER.read_text().splitlines():
        match = re.match(r"\| \((\d+)\)(?:-\((\d+)\))? \|.*\| (.*) \|$", line)
        if match:
            first, last = int(match[1]), int(match[2] or match[1])
            yield range(first, last + 1), re.findall(r"`([\w.]+)`", match[3])


def resolve(name):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module("graphprior." + ".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def test_every_equation_is_listed_once():
    listed = [number for numbers, _ in table_rows() for number in numbers]
    assert listed == list(range(1, 44))


def test_every_function_named_for_an_equation_exists_and_cites_it():
    for numbers, names in table_rows():
        for name in names:
            found = resolve(name)
            assert callable(found), name
            cited = cited_equations(found.__doc__ or "")
            assert cited & set(numbers), f"{name} does not cite Eq. {list(numbers)}"


def cited_equations(text):
    cited = set()
    for first, last in re.findall(
        r"\((\d+)\)(?:-\((\d+)\))?", " ".join(re.findall(r"Eqs?\. .*", text))
    ):
        cited |= set(range(int(first), int(last or first) + 1))
    return cited


UNPICKLERS = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}


@pytest.mark.parametrize("module", ORDER)
def test_nothing_unpickles(module):
    for node in ast.walk(ast.parse(module_files()[module].read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            assert not {name.split(".")[0] for name in names} & UNPICKLERS
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("torch.load", "joblib.load", "pd.read_pickle", "nx.read_gpickle")
            if called == "np.load":
                assert "allow_pickle=False" in ast.unparse(node)
