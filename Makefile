# Needs Python 3.11 or newer and make; everything else is installed into .venv.
#
#   make report   install tolcost into .venv, and write reports/
#   make test     run everything that a change has to pass: lint, types, imports, the gate and all tests
#   make lint     check the style of the code
#   make types    check the types
#   make imports  check which part imports which
#   make gate     check that the programs of specs/ cost what specs/tolcost.lock says
#   make lock     write what they cost now to specs/tolcost.lock
#   make fmt      format the code and the programs
#   make soak     run random programs and property tests, as many as asked: make soak N=100000
#   make bench    measure speed beside other tools
#   make site     build the playground and the documentation into build/site (needs node and npm)
#   make vsix     build the extension for VS Code, build/tolang.vsix (needs node and npm)
#   make clean    remove the environments, build/ and all caches
#
# Stored data, campaigns and further reports have targets of their own in tools/targets.mk.

PYTHON ?= python3
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

# Tests start tolcost many times: keep its compiled files, even where the environment forbids it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: report test lint types imports gate unit lock fmt site site-test vsix clean

report: $(VENV)/run.stamp
	$(BIN)/tolcost report

# Quick checks come first.  The gate and the types use one core each, so they run beside the tests.  The environment is
# made before: two installations at the same time would break each other.
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

gate: $(VENV)/run.stamp
	cd specs && ../$(BIN)/tolcost check --strict --fresh

unit: $(VENV)/dev.stamp
	$(BIN)/pytest -n auto --dist worksteal

lock: $(VENV)/run.stamp
	cd specs && ../$(BIN)/tolcost check --update --prune

fmt: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/tolcost fmt $(shell find specs -name '*.tol')

site: $(VENV)/site.stamp
	$(BIN)/python site/build.py

# The site in a browser, timed; needs chromium and chromedriver.  TOLCOST_RECORD=1 writes reports/site.md.
site-test: site vsix
	TOLCOST_BROWSER=required $(BIN)/pytest -q -p no:cacheprovider site/test_site.py

vsix: $(VENV)/dev.stamp
	$(BIN)/python editors/build.py grammar
	$(BIN)/python editors/build.py vsix

clean:
	rm -rf $(VENV) $(VENV)-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find tolcost tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the environment -----------------------------------------------------------------------
#
# A stamp is as new as the last installation: pip runs again only when the requirements change.

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tolcost needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable .
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[dev]'
	touch $@ $(VENV)/run.stamp

$(VENV)/site.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[dev,site]'
	touch $@ $(VENV)/dev.stamp $(VENV)/run.stamp

include tools/targets.mk
