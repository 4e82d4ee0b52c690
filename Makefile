# make demo and make test need python3, pip, venv, gcc and make; the rest is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# meson-python looks for meson and ninja on the path when it builds and, editable, rebuilds.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help demo test test-quick lint types clean device-tools bench-device

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(READY): pyproject.toml meson.build
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet "meson-python>=0.17" "meson>=1.3" ninja
	$(BIN)/pip install --quiet --no-build-isolation --editable ".[dev]"
	touch $@

demo: $(READY) ## train on digits, show accuracy, time and a picture, leave a model behind
	$(BIN)/python examples/digits.py

test: $(READY) device-tools ## run the whole suite
	$(BIN)/pytest

test-quick: $(READY) ## run what takes less than two minutes
	$(BIN)/pytest -m "not slow"

lint: $(READY) ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## check types
	$(BIN)/mypy

# Compilers and simulators of the boards. Where they cannot be installed the tests that need them say so and skip,
# but not in CI.
DEVICE_PACKAGES := gcc-avr avr-libc simavr libsimavr-dev arduino-core-avr gcc-arm-none-eabi qemu-system-arm \
	gcc-riscv64-unknown-elf qemu-system-misc
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

device-tools: ## install the compilers and simulators of the boards (Debian packages)
	@dpkg -s $(DEVICE_PACKAGES) >/dev/null 2>&1 || { \
		$(SUDO) apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -qq --no-install-recommends $(DEVICE_PACKAGES); \
	} || { echo "device tools could not be installed: tests on boards will skip"; test "$$CI" != true; }

bench-device: $(READY) device-tools ## Tables 4 and 5 of the paper on a simulated Uno
	$(BIN)/python -m benchmarks.device

clean: ## remove what the targets above made
	rm -rf $(VENV) build demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
