# Two commands are enough on a fresh machine with Python 3.11+, make and a C compiler:
#   make demo    trains twins, one on levels and one also on new ones like them, and writes demo/report.html
#   make test    runs the tests
# Both set everything up in .venv first. `make test-quick` is for the inner loop; `make test-long` has
# the long statistics and the runs that are killed and go on, which `make test` leaves out. `make docs` builds the documentation as a site.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# They ask for NumPy 1, but work with NumPy 2: hence installed without what they ask for.
PROCGEN := "procgen2==0.10.7" "gym3==0.3.3" "gym==0.26.2"

# What needs no training: rules of replay, statistics, levels, settings, files, imports.
QUICK := tests/replay tests/evaluation tests/tasks/gridworld/levels tests/test_architecture.py \
	tests/test_files.py tests/test_metrics.py tests/test_package.py tests/test_presets.py

# What `make coverage` reports: what knows no task.
CORE := src/dred/replay/*,src/dred/agents/*,src/dred/training/*,src/dred/evaluation/*

.PHONY: setup demo docs test test-quick test-long coverage lint format clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dred needs Python 3.11 or newer; $(PYTHON) is older. Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --editable ".[gym]" --group dev
	@$(PIP) "cffi>=1.17" "imageio>=2.34" && $(PIP) --no-deps $(PROCGEN) || echo "Procgen could not be installed: it is made for Python 3.11 on 64-bit Linux. All but the tasks procgen/GAME works without it."
	@touch $@

demo: setup
	$(BIN)/dred demo

# NO_MKDOCS_2_WARNING: an advertisement, printed at each build.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "The site is in site/index.html. Searching it needs a server: $(PYTHON) -m http.server --directory site"

# Compiled Python is kept, also where containers ask for the opposite: else each of the many processes
# that tests start would compile the package anew.
test test-quick test-long: export PYTHONDONTWRITEBYTECODE =

test: setup
	$(BIN)/python -m pytest -m "not long"

test-quick: setup
	$(BIN)/python -m pytest -m "not long" $(QUICK)

test-long: setup
	$(BIN)/python -m pytest -m long

coverage: setup
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -m "not long"
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --include='$(CORE)'

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv demo site .pytest_cache .ruff_cache .hypothesis .coverage .coverage.*
