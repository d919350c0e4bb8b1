# `make` lists the commands. Each one prepares .venv by itself when it has to.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# Where it is set, each of the many processes that tests start compiles every module again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
COMPILE := $(VENV)/bin/pip-compile --quiet --allow-unsafe --strip-extras --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host
# Three processes share the tests, which keeps two cores busy while some of them wait for a disk or a
# browser (tests/support/processes.py).
PARALLEL := --processes 3
# Each run of pytest copies the migrated site that the first one made, if not one before in .ci/run.
# It ends with 5 where ARGS chose none of its tests.
ONE_SITE := if [ -z "$${TEST_RUN_FOLDER:-}" ]; then export TEST_RUN_FOLDER=$$(mktemp -d); \
	trap 'rm -rf "$$TEST_RUN_FOLDER"' EXIT; fi
# Files with a word in them: to collect all of the others takes ten seconds in every process.
containing = $(shell grep -rlE '$(1)' tests --include='test_*.py')
CI_FILES = $(call containing,mark\.ci|^from hypothesis)
# These hold bounds in seconds, so nothing else runs beside them.
TIMED_FILES = $(call containing,mark\.timed)
# Those in a browser keep an event loop running, so they share no process with the others.
ALONE = $(PY) -m pytest $(1) -m "timed and not long" -rs $(ARGS) || [ $$? -eq 5 ]
TIMED = $(call ALONE,$(filter-out tests/browser/%,$(TIMED_FILES))); \
	$(call ALONE,$(filter tests/browser/%,$(TIMED_FILES)))
FAST := tests/agents/core tests/agents/llm tests/agents/models tests/chat/markdown
# What must be the same whether a behaviour drives runs, or the plain string of turns.
DRIVEN := tests/agents/core tests/agents/tools tests/agents/runtime
# What serves nobody but this machine may use models that run on it, or anywhere.
OWN_MACHINE := if [ -z "$${ORACLE_ORIGINS:-}" ]; then \
	export ORACLE_OWN_ENDPOINTS="$${ORACLE_OWN_ENDPOINTS:-yes}"; \
	export ORACLE_INSIDE_ENDPOINTS="$${ORACLE_INSIDE_ENDPOINTS:-*}"; fi

.PHONY: help setup run ask test test-timed test-fast test-ci test-long test-scale faults attack bench screenshots docs check check-types check-rest fix requirements

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## create .venv with everything pinned

run: $(READY) ## serve on this machine and print a sign-in link
	@$(PY) manage.py migrate --verbosity 0
	@$(PY) manage.py collectstatic --noinput --verbosity 0
	@port=$${ORACLE_PORT:-8000}; \
	$(OWN_MACHINE); \
	export ORACLE_ORIGINS=$${ORACLE_ORIGINS:-http://127.0.0.1:$$port,http://localhost:$$port}; \
	exec $(PY) manage.py serve --host 127.0.0.1 --port "$$port" --sign-in $(ARGS)

ask: $(READY) ## ask one question in the terminal: make ask Q="..." ARGS="--tree quick"
	@$(PY) manage.py migrate --verbosity 0
	@$(OWN_MACHINE); $(PY) manage.py ask $(ARGS) -- "$${Q:-When did the work begin, and who leads the project?}"

test: $(READY) ## run the tests, including those in a browser
	$(PY) -m pytest $(PARALLEL) -rs $(ARGS)

test-fast: $(READY) ## run the fast tests: the core, model clients, database rows, Markdown
	$(PY) -m pytest $(PARALLEL) $(FAST) $(ARGS)

test-ci: $(READY) ## run the slow tests that `make test` leaves out
	$(ONE_SITE); \
	$(PY) -m pytest $(PARALLEL) --hypothesis-profile=ci -rs $(ARGS) -m "(ci or hypothesis) and not (long or scale or timed)" \
		$(CI_FILES) || [ $$? -eq 5 ]; \
	$(TIMED)

test-timed: $(READY) ## run the tests that hold bounds in seconds, alone
	$(ONE_SITE); \
	$(TIMED)

test-long: $(READY) ## run the very long tests, and print their figures
	$(ONE_SITE); \
	$(PY) -m pytest $(PARALLEL) --hypothesis-profile=thorough $(ARGS) \
		-m "(long or hypothesis) and not (timed or scale)" || [ $$? -eq 5 ]; \
	$(PY) -m pytest $(TIMED_FILES) -m "long and timed" -s $(ARGS) || [ $$? -eq 5 ]
	ORACLE_DRIVER=plain $(PY) -m pytest $(PARALLEL) $(DRIVEN) $(ARGS) || [ $$? -eq 5 ]

test-scale: $(READY) ## run the tests on PostgreSQL and Redis, started for them if installed
	$(PY) -m pytest $(PARALLEL) -m "scale and not timed" -rs $(ARGS) $(call containing,mark\.scale)

faults: $(READY) ## inject every fault into a running server: make faults ARGS="--only kill --seed 2"
	$(PY) -m tests.faults $(ARGS)
	$(PY) -m tests.faults --scale $(ARGS)

attack: $(READY) ## attack a fresh server and measure what another user notices: make attack ARGS="--only acks"
	$(PY) -m tests.attack $(ARGS)

bench: $(READY) ## run the benchmarks and print the figures as ratios
	$(PY) -m bench $(ARGS)

screenshots: $(READY) ## take the pictures and the transcript of the README from the real application
	$(PY) -m bench.screenshots
	$(PY) -m bench.transcript

docs: $(READY) ## rewrite the generated pages of docs/
	$(PY) -m agents.tools.reference > docs/tools.md

check: $(READY) ## run every check except the tests: types, lint, imports, migrations
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-types check-rest

check-types: $(READY)
	$(PY) -m mypy

check-rest: $(READY)
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(VENV)/bin/lint-imports --no-logo
	ORACLE_DEBUG=0 ORACLE_ORIGINS=https://oracle.example \
		$(PY) -W error manage.py check --deploy --fail-level WARNING
	$(PY) -W error manage.py makemigrations --check --dry-run

fix: $(READY) ## format, and fix what ruff can fix
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

requirements: $(READY) ## recompile the pinned requirements: make requirements ARGS=--upgrade
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
	@# Two share what is pinned. The third adds what another Python needs besides, and renews pip itself.
	grep -hE '^[[:alnum:]]' requirements.txt requirements-dev.txt | grep -v '^pip==' | sort -u | \
		xargs -P 2 -n 26 $(PY) -m pip install --quiet --disable-pip-version-check --no-deps
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt -r requirements-dev.txt
	@touch $@
