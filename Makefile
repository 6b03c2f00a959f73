# `make demo` and `make test` build their own environment under .venv; nothing else needs to be installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Tests that need the shared data find it here, and skip with a reason where it is missing.
ifneq ($(wildcard ../shared/data),)
export ASKWHO_DATA ?= $(abspath ../shared/data)
endif

# Threads that spin while they wait crawl on a busy machine.
export OMP_WAIT_POLICY ?= PASSIVE
export OPENBLAS_NUM_THREADS ?= 1
# ONNX Runtime's own counts go into one file that all processes share, and wait for.
export ORT_DISABLE_TELEMETRY ?= 1

.PHONY: demo test random torture mutants coverage forget check docs bench bench-logs clean

demo: $(VENV)/ready
	$(BIN)/askwho demo

# Tests of messages hand over wrong types on purpose. The others here go through what tests of single rooms have called
# with their types checked, and would take half as long again.
UNTYPED := $(wildcard tests/*/test_messages.py) $(addprefix tests/,cli evaluation fitting hardening live persistence \
	replay report structure estimators/test_two_stage.py theory/test_bound.py test_docs.py test_extras.py) studies
test: check
	$(BIN)/pytest -n $(JOBS) $(COVER) --jaxtyping-packages=askwho,tests.check src tests \
		$(UNTYPED:%=--ignore=%)
	$(BIN)/pytest -n $(JOBS) $(COVER) $(UNTYPED)

# The laws on examples that nobody has seen; what fails is printed so that it can be run again.
random: $(VENV)/ready
	$(BIN)/pytest -n $(JOBS) --hypothesis-profile=random src tests

# Many more of them, the full sizes, and two commits side by side: OLD and NEW must decide the same.
OLD ?= HEAD~1
NEW ?= HEAD
# Queries that are asked live, 500 at a time, on each database, and how often whoever asks is killed meanwhile. On two
# cores that others used, too, all of them took twelve minutes a database.
QUERIES ?= 100000
KILLS ?= 20
torture: $(VENV)/ready
	$(PIP) openai 'ray[data]' 'pyspark[sql]'
	command -v java > /dev/null || (apt-get update && apt-get install --yes --no-install-recommends default-jre-headless)
	[ -d /usr/lib/postgresql ] || (apt-get update && apt-get install --yes --no-install-recommends postgresql)
	ASKWHO_TORTURE=1 ASKWHO_QUERIES=$(QUERIES) ASKWHO_KILLS=$(KILLS) $(BIN)/pytest -n $(JOBS) --hypothesis-profile=torture src tests studies/tests
	$(BIN)/python benchmarks/compare.py $(OLD) $(NEW)

# Faults planted one at a time, and how many of them the tests notice: about an hour on two cores.
mutants: $(VENV)/ready
	$(BIN)/python benchmarks/mutants.py --out benchmarks/results/mutants.json

# The same tests, and which lines they reach, the least covered modules first; subprocesses are not counted.
coverage: COVER := --cov --cov-append --cov-report=
coverage: forget test
	$(BIN)/coverage report --sort=cover --precision=1 --fail-under=90

forget: $(VENV)/ready
	$(BIN)/coverage erase

check: $(VENV)/ready
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache > $(VENV)/layers.txt || (cat $(VENV)/layers.txt; exit 1)

docs: $(VENV)/ready
	rm -rf site
	$(BIN)/python docs/build.py site --jobs $(JOBS)

bench: $(VENV)/ready
	$(BIN)/python benchmarks/core.py --out benchmarks/results/core.json
	$(BIN)/python benchmarks/decide.py --out benchmarks/results/decide.json
	$(BIN)/python benchmarks/large.py --out benchmarks/results/large.json
	$(BIN)/python benchmarks/large_fit.py --out benchmarks/results/large_fit.json
	$(BIN)/python benchmarks/route_growth.py --out benchmarks/results/route_growth.json
	$(BIN)/python benchmarks/conditioning.py --out benchmarks/results/conditioning.json
	$(BIN)/python benchmarks/bayes.py --out benchmarks/results/bayes.json --figure benchmarks/results/bayes.png
	$(BIN)/python benchmarks/cardinality.py --out benchmarks/results/cardinality.json
	$(BIN)/python benchmarks/digits.py --out benchmarks/results/digits.json
	$(BIN)/python benchmarks/targets.py --out benchmarks/results/targets.json
	$(BIN)/python benchmarks/promise.py --out benchmarks/results/promise.json
	$(BIN)/python benchmarks/speed.py --out benchmarks/results/speed.json --figure benchmarks/results/speed.png
	$(BIN)/python benchmarks/california_speed.py --out benchmarks/results/california_speed.json

bench-logs: $(VENV)/ready
	$(BIN)/askwho reproduce logs --out benchmarks/results/logs

# torch is installed by its exact version first: that spelling finds a CPU build where there is one.
$(VENV)/ready: pyproject.toml studies/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[all]' --editable ./studies --group dev
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis .ruff_cache .coverage dist build site
