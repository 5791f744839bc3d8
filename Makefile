# `make` alone lists what there is. Everything runs in .venv, which `make setup` makes from requirements.lock
# with the first Python that fits, or with the one that is named: make setup PYTHON=python3.12.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp$(addprefix -,$(notdir $(PYTHON)))
PYTEST := $(BIN)/python -m pytest
# what other tests beside it would slow down beyond what it says of time
ALONE := tests/e2e/broker/test_overload.py

# The tests start the package in some two hundred processes: each would compile its sources again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test simulated check format unit nightly faults mutants patterns contracts e2e bench clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: $(STAMP) ## .venv from the lock file, with the `saffron` command in .venv/bin

$(STAMP): requirements.lock pyproject.toml tools/setup/setup.sh tools/setup/uv.lock
	@PYTHON="$(PYTHON)" sh tools/setup/setup.sh $(VENV)
	@touch $@

demo: setup ## a real data set through every service; complex events on the screen
	@$(BIN)/saffron demo

test: setup ## everything that must pass before a change lands: check and all tests
	@$(MAKE) --no-print-directory -j 2 check simulated
	@$(PYTEST) -q -n 3 --dist loadfile --no-loadscope-reorder -m kafka tests/contracts tests/e2e --ignore $(ALONE)
	@$(PYTEST) -q $(ALONE)

simulated: setup ## all tests that need no broker
	@$(PYTEST) -q -n 2 -m "not kafka"

check: setup ## formatting, lint, strict types, import walls, vulnerabilities that are known
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo >$(VENV)/walls.log || { cat $(VENV)/walls.log; exit 1; }
	@echo "import walls: kept"
	@$(BIN)/python tools/audit.py

format: setup ## format and mend what lint can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

unit: setup ## unit tests, and the engine against its slow twins
	@$(PYTEST) -q -n 2 tests/unit

nightly: setup ## random queries by the ten thousand, faults by the hundred
	@$(PYTEST) -q -n 2 --nightly tests/unit/engine tests/e2e/simulated/test_recovery.py

faults: setup ## services and broker killed, paused and restarted by ten seeds; every result beside `replay`
	@cd tools && PYTHONPATH=.:../services ../$(BIN)/python -m faults --seeds 10 --partitions 3

mutants: setup ## small changes to the match engine, which its tests must notice
	@$(BIN)/python tools/mutate.py

patterns: setup ## the text cases
	@$(PYTEST) -q tests/patterns

contracts: setup ## one contract for both logs; schemas against code
	@$(PYTEST) -q tests/contracts

e2e: setup ## whole pipelines: in memory with faults, and on the real broker
	@$(PYTEST) -q tests/e2e

bench: setup ## the project's benchmarks, as tables and JSON
	@$(BIN)/saffron bench

clean: ## remove .venv and what the tools leave behind (caches and data of the user stay)
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
