# Every target sets up what it needs in .venv (once) and then runs. Nothing here needs root.
#   make demo TORCH=cpu      take the CPU build of torch where the default one is the large GPU build
#   make demo PYTHON=...     another Python than the machine's python3 (3.11 or newer)
#   make test ARGS="-k name" arguments for pytest; likewise for mutants, bench and the rest

PYTHON ?= python3
TORCH ?= default
ARGS ?=
BIN := .venv/bin
INSTALL = @command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: install Python 3.11 or newer."; exit 1; }; \
	$(PYTHON) tools/install.py

.PHONY: help demo test check format-check lint types imports spelling mutants bench headline results pictures clean core dev

help:
	@echo "make demo      watch the shipped model plan (installs the core only)"
	@echo "make test      the tests"
	@echo "make check     format, lint, types, import contract, spelling"
	@echo "make mutants   plant known faults in a copy of the code; each must be caught by its test"
	@echo "make bench     how fast it is here, beside its peers (ARGS=\"W1 --quick\": one workload, tiny)"
	@echo "make headline  run the evaluations behind README's tables; what is finished is kept"
	@echo "make results   fill README's tables from the outcome files in results/ and the lines in bench/results/"
	@echo "make pictures  take README's pictures of the report and the viewer (needs Chromium)"
	@echo "make clean     remove what these targets made; data/ and runs/ stay"

core:
	$(INSTALL) core --torch=$(TORCH)

dev:
	$(INSTALL) dev --torch=$(TORCH)

demo: core
	@$(BIN)/dualwm demo $(ARGS)

# One thread per worker: two OpenMP threads beside another busy process are slower than one.
test: dev
	@OMP_NUM_THREADS=1 $(BIN)/pytest -n auto $(ARGS)

check: format-check lint types imports spelling

format-check: dev
	@$(BIN)/ruff format --check --quiet --output-format concise . || { echo "format: run .venv/bin/ruff format"; exit 1; }

lint: dev
	@$(BIN)/ruff check --quiet --output-format concise .

types: dev
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

imports: dev
	@$(BIN)/lint-imports --no-logo

spelling: dev
	@$(BIN)/typos

mutants: dev
	@$(BIN)/python tools/mutants.py $(ARGS)

bench: core
	@$(BIN)/python -m bench.run $(ARGS)

headline: core
	@$(BIN)/python tools/headline.py $(ARGS)

results: core
	@$(BIN)/python tools/results.py $(ARGS)
	@$(BIN)/python -m bench.readme $(ARGS)

pictures: dev
	@$(BIN)/python -m tools.pictures $(ARGS)

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache .bench build dist demo.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
