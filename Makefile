# `make` lists the commands. Each one prepares .venv by itself when it has to.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
COMPILE := $(VENV)/bin/pip-compile --quiet --allow-unsafe --strip-extras --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.PHONY: help setup run test test-long bench docs check fix requirements

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## create .venv with everything pinned

run: $(READY) ## ask one question in the terminal: make run Q="..." ARGS="--tree quick"
	@$(PY) manage.py migrate --verbosity 0
	@$(PY) manage.py ask $(ARGS) -- "$${Q:-When did the work begin, and who leads it?}"

test: $(READY) ## run the tests
	$(PY) -m pytest $(ARGS)

test-long: $(READY) ## run the long tests, with their figures
	$(PY) -m pytest -m long -s $(ARGS)

bench: $(READY) ## measure, and print the figures as ratios
	$(PY) -m bench $(ARGS)

docs: $(READY) ## write the generated pages of docs/ anew
	$(PY) -m agents.tools > docs/tools.md

check: $(READY) ## everything a change must pass besides the tests
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo
	ORACLE_DEBUG=0 ORACLE_ORIGINS=https://oracle.example \
		$(PY) -W error manage.py check --deploy --fail-level WARNING
	$(PY) -W error manage.py makemigrations --check --dry-run

fix: $(READY) ## format, and mend what ruff can mend
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

requirements: $(READY) ## recompile the pins: make requirements ARGS=--upgrade
	CUSTOM_COMPILE_COMMAND="make requirements" $(COMPILE) $(ARGS) -o requirements.txt requirements.in
	CUSTOM_COMPILE_COMMAND="make requirements" $(COMPILE) $(ARGS) -o requirements-dev.txt requirements-dev.in

# The stamp is written last, so an interrupted set-up starts again. A Python without ensurepip
# (Debian without python3-venv) is helped by virtualenv or by its own pip, whichever it has.
$(READY): requirements.txt requirements-dev.txt
	@fail() { echo "make setup: $$*" >&2; exit 1; }; py="$(PYTHON)"; \
	[ -n "$$py" ] || fail "no Python found. Debian: apt-get install python3 python3-venv"; \
	"$$py" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		fail "$$py is too old: 3.11 or newer is needed. Try: make setup PYTHON=/path/to/python3.11"; \
	if $(PY) -m pip --version >/dev/null 2>&1; then exit 0; fi; \
	rm -rf $(VENV); \
	if "$$py" -c 'import ensurepip, venv' 2>/dev/null; then \
		"$$py" -m venv $(VENV); \
	elif "$$py" -m virtualenv --version >/dev/null 2>&1; then \
		"$$py" -m virtualenv --quiet $(VENV); \
	elif "$$py" -m pip --version >/dev/null 2>&1; then \
		"$$py" -m venv --without-pip $(VENV); \
		"$$py" -m pip --python $(PY) install --quiet pip; \
	else \
		fail "$$py cannot create a virtual environment. Debian: apt-get install python3-venv"; \
	fi
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt -r requirements-dev.txt
	@touch $@
