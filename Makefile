# Everything a fresh machine needs: `make demo`, `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint clean

demo: $(VENV)/.package
	rm -rf demo-result
	$(BIN)/graphprior demo --out demo-result

test: $(VENV)/.developer
	$(BIN)/python -m pytest

lint: $(VENV)/.developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.package: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.developer: $(VENV)/.package
	$(PIP) --editable '.[test,lint]'
	touch $@

clean:
	rm -rf $(VENV) demo-result build .pytest_cache .mypy_cache .ruff_cache
