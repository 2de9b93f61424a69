# Every target sets up what it needs in .venv, from nothing but a Python 3.11, 3.12 or 3.13 and PyPI.
#   The first target in a fresh checkout installs for about a minute, and says so.
#   make demo      train a Gluon convnet on real handwritten digits, export StableHLO, serve it without gluonx
#   make test      the tests, without the slow ones       make test-all  all of them, from a seed that is drawn and told
#   make test-room ROOM=np   the tests of one room, tests/np or tests/test_np.py and the examples in gluonx/np
#   make test-tpu  layers, losses and models compiled for a TPU, without one
#   make test-gpu  the same for a GPU, without one, in an environment of its own (several GB)
#   make test-fast one test in fourteen of those, for a first look; others with every commit
#   make fuzz ARGS=1000000   so many files with changed bytes, to every reader
#   make soak      an hour of training, serving and loading: memory, threads, descriptors; ARGS='--minutes 5'
#   make bench     the table of benchmarks/RESULTS.md     make lint      ruff and pyright
#   make bench-models, make bench-ops   whole models against the other frameworks, single operators
#   make bench-first  operators and loops on shapes that are new, against jax.numpy and MXNet
#   make bench-cold   first step, ten steps and new lengths of a fresh process, against MXNet
#   make bench-parallel   a step on eight fake devices, over the same by hand
#   make bench-gpu-plan   kernels, products and bytes of compiled steps for a GPU, over the same by hand; without one
#   make bench-data   images a second of the loaders against the other frameworks'; ARGS='--train 20' for a ResNet's wait
#   make bench-sparse   a step on an embedding of 10,000,000 rows against PyTorch's SparseAdam
#   make bench-generate   tokens a second of a decoder with a cache, against the same by hand and PyTorch
#   make bench-serve  requests a second of a served model, over onnxruntime and PyTorch in the same server
#   make generated the stubs (.pyi) that editors and type checkers read, and pages of the docs; most targets do so first
#   make docs      the documentation as a site, build/docs/index.html
#   make notebooks run the notebooks and write their outputs into them
#   make bench-venvs   PyTorch and MXNet 2.0 in environments of their own, for those two
#   make format    let ruff rewrite                       make clean     remove .venv and caches
# PYTHON=/path/to/python picks the interpreter of a new .venv, JOBS=n the test processes, ARGS=... goes to the command.

PYTHON ?=
VENV ?= .venv
VENV_GPU ?= .venv-gpu
JOBS ?= 2
ARGS ?=

# 3.12 first: it gets the newest JAX, and unlike 3.13 MLServer, which `make soak` and `make bench-serve` need.
CANDIDATES := $(PYTHON) python3.12 python3.13 python3.11 python3 python
SUITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PY := $(VENV)/bin/python
SHARED := -n $(JOBS) --dist worksteal
PIP := $(PY) -m pip --disable-pip-version-check --quiet
# Without isolation: a build of its own would install JAX a second time, to write the stubs, which $(VENV)/.generated does.
WITHIN := --no-build-isolation
BUILDS := install 'hatchling>=1.26,<2' 'editables>=0.5,<1'
# What is made of the live modules is made anew where one of these has changed.
SOURCES := $(shell find gluonx tools tests -name '*.py' -not -path '*/ports*' 2>/dev/null)
SAY = echo 'installing gluonx and what "$(@F:.%=%)" needs into $(VENV): half a minute to some minutes, by the network'

.DEFAULT_GOAL := help
.PHONY: help demo generated test test-room test-fast test-all test-tpu test-gpu fuzz soak bench bench-models bench-ops bench-data bench-first bench-cold bench-sparse bench-generate bench-parallel bench-gpu-plan bench-serve bench-venvs docs notebooks lint format clean
.DELETE_ON_ERROR:

help:
	@sed -n '2,/^# PYTHON/s/^# \{0,1\}//p' Makefile

