# Two commands do everything on a fresh machine with Python 3.11+, git and make:
#   make demo   train on a built-in problem and write its results
#   make test   run the tests
# Each installs what it needs into .venv, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= demo-output
BENCH ?= bench-output
DATA ?= ../shared/data/simulated
ARGS ?= --help

.PHONY: demo test test-hostile test-around harden test-anndata test-ray test-torch gpu test-lowest dist docs lint format bench peers paper reproduce figures clean help

help:
	@sed -n 's/^#   //p' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "randsub needs Python 3.11 or newer"'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# The experiments, a package of their own beside the library.
$(VENV)/.experiments: $(VENV)/.installed experiments/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable experiments
	touch $@

$(VENV)/.tested: $(VENV)/.experiments
	$(BIN)/python -m pip install --quiet --group test
	touch $@

$(VENV)/.linted: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

$(VENV)/.documented: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py --output $(OUT)

#   make lint   ruff, mypy and the import contracts
lint: $(VENV)/.linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

#   make format let ruff rewrite the code
format: $(VENV)/.linted
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Tests that kill, fill disks, open terminals and clusters, or try examples that hypothesis makes up.
HOSTILE := tests/hardening tests/walk tests/cli/test_hostile.py tests/cli/test_bad_files.py \
	tests/estimators/test_clusters.py tests/estimators/test_at_once.py tests/parallel/test_worker_pool.py tests/benchmarks/test_soak.py
# Tests of what is around the library: experiments, benchmarks, tools, and the code of the pages.
AROUND := experiments tests/benchmarks tests/test_tools.py tests/test_compile.py tests/test_docs.py \
	tests/selection/test_page.py

test: $(VENV)/.tested
	$(BIN)/python -m pytest -n auto tests src $(addprefix --ignore=,$(HOSTILE) $(AROUND))

#   make test-hostile  killed workers, full disks, terminals, clusters, hostile examples
test-hostile: $(VENV)/.tested
	$(BIN)/python -m pytest -n auto $(HOSTILE)

#   make test-around  the experiments, the benchmarks and the code of the pages
test-around: $(VENV)/.tested
	$(BIN)/python -m pytest -n auto $(AROUND) --ignore=tests/benchmarks/test_soak.py

#   make harden the hostile examples of tests/hardening, ten times as many as the tests try
harden: $(VENV)/.tested
	RANDSUB_HYPOTHESIS=long $(BIN)/python -m pytest -n auto tests/hardening

#   make test-anndata  the tests with AnnData itself, which holds pandas back, in a place of its own
test-anndata:
	$(PYTHON) -m venv .venv-anndata
	.venv-anndata/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-anndata/bin/python -m pip install --quiet --editable ".[anndata]" --group test
	.venv-anndata/bin/python -m pytest tests/network -k "annotated or anndata"

#   make test-ray  the tests with Ray, which is large, in a place of its own
test-ray:
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-ray/bin/python -m pip install --quiet --editable ".[ray]" --group test
	.venv-ray/bin/python -m pytest tests/estimators/test_clusters.py -k ray

#   make test-torch  the tests with PyTorch, which is large, in a place of its own
test-torch:
	$(PYTHON) -m venv .venv-torch
	.venv-torch/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-torch/bin/python -m pip install --quiet --editable ".[torch]" --group test
	.venv-torch/bin/python -m pytest tests/engines/torch tests/engines/test_contract.py -k "torch or Torch"

#   make gpu    on a machine with a GPU: the tests with PyTorch there, then what it is worth
gpu: test-torch
	OMP_NUM_THREADS=2 NUMBA_NUM_THREADS=2 .venv-torch/bin/python benchmarks/gpu.py

#   make test-lowest  the tests with the lowest versions of the dependencies, in a place of its own
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-lowest/bin/python tools/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --editable . --editable experiments --group test --constraint .venv-lowest/lowest.txt
	@# Old releases use what newer dependencies of theirs call deprecated.
	.venv-lowest/bin/python -m pytest -n auto -W ignore::DeprecationWarning tests src $(addprefix --ignore=,$(HOSTILE) $(AROUND))

#   make dist   wheel and sdist, checked, and used in empty environments
dist: $(BIN)/python
	$(BIN)/python -m pip install --quiet --group release
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python tools/try_dist.py dist

#   make docs   the documentation, into docs/_build/html; a warning is an error
docs: $(VENV)/.documented
	$(BIN)/python -m sphinx -b html -E -W --keep-going -n docs docs/_build/html

#   make bench  what PRS costs: a step, the engines, their floors, a paper-scale run
bench: $(VENV)/.installed
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/floors.py
	$(BIN)/python benchmarks/scaling.py --output $(BENCH)
	$(BIN)/python benchmarks/paper_scale.py

#   make peers  PRS beside other packages (DATA=folder of the data), in a place of its own; hours
peers: DATA = ../shared/data
peers:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-peers/bin/python -m pip install --quiet --editable . --editable experiments --group peers
	.venv-peers/bin/python benchmarks/peers.py --data $(DATA)
	.venv-peers/bin/python benchmarks/peers_page.py

#   make paper  the authors' own files (DATA=folder): the paper's settings, then the defaults
paper: $(VENV)/.experiments
	$(BIN)/python benchmarks/simulated.py --data $(DATA) --files friedman_1 hypercube_1 --jobs 2
	$(BIN)/python benchmarks/simulated.py --data $(DATA) --settings defaults --bases knn tree svm --jobs 2

#   make reproduce  the paper's experiments (ARGS="simulated --quick --jobs 2"); ARGS=--help lists them
reproduce: $(VENV)/.experiments
	$(BIN)/randsub-experiments $(ARGS)

#   make figures  the numbers of the pages again (ARGS="--data FOLDER --share 0.1"): which have changed?
figures: $(VENV)/.experiments
	$(BIN)/python tools/figures.py --output figures-output $(ARGS)

#   make clean  remove the virtual environment, caches and outputs
clean:
	rm -rf $(VENV) .venv-anndata .venv-ray .venv-torch .venv-lowest .venv-peers $(OUT) $(BENCH) figures-output docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
