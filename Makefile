# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-slow fuzz lint docs package reproduction-page clean

setup: .venv/ready

# torch first and alone: with its version pinned pip takes a CPU build where one is at hand.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gramian needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/gramian demo

# Many tests start a process: an empty PYTHONDONTWRITEBYTECODE lets them share compiled modules in any environment.
TESTED := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n auto

test: setup
	$(TESTED)

test-slow: setup
	$(TESTED) -m slow

# Thousands of fresh tables and model files; a run that was stopped continues. The report is benchmarks/results/fuzz.md.
FRAMES ?= 10000
FILES ?= 5000
SEED ?= 0
PROCESSES ?= 1

fuzz: setup
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m fuzz.long_run --frames $(FRAMES) --files $(FILES) --seed $(SEED) --processes $(PROCESSES)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Warnings are errors. The site is docs/_build/html/index.html and reads offline.
docs: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -q -j auto -W --keep-going docs docs/_build/html

# dist/: the source archive and the wheel, which is tried in a fresh environment.
package: setup
	.ci/package $(BIN)/python

# The page of all committed records, reproduction/index.html, with its figures; minutes, and nothing is computed again.
reproduction-page: setup
	OMP_NUM_THREADS=1 $(BIN)/gramian reproduce --page

clean:
	rm -rf reproduction/figures reproduction/index.html docs/_build docs/api docs/auto_examples docs/sg_execution_times.rst
	rm -rf .venv dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
