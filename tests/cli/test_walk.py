"""A table is read, checked, and turned into a result once, on its way from files to a folder."""

import sys
from collections import Counter
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from command_line import NAMES, write_observations
from graphprior.errors import GraphPriorError
from graphprior.graphs import layout
from graphprior.io import inputs, tables
from graphprior.io.inputs import Reading
from graphprior.observations import checks
from graphprior.results import result


@pytest.fixture
def files(tmp_path, rng):
    write_observations(tmp_path / "x.csv", rng)
    rows = [("a", "b", "1", ""), ("a", "c", "0", ""), ("b", "d", "", "0.7")]
    table = pd.DataFrame(rows, columns=["source", "target", "present", "probability"])
    table.to_csv(tmp_path / "known.csv", index=False)
    return tmp_path


def count(monkeypatch, seen, *named):
    """Count calls of functions, wherever they were imported to."""
    for module, name in named:
        real = getattr(module, name)

        def call(*arguments, real=real, name=name, **options):
            seen[name] += 1
            return real(*arguments, **options)

        for user in [m for m in sys.modules.values() if m.__name__.startswith("graphprior")]:
            if getattr(user, name, None) is real:
                monkeypatch.setattr(user, name, call)


def test_each_thing_is_done_once(here, files, monkeypatch):
    import_module("graphprior.report.page")  # else it is imported later, with functions of its own
    seen, real = Counter(), result.Result.__init__
    count(
        monkeypatch, seen, (tables, "read_table"), (checks, "check_observations"),
        (layout, "places"), (layout, "matrix_order"),
    )  # fmt: skip

    def made(self, *arguments, **options):
        seen["results"] += 1
        real(self, *arguments, **options)

    monkeypatch.setattr(result.Result, "__init__", made)
    assert here("estimate", "x.csv", "--known", "known.csv", "--out", "out").code == 0
    assert seen.pop("read_table") == 2  # the measurements, and what is known
    assert seen == {"check_observations": 1, "places": 1, "matrix_order": 1, "results": 1}


def test_tables_and_places_are_computed_once_and_stay_whole():
    A = np.zeros((3, 3))
    A[0, 1] = A[1, 0] = 1
    facts = {"engine": "direct", "threshold": 0.5, "likelihood": "marginal"}
    found = result.Result(
        ("a", "b", "c"), np.full((3, 3), np.nan), A, np.stack([A, A]), A, np.eye(3),
        np.zeros((0, 3, 3), np.uint8), None, facts,
    )  # fmt: skip
    assert found.places is found.places
    found.edge_table()["probability"] = 0.0  # what a user does with it stays with the user
    assert found.edge_table()["probability"].iloc[0] == 1


def test_a_file_that_changes_while_it_is_read_is_refused(files, monkeypatch):
    real = inputs.read_observations

    def read(path, *arguments):
        table = real(path, *arguments)
        path.write_text(",".join(NAMES) + "\n1,2,3,4,5\n2,1,4,3,6\n")
        return table

    monkeypatch.setattr(inputs, "read_observations", read)
    with pytest.raises(GraphPriorError, match="changed while they were read"):
        Reading().read(files / "x.csv", None)
