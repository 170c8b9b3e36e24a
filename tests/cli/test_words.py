"""What the library says of its parameters, the command line says of its options."""

import pytest

from graphprior.cli.main import load
from graphprior.cli.words import PARAMETERS, in_options


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("pass missing='em' or", "pass --missing em or"),
        ("of time, time_series=True counts", "of time, --time-series counts"),
        ("give index='row names'; or", "give --index 'row names'; or"),
        ("give index=''.", "give --index ''."),
        ("set null_scale=0.05.", "set --null-scale 0.05."),
        ("sheet= is for .xlsx", "--sheet is for .xlsx"),
        ("engine=Gibbs(draws=100); other", "--engine gibbs --draws 100; other"),
        ("scheduler='tcp://h:1' has", "--scheduler tcp://h:1 has"),
        ("a column named misuse=3 stays", "a column named misuse=3 stays"),
        ("draws = 0: expected", "draws = 0: expected"),
    ],
)
def test_parameters_become_options(words, expected):
    assert in_options(words) == expected


def test_every_parameter_is_an_option_of_a_command():
    commands = [load(name) for name in ("estimate", "train", "experiment", "check")]
    options = {option for command in commands for part in command.params for option in part.opts}
    missing = {name for name in PARAMETERS if f"--{name.replace('_', '-')}" not in options}
    assert missing <= {"assume_centered"}  # the command line has none
