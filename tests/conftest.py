import os
import sys

# One thread: small matrices gain nothing from more, and the last bits stay the same.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Without it scikit-learn skips one of its estimator checks.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
import torch
from hypothesis import settings

from command_line import Outcome
from graphprior.cli.main import main

torch.set_num_threads(1)
settings.register_profile("default", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("default")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Measured errors as plain numbers: those of numpy do not travel between processes."""
    report = yield
    report.user_properties = [(key, float(value)) for key, value in report.user_properties]
    return report


def pytest_terminal_summary(terminalreporter):
    """Say how close the learned scores came, not only that they came close enough."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    lines = [
        f"{value:8.5f}  {key.replace('_', ' ')}: {report.nodeid.split('::')[-1]}"
        for report in reports
        for key, value in report.user_properties
        if report.when == "call"
    ]
    if lines:
        terminalreporter.section("measured errors")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The command in this process; an exception that would be a traceback fails the test."""
    monkeypatch.chdir(tmp_path)

    def run_here(*words):
        monkeypatch.setattr(sys, "argv", ["graphprior", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        return Outcome(ending.value.code or 0, *capsys.readouterr())

    return run_here
