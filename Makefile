# Two commands do everything: `make run` and `make test`. Each installs what it needs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# The floor catches a collection that silently lost tests; raise it as the suite grows.
TEST_FLOOR := 7500
WORKERS ?= 2

.PHONY: federation run test test-slow lint pytest bench docs clean

run: $(VENV)/.run
	$(BIN)/dp-assay report --output build/report.html

test: lint pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" --collect-floor $(TEST_FLOOR)

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/bench_accountants.py

# A coordinator and three holders, over Flower with TLS on the loopback; ends in under three minutes.
federation: $(VENV)/.dev
	$(BIN)/python benchmarks/run_federation.py

# The site, without a network and without warnings; open build/site/index.html.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m pip install --quiet virtualenv && $(PYTHON) -m virtualenv --quiet $(VENV); }

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) --editable ".[peers,plots]"
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
