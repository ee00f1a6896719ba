# `make` shows what can be done. Nothing is written outside this folder.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

HOME_DIR ?= .home
# More than the usual two cores: half of the time of real gateways and browsers is waiting.
WORKERS ?= 4
ARGS ?=

BIN := .venv/bin
PY := $(BIN)/python
PYTEST := $(PY) -m pytest -n $(WORKERS)
SOURCES := $(shell find src -name '*.py')

# Where this is set, every start of every test compiles the whole package again.
unexport PYTHONDONTWRITEBYTECODE

# Caches of the tools stay in this folder too.
export UV_CACHE_DIR := $(CURDIR)/.cache/uv
export PYRIGHT_PYTHON_CACHE_DIR := $(CURDIR)/.cache/pyright

.PHONY: help run browser install check lint types test test-all simulate coverage bench lock generate format clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/compiled .venv/browser ## start Horae on HOME_DIR (default .home, made with examples when absent); Ctrl-C stops it
	@[ -e "$(HOME_DIR)/jobs" ] || $(BIN)/horae --home "$(HOME_DIR)" init --example
	@exec $(BIN)/horae --home "$(HOME_DIR)" up $(ARGS)

browser: .venv/browser ## the browser's libraries, from npm, as the lock file says
	@:

install: .venv/dev .venv/compiled .venv/browser ## everything that developing needs, in .venv
	@:

check: install lint types ## format, lint, types, layers, tidiness, unit tests: before each commit
	@$(PYTEST) tests/test_tidy.py tests/test_imports.py $(wildcard tests/unit) $(ARGS)

lint: install
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: install
	@$(BIN)/pyright --project pyproject.toml --pythonpath $(PY)

test: install ## all tests but the long ones; ARGS goes to pytest, as in ARGS='-k store'
	@$(PYTEST) $(ARGS)

test-all: install ## all tests, with many more generated examples
	@$(PYTEST) -m '' --hypothesis-profile=long $(ARGS)

simulate: install ## the fault simulation and random process trees, long runs included
	@$(PYTEST) -m "" tests/simulation tests/integration/test_trees.py $(ARGS)

coverage: install ## which lines and branches of core/ and engine/ no test reaches
	@$(PY) -m coverage run -m pytest $(ARGS)
	@$(PY) -m coverage report --include='src/horae/core/*,src/horae/engine/*'

bench: install ## measure, side by side with peers where they are installed
	@$(PY) bench/run.py $(ARGS)

generate: install ## write what is generated from the code: diagrams, reference pages
	@$(PY) -m tools.generate $(ARGS)

format: install ## put the code into its one form
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

clean: ## remove all that was made here, except HOME_DIR
	@rm -rf .venv .cache .hypothesis .import_linter_cache .pytest_cache .ruff_cache .coverage build dist
	@find . -name .git -prune -o -name __pycache__ -prune -exec rm -rf {} +

# --- the environment: installed again only when a lock changes, compiled again only when the code does

.venv/dev: requirements-dev.lock requirements-uv.lock pyproject.toml tools/install.sh
	@tools/install.sh requirements-dev.lock
	@touch .venv/run $@

.venv/run: requirements.lock requirements-uv.lock pyproject.toml tools/install.sh
	@if [ -e .venv/dev ]; then $(MAKE) .venv/dev; else tools/install.sh requirements.lock; fi
	@touch $@

.venv/browser: package.json package-lock.json tools/browser.py .venv/run
	@$(PY) tools/browser.py
	@touch $@

.venv/compiled: $(SOURCES) .venv/run
	@$(PY) -m compileall -q src
	@touch $@

# Lock files hold versions and hashes for every platform, and no addresses.
PIP_COMPILE = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command 'make lock' $(UPGRADE)

lock: install ## solve the dependencies again; UPGRADE=--upgrade takes newer versions
	@echo uv | $(PIP_COMPILE) - -o requirements-uv.lock
	@$(PIP_COMPILE) pyproject.toml --group build -o requirements.lock
	@$(PIP_COMPILE) pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock
