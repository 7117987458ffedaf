# `make demo` and `make test` do all the set-up, once, and then their job.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# One process more than there are cores: tests of servers, clusters and browsers wait more than they compute.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')

# Compiled modules are kept, also where the environment says otherwise: without them, a process that imports most of the
# package takes 16 seconds to start instead of 5, and the tests start many.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint unit fuzz kills bench tables explorer clean

demo: $(VENV)/.ready
	$(BIN)/mvgrl demo

# The checkers run beside the tests, and what they say is shown at the end; either fails the target.
test: $(VENV)/.ready
	@$(MAKE) --no-print-directory lint >$(VENV)/lint.log 2>&1 & lint=$$!; \
	$(MAKE) --no-print-directory unit; unit=$$?; \
	wait $$lint; lint=$$?; cat $(VENV)/lint.log; exit $$((unit | lint))

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(VENV)/.ready
	$(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal --durations 30

fuzz: $(VENV)/.ready
	$(BIN)/python -m tests.attacks.fuzz --cases 100000 --report results/fuzz.json

kills: $(VENV)/.ready
	$(BIN)/python -m tests.attacks.kills --kills 1000 --report results/kills.json

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/views.py
	$(BIN)/python benchmarks/batches.py
	$(BIN)/python benchmarks/svm.py
	$(BIN)/python benchmarks/probes.py
	$(BIN)/python benchmarks/vectors.py

tables: $(VENV)/.ready
	$(BIN)/python tools/tables.py results/runs.jsonl README.md docs/reproducibility.md docs/ablations.md docs/arena.md

# The script of the explorer's page, from web/ into src/mvgrl/explorer/assets; needs Node, which nothing else does.
explorer:
	cd web && npm ci --no-audit --no-fund && npm run build

# The documentation site: docs/, docstrings and examples, which are run, into site/index.html. Needs no network.
.PHONY: docs
docs: $(VENV)/.docs
	$(BIN)/python -m tools.docs_site

$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	touch $@

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV)
