# Needs Python >= 3.11 and make, nothing else: every target builds .venv first when it is missing.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH ?= .venv-bench

.PHONY: help demo test lint bench docs format clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*  ## /\1: /p' Makefile

$(STAMP): requirements-dev.txt pyproject.toml $(wildcard contrib_plugins/*/pyproject.toml)
	@test -n "$(PYTHON)" || { echo "dshhooks needs Python 3.11 or newer on PATH (or make PYTHON=/path/to/python)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

demo: $(STAMP)  ## real tool calls through the installed plugins
	@$(BIN)/dshhooks demo

test: $(STAMP)  ## the whole suite, on asyncio and trio
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(STAMP)  ## ruff, mypy, and the generated pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m dshhooks.pages --check

# The peers have heavy dependencies of their own, so they get an environment of their own.
$(BENCH)/.installed: benchmarks/requirements.txt pyproject.toml
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -e . -r benchmarks/requirements.txt
	@touch $@

bench: $(BENCH)/.installed  ## side by side with peers, one table, JSON in benchmarks/results
	$(BENCH)/bin/python benchmarks/run.py

docs: $(STAMP)  ## write the generated pages
	$(BIN)/python -m dshhooks.pages --write

format: $(STAMP)  ## let ruff rewrite what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove every environment and what was built
	rm -rf $(VENV) .venv-* build dist
