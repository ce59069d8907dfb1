# `make demo` and `make test` work from a fresh clone: each builds .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-lowest torture lint format bench docs clean

demo: $(READY)
	$(BIN)/python -m crbm demo

test: $(READY)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# The core on the lowest declared versions; PYTHON and TORCH choose others.
CORE_TESTS := $(addprefix tests/,energies hashing inference models objectives test_units.py test_preprocessing.py)
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	sed "s/^torch==.*/torch==$(or $(TORCH),2.6.0)/" constraints-lowest.txt > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint .venv-lowest/constraints.txt --editable . \
		beartype hypothesis liac-arff pandas pyarrow pytest
	.venv-lowest/bin/python -m pytest -q $(CORE_TESTS)

# Fuzzers, kills, hostile requests and data: at most 20 minutes.
torture: $(READY)
	cd tests && ../$(BIN)/python -m torture $(TORTURE_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m crbm bench

# The variable silences the theme's notice that its support ends in 2027.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) .venv-lowest .pytest_cache .mypy_cache .ruff_cache site

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[dev]'
	touch $@
