"""The house rules: which module may import which, what the paper's table promises, sizes."""

import ast
import importlib
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "graphprior"
PAPER = Path(__file__).parent.parent / "docs" / "paper.md"
# A package imports only from itself and from those above it. A name with a dot is a package of its
# own in a package.
FLOORS = [
    "errors",
    "types",
    "choices",
    "graphs",
    "gaussian",
    "observations",
    "problem",
    "io",
    "evidence",
    "priors",
    "engines",
    "_parameters",
    "batch",
    "diagnosis",
    "results",
    "plots",
    "report",
    "_answers",
    "estimator",
    "cohort",
    "paper.datasets",
    "paper.baselines",
    "paper.experiments",
    "cli",
]
MOST_ON_TOP = 8  # files beside the packages


def module_files():
    files = [p for p in SOURCE.rglob("*.py") if p.name != "__init__.py"]
    return {".".join(p.relative_to(SOURCE).with_suffix("").parts): p for p in files}


EXISTING = set(module_files())


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield "relative import"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphprior."):
            module = node.module.removeprefix("graphprior.")
            # `from graphprior.cli import words` imports a module too.
            yield from {module, *(f"{module}.{name.name}" for name in node.names)} & EXISTING or {
                module
            }
        elif isinstance(node, ast.Import):
            yield from (
                name.name.removeprefix("graphprior.")
                for name in node.names
                if name.name.startswith("graphprior.")
            )


MODULES = sorted(module_files())


def floor(module):
    """The floor of a module, None for one that is on none."""
    found = [name for name in FLOORS if module == name or module.startswith(name + ".")]
    return FLOORS.index(found[0]) if found else None


def test_every_module_has_its_floor():
    assert [name for name in MODULES if floor(name) is None] == ["__main__"]
    assert len(list(SOURCE.glob("*.py"))) <= MOST_ON_TOP


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    for name in imports(module_files()[module]):
        assert module == "__main__" or floor(name) <= floor(module), name


def test_no_two_modules_import_each_other():
    """Neither directly nor by way of others."""
    needs = {name: set(imports(path)) & set(MODULES) for name, path in module_files().items()}
    # An order in which each comes after all that it needs; of a cycle there is none.
    assert set(TopologicalSorter(needs).static_order()) == set(MODULES)


def test_tests_stand_where_what_they_test_stands():
    packages = {p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()}
    folders = {p.parent.name for p in Path(__file__).parent.glob("*/test_*.py")}
    assert folders <= packages


def test_no_module_imports_the_package_itself():
    for name, path in module_files().items():
        lines = re.findall(r"^\s*(?:from|import) graphprior(?: import.*)?$", path.read_text(), re.M)
        assert not lines, name


@pytest.mark.parametrize("module", MODULES)
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


@pytest.mark.parametrize("module", MODULES)
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
