"""The files beside this one: templates, style and scripts."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template

# Whatever comes from a user is escaped; a name that the template lacks is an error.
_ENVIRONMENT = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


@cache
def asset(name: str) -> str:
    """The text of a file; newlines are those that a hash is taken of."""
    text = (files("graphprior.report") / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


@cache
def template(name: str) -> Template:
    """A template that escapes what it is given."""
    return _ENVIRONMENT.from_string(asset(name))
