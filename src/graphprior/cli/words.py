"""The library's words as the command line says them: parameters become options."""

from __future__ import annotations

import re
from shlex import quote

# Parameters that the library names in its messages as `name=value`, or `name=`.
PARAMETERS = (
    "assume_centered", "bootstrap_margin", "cluster", "density", "device", "draws", "engine",
    "full", "graphs", "index", "jobs", "known", "likelihood", "methods", "missing", "null_scale",
    "others", "prior", "prior_weight", "quick", "replace", "restart", "scheduler", "sheet",
    "threshold", "time_series", "unknown_at_random", "use",
)  # fmt: skip
QUOTES = ("'", '"')
_NO_BOOTSTRAP = "Langevin(bootstrap=None)"
_ENGINE = re.compile(r"(?:engine=)?\b(Direct|Gibbs|Langevin)\(([^()]*)\)")
# Not within a word, a path or quotes: those may be the user's own.
_PARAMETER = re.compile(
    rf"(?<![\w./'\"])({'|'.join(PARAMETERS)})=(True\b|'[^']*'|\"[^\"]*\"|[\w.+-]*\w)?(?![\w/])"
)


def in_options(words: str) -> str:
    """The words with parameters as options: `missing='em'` is `--missing em`."""
    words = words.replace(_NO_BOOTSTRAP, "--bootstrap-margin -1")
    words = _ENGINE.sub(lambda m: f"engine={m[1].lower()} {m[2]}".rstrip(), words)
    return _PARAMETER.sub(_option, words)


def _option(found: re.Match[str]) -> str:
    name, value = f"--{found[1].replace('_', '-')}", found[2]
    if value is None or value == "True":
        return name
    return f"{name} {quote(value[1:-1]) if value[0] in QUOTES else value}"
