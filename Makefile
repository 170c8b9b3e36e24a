# Everything a fresh machine needs: `make demo`, `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-fast lint docs clean figures figures-quick screenshots browser

FIGURES = grids-10 grids-20 ba-10 egonets-50 egonets-full egonets-sweep ergm lambda-tuning illustration
JOBS ?= 2

demo: $(VENV)/.package
	rm -rf demo-result
	$(BIN)/graphprior demo --out demo-result

test: $(VENV)/.developer browser
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# Laws that need neither a browser nor processes of their own, and not seconds: below 90 seconds.
test-fast: $(VENV)/.developer
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not slow"

# The report is tested in a real browser; where there is none and apt can bring it, it does.
ROOT = $(shell test "$$(id -u)" = 0 || echo sudo)
browser:
	command -v chromium >/dev/null || { command -v apt-get >/dev/null && \
	  $(ROOT) apt-get update -qq && $(ROOT) apt-get install -qq -y --no-install-recommends chromium; } || \
	  { echo "tests of the report need chromium: install it so that 'chromium' is on the PATH" >&2; exit 1; }

# Pictures of the report for the docs.
screenshots: $(VENV)/.developer browser
	GRAPHPRIOR_SCREENSHOTS=docs $(BIN)/python -m pytest tests/report/test_report_browser.py -k screenshot

lint: $(VENV)/.developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation as a site, in build/site; warnings are errors.
docs: $(VENV)/.developer
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Every figure of the paper: hours. A run that was stopped goes on, slow methods from slow.jsonl.gz.
figures: $(VENV)/.developer
	failed=0; for name in $(FIGURES); do \
	  $(BIN)/graphprior experiment $$name --jobs $(JOBS) --out results/$$name --replace || failed=1; \
	done; exit $$failed

# The same on next to nothing, to see that all of it runs: minutes.
figures-quick: $(VENV)/.developer
	rm -rf build/figures
	failed=0; for name in $(FIGURES); do \
	  $(BIN)/graphprior experiment $$name --quick --jobs $(JOBS) --out build/figures/$$name || failed=1; \
	done; exit $$failed

$(VENV)/.package: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.developer: $(VENV)/.package
	$(PIP) --editable '.[test,lint]'
	touch $@

clean:
	rm -rf $(VENV) demo-result build .pytest_cache .mypy_cache .ruff_cache