demo: $(VENV)/.examples
	$(PY) -m examples.digits $(ARGS)

# The workers import every module of gluonx and of the tests, and some tests start processes that do so again: what
# Python compiled is kept, also where the environment says otherwise.
test test-fast test-room test-all: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.test $(VENV)/.generated
	@echo 'collecting the tests takes half a minute; then a line of dots for 72 tests, of some 6,100'
	$(PY) -m pytest $(SHARED) -m 'not slow' $(ARGS)

test-fast: $(VENV)/.test $(VENV)/.generated
	$(PY) -m pytest $(SHARED) -m 'not slow' --sample 14 $(ARGS)

test-room: $(VENV)/.test $(VENV)/.generated
	@test -n "$(ROOM)" || { echo 'which room? make test-room ROOM=np' >&2; exit 1; }
	$(PY) -m pytest $(SHARED) -m 'not slow' $(wildcard tests/$(ROOM) tests/test_$(ROOM).py gluonx/$(ROOM) gluonx/$(ROOM).py) $(ARGS)

test-all: $(VENV)/.test $(VENV)/.generated
	-$(MAKE) $(VENV)/.tpu-plan  # the compiler of TPUs is there for Linux only; elsewhere its tests are skipped
	GLUONX_TEST_XLA=optimized GLUONX_TEST_SEED=$${GLUONX_TEST_SEED:-draw} $(PY) -m pytest $(SHARED) $(ARGS)
	-$(MAKE) $(VENV_GPU)/.done  # the same of GPUs: several GB, which a machine may not have
	! test -e $(VENV_GPU)/.done || $(VENV_GPU)/bin/python -m pytest $(SHARED) tests/gpu

test-tpu: $(VENV)/.test $(VENV)/.tpu-plan
	GLUONX_TEST_TPU=all $(PY) -m pytest $(SHARED) tests/tpu $(ARGS)

test-gpu: $(VENV_GPU)/.done
	GLUONX_TEST_GPU=all $(VENV_GPU)/bin/python -m pytest $(SHARED) tests/gpu $(ARGS)

soak: $(VENV)/.serve
	$(PY) -m benchmarks.soak $(ARGS)

fuzz: $(VENV)/.test
	PYTHONPATH=tests $(PY) -m fuzz.files $(ARGS)

bench: $(VENV)/.core
	$(PY) -m benchmarks $(ARGS)

bench-models: $(VENV)/.flax
	$(PY) -m benchmarks.zoo $(ARGS)

bench-parallel: $(VENV)/.core
	$(PY) -m benchmarks.parallel $(ARGS)

bench-gpu-plan: $(VENV_GPU)/.done
	$(VENV_GPU)/bin/python -m benchmarks.gpu_plan

bench-venvs: .venv-torch/.done .venv-mxnet/.done

bench-data: $(VENV)/.vision
	$(PY) -m benchmarks.data $(ARGS)

bench-first: $(VENV)/.core
	$(PY) -m benchmarks.first $(ARGS)

bench-cold: $(VENV)/.core
	$(PY) -m benchmarks.cold $(ARGS)

bench-sparse: $(VENV)/.core
	$(PY) -m benchmarks.sparse $(ARGS)

bench-generate: $(VENV)/.core
	$(PY) -m benchmarks.generating $(ARGS)

bench-serve: $(VENV)/.serve $(VENV)/.onnx
	$(PY) -m benchmarks.serving $(ARGS)

bench-ops: $(VENV)/.core
	$(PY) -m benchmarks.ops $(ARGS)

# Every page is read anew and every warning is an error: a link or a cross-reference that leads nowhere is one.
docs: $(VENV)/.docs $(VENV)/.generated
	$(PY) -m sphinx --builder html --jobs $(JOBS) --fresh-env --fail-on-warning --conf-dir docs $(ARGS) . build/docs

generated: $(VENV)/.core $(VENV)/.generated

notebooks: $(VENV)/.test
	$(PY) -m tools.notebooks $(ARGS)

