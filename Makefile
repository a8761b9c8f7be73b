# Two commands are enough on a fresh machine with Python 3.11+, make and a C compiler:
#   make demo    trains twins, one on levels and one also on new ones like them, and writes demo/report.html
#   make test    runs the tests
# Both set everything up in .venv first.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# They ask for NumPy 1, but work with NumPy 2: hence installed without what they ask for.
PROCGEN := "procgen2==0.10.7" "gym3==0.3.3" "gym==0.26.2"

.PHONY: setup demo test lint format clean

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

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv demo .pytest_cache .ruff_cache .hypothesis
