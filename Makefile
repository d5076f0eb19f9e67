# Each target builds its own environment in .venv and installs what it needs, from the package registries.
# Everything runs on the built wheel, never on the source tree.

PYTHON ?= python3
OLDEST ?= python3.11
WORKERS ?= 2
# Versions that are known to work together (make constraints); none for other Pythons, or with CONSTRAINTS= (empty).
CONSTRAINTS ?= $(wildcard constraints/python$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt)

BIN := .venv/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
# Modules compile when first imported: most are never.
INSTALL := $(PIP) install --no-compile $(addprefix --constraint ,$(CONSTRAINTS))
WHEEL = $$(echo build/wheel/*.whl)
SOURCES := pyproject.toml README.md LICENSE $(shell find src -name '*.py' -o -name '*.md' -o -name '*.yml' -o -name py.typed)

.PHONY: help install demo test coverage lowest bench scale figures audit fuzz lint docs constraints supply clean
.NOTPARALLEL:
.DEFAULT_GOAL := help

help:
	@echo "make install riemdp, in .venv"
	@echo "make demo    private mean shapes of handwritten digits: a table, a picture and a report in demo/"
	@echo "make test    the test suite, on $(WORKERS) workers (WORKERS=n for another number)"
	@echo "make coverage the test suite again, and which lines of the package it runs (htmlcov/)"
	@echo "make lowest  the test suite again, with the lowest versions that are allowed (constraints/lowest.txt), on $(OLDEST)"
	@echo "make bench   speed and memory, side by side with pyRiemann and geomstats (about 8 minutes)"
	@echo "make scale   time and memory up to 10^7 records, in memory, mapped and by Dask (about 10 minutes)"
	@echo "make figures every figure of the papers, in figures/ (FIG=le_fig1 for one, QUICK=1 for a smoke run)"
	@echo "make audit   claims against what can be measured, of everything on offer (about 4 hours; ARGS=--quick: a minute)"
	@echo "make fuzz    every parser and entry point, a million cases or ten minutes each (TIME=60: a minute for all)"
	@echo "make supply  known vulnerabilities, a bill of materials in build/, the wheel built twice and compared"
	@echo "make constraints   pin what pip resolves now, for this Python"
	@echo "make docs    the documentation, as pages in site/"
	@echo "make lint    ruff, mypy, import-linter"
	@echo "make clean   remove what the others made"

install: .venv/runtime.done
	@echo "Installed: $(BIN)/riemdp. Next: . $(BIN)/activate; riemdp demo"

demo: .venv/runtime.done
	@rm -rf demo
	$(BIN)/riemdp demo demo

test: .venv/test.done
	RIEMDP_TESTS_ON_WHEEL=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

coverage: .venv/test.done .venv/coverage.done
	RIEMDP_TESTS_ON_WHEEL=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term --cov-report=html $(ARGS)

# Old packages warn of what is new beneath them: that alone is not an error here.
lowest: build/wheel.done
	@echo "Making build/lowest"
	@$(OLDEST) -m venv --clear build/lowest
	@build/lowest/bin/python -m pip -qq --disable-pip-version-check install --no-compile \
	    --constraint constraints/lowest.txt "$(WHEEL)[dask,test]"
	RIEMDP_TESTS_ON_WHEEL=1 build/lowest/bin/python -m pytest -n $(WORKERS) --dist worksteal \
	    -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning $(ARGS)

bench: .venv/test.done
	$(BIN)/python benchmarks/means.py $(ARGS)
	$(BIN)/python benchmarks/spaces.py $(filter --quick,$(ARGS))
	$(BIN)/python benchmarks/samplers.py
	$(BIN)/python benchmarks/release.py

scale: .venv/test.done
	$(BIN)/python benchmarks/scale.py $(ARGS)

figures: .venv/runtime.done
	$(BIN)/python experiments/figures.py $(FIG) $(if $(QUICK),--quick)

audit: .venv/runtime.done
	$(BIN)/python audits/planted.py
	$(BIN)/python audits/product.py --workers $(WORKERS) $(ARGS)
	$(BIN)/python audits/timing.py $(filter --quick,$(ARGS))
	$(BIN)/python audits/torture.py $(if $(filter --quick,$(ARGS)),--cases 2000)

fuzz: .venv/fuzz.done
	$(BIN)/python fuzz/run.py --workers $(WORKERS) $(addprefix --time ,$(TIME)) $(ARGS)

constraints: .venv/pip.done
	$(BIN)/python supply/constraints.py

# What needs the network comes last.
supply: .venv/supply.done
	$(BIN)/python supply/reproducible.py
	$(BIN)/cyclonedx-py environment --output-reproducible --of JSON -o build/sbom.json $(BIN)/python
	$(BIN)/python supply/vulnerabilities.py

docs: .venv/docs.done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python docs/look.py site

lint: .venv/lint.done
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv build htmlcov .coverage demo site figures benchmarks/results audits/results

.venv/pip.done:
	@echo "Making .venv"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "riemdp needs Python 3.11 or newer: make PYTHON=python3.x")'
	@$(PYTHON) -m venv --clear .venv
	@touch $@

build/wheel.done: .venv/pip.done $(SOURCES)
	@rm -rf build/wheel
	@PIP_CONSTRAINT=$(CONSTRAINTS) PIP_BUILD_CONSTRAINT=$(CONSTRAINTS) $(PIP) wheel --no-deps --wheel-dir build/wheel .
	@touch $@

# A wheel of the same version does not replace an installed one unless forced.
.venv/runtime.done: build/wheel.done
	@echo "Installing riemdp"
	@$(INSTALL) $(WHEEL)
	@$(INSTALL) --force-reinstall --no-deps $(WHEEL)
	@touch $@

.venv/%.done: .venv/runtime.done
	@echo "Installing what '$*' needs"
	@$(INSTALL) "$(WHEEL)[$*]"
	@touch $@
