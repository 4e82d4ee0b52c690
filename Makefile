# make demo and make test need python3, pip, venv, gcc and make; the rest is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# Debian packages, for what pip cannot bring.
APT := $(if $(filter 0,$(shell id -u)),,sudo) env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends
# meson-python looks for meson and ninja on the path when it builds and, editable, rebuilds.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help demo test test-quick lint types clean engine-tools bench-streams bench-scale

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(READY): pyproject.toml meson.build
	@$(PYTHON) -c 'import os, sysconfig; open(os.path.join(sysconfig.get_path("include"), "Python.h")).close()' \
	  2>/dev/null || $(APT) python3-dev
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "meson-python>=0.17" "meson>=1.3" ninja
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[dev]"
	touch $@

demo: $(READY) ## train on digits, show accuracy, time and a picture, leave a model behind
	$(BIN)/python examples/digits.py

engine-tools: ## install PostgreSQL and a Java runtime where missing; tests that need one skip without it
	@command -v java >/dev/null || $(APT) default-jre-headless || echo "no Java: tests of Spark are skipped"
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || $(APT) postgresql \
	  || echo "no PostgreSQL: its tests are skipped"

test: $(READY) engine-tools ## run the whole suite
	$(BIN)/pytest

test-quick: $(READY) ## run what takes less than two minutes
	$(BIN)/pytest -m "not slow"

bench-streams: $(READY) ## streams that drift: accuracy and rows a second beside river's, and 10 million rows' memory
	$(BIN)/python benchmarks/streams/prequential.py
	$(BIN)/python benchmarks/streams/memory.py

bench-scale: $(READY) engine-tools ## the rates that docs/scale.md is worked out from
	$(BIN)/python benchmarks/scale/rates.py

lint: $(READY) ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## check types
	$(BIN)/mypy

clean: ## remove what the targets above made
	rm -rf $(VENV) build demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