lint: $(VENV)/.lint $(VENV)/.generated
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/pyright --pythonpath $(PY)

format: $(VENV)/.lint
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

clean:
	rm -rf $(VENV) .venv-torch .venv-mxnet $(VENV_GPU) .pytest_cache .ruff_cache .hypothesis build dist

# One stamp an extra; a changed pyproject.toml makes them stale. `core` is the package alone, which every extra brings.
$(VENV)/.core: pyproject.toml | $(PY)
	@$(SAY)
	$(PIP) $(BUILDS)
	$(PIP) install --editable . $(WITHIN)
	@touch $@

$(VENV)/.%: pyproject.toml | $(PY)
	@$(SAY)
	$(PIP) $(BUILDS)
	$(PIP) install --editable '.[$*]' $(WITHIN)
	@touch $(VENV)/.core $@

# Stubs and pages, where a source has changed. Whatever asks for it installs gluonx first.
$(VENV)/.generated: $(SOURCES) | $(VENV)/.core
	@$(PY) -m tools.stubs --write
	@$(PY) -m tools.parity --write
	@touch $@

# The other sides of `make bench-models`. PyTorch as PyPI has it; TORCH=... names another build, such as that for CPUs.
TORCH ?= torch

.venv-torch/.done: | $(PY)
	$(PY) -m venv .venv-torch
	.venv-torch/bin/python -m pip --disable-pip-version-check --quiet install numpy opencv-python-headless $(TORCH) torchvision
	@touch $@

# MXNet 2.0 was never built for a Python after 3.11, nor for a NumPy after 1.23.
.venv-mxnet/.done:
	@set -e; \
	for candidate in $(PYTHON_MXNET) python3.11 python3.10 python3.9 python3.8; do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 8) <= sys.version_info < (3, 12))' >/dev/null 2>&1; then \
	    exec "$$candidate" -m venv .venv-mxnet; \
	  fi; \
	done; \
	echo "no Python from 3.8 to 3.11 found; give one with PYTHON_MXNET=/path/to/python" >&2; exit 1
	.venv-mxnet/bin/python -m pip --disable-pip-version-check --quiet install mxnet==2.0.0b1 'numpy<1.24' 'scipy<1.12'
	@touch $@

# JAX's plugin for CUDA says on a machine without a GPU that there is none, wherever it is installed.
$(VENV_GPU)/.done: pyproject.toml | $(PY)
	$(PY) -m venv $(VENV_GPU)
	$(VENV_GPU)/bin/python -m pip --disable-pip-version-check --quiet $(BUILDS)
	$(VENV_GPU)/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[test,gpu-plan]' $(WITHIN)
	@touch $@

# pyright judges with the optional packages installed, or it could not see their types. One run of pip, which `make test`
# needs no more.
$(VENV)/.lint: pyproject.toml | $(PY)
	@$(SAY)
	$(PIP) $(BUILDS)
	$(PIP) install --editable '.[test,lint]' $(WITHIN)
	@touch $(VENV)/.core $(VENV)/.test $@

# The first interpreter that is new enough, can make environments, and truly runs: a version manager's shim may
# stand on the PATH for a Python that is not installed.
$(PY):
	@set -e; \
	for candidate in $(CANDIDATES); do \
	  if "$$candidate" -c '$(SUITS)' >/dev/null 2>&1; then \
	    echo "making $(VENV) with $$("$$candidate" -c 'import sys; print(sys.executable, sys.version.split()[0])')"; \
	    exec "$$candidate" -m venv $(VENV); \
	  elif [ "$$candidate" = "$(PYTHON)" ]; then \
	    echo "PYTHON=$(PYTHON) does not run, is not 3.11, 3.12 or 3.13, or lacks the venv module" >&2; exit 1; \
	  fi; \
	done; \
	echo "no Python 3.11, 3.12 or 3.13 with the venv module found; give one with PYTHON=/path/to/python" >&2; exit 1
