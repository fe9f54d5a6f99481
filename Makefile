# Needs Python 3.11 or newer and make; everything else is installed into .venv.
#
#   make report   environment, install, and everything under reports/
#   make test     lint, types, import rules, the gate on specs/, the compiled build, all tests
#   make compiled a copy of the project with its busiest parts as machine code, and the tests of those parts
#   make lock     agree to what the programs of specs/ cost now: writes tolcost.lock
#   make fmt      put the code and the programs into the house style
#   make soak     random programs and property tests, as many as asked: make soak N=100000
#   make bench    the measurements of benchmarks/
#   make conformance  ONNX's node tests again, into reports/data (minutes)
#   make peers    what XLA and onnx-tool count, into reports/data; they get an environment of their own
#   make clean    remove .venv and caches

PYTHON ?= python3
N ?= 2000
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

PEERS := .venv-peers
NATIVE := build/native
TESTED := build/tested
COMPILED_TESTS := syntax algebra atoms cost execute paper specs native

.PHONY: report conformance peers test lint types imports gate lock compiled unit fmt soak bench clean

report: $(VENV)/run.stamp
	$(BIN)/tolcost report

# Exit code 1 says that a test fails, which the file records.
conformance: $(VENV)/run.stamp
	$(BIN)/tolcost verify --format json --output reports/data/conformance.json || test $$? = 1

peers: $(PEERS)/stamp
	JAX_PLATFORMS=cpu PYTHONPATH=benchmarks $(PEERS)/bin/python -m peers reports/data/peers.csv

test: lint types imports gate compiled unit

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy --strict tolcost native

imports: $(VENV)/dev.stamp
	$(BIN)/lint-imports

# The gate holds for the project's own programs too.
gate: $(VENV)/run.stamp
	$(BIN)/tolcost check --strict --fresh

lock: $(VENV)/run.stamp
	$(BIN)/tolcost check --update --prune

# Nothing else needs a C compiler; who has none can still run the other tests.
ifneq ($(TOLCOST_COMPILER)$(shell command -v cc),)
compiled: $(TESTED)/stamp
	cd $(TESTED) && $(CURDIR)/$(BIN)/python -m pytest -n auto $(COMPILED_TESTS:%=tests/%)
	cd $(TESTED) && $(CURDIR)/$(BIN)/python -m tests.programs.soak 500 --start 7000000 --jobs $(JOBS)
else
compiled:
	@echo "there is no C compiler here: the compiled build is not tested"
endif

unit: $(VENV)/dev.stamp
	$(BIN)/pytest -n auto

fmt: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/tolcost fmt $(shell find specs -name '*.tol')

soak: $(VENV)/dev.stamp
	$(BIN)/python -m tests.programs.soak $(N) --twice --jobs $(JOBS)
	-$(BIN)/tolcost verify --thorough
	TOLCOST_SOAK=$(N) $(BIN)/pytest -n auto -m hypothesis --hypothesis-profile=soak tests

# The build that is fastest is the one to measure; a target that is missed does not hide the others.
bench: $(NATIVE)/stamp
	cd $(NATIVE); export PYTHONPATH=.; late=0; for file in $(wildcard benchmarks/bench_*.py); do \
		$(CURDIR)/$(BIN)/python $$file || late=1; done; exit $$late

clean:
	rm -rf $(VENV) $(PEERS) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find tolcost tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tolcost needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# The environment is made again only when what it is made from changes.
$(VENV)/run.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable .
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[dev]'
	touch $@ $(VENV)/run.stamp

# Compiled as it is released, and made again when the sources change.
$(NATIVE)/stamp: $(VENV)/dev.stamp $(shell find tolcost native -type f ! -name '*.pyc')
	$(BIN)/python -m native $(NATIVE)
	touch $@

$(TESTED)/stamp: $(VENV)/dev.stamp $(shell find tolcost native -type f ! -name '*.pyc')
	$(BIN)/python -m native --quick $(TESTED)
	touch $@

$(PEERS)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt jax onnx-tool
	touch $@
