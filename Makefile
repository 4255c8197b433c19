# Every target starts with the set-up: .venv is made or brought up to date when it has to be.
# Paths are relative and programs run as `python -m`, so a checkout may have spaces in its path.
PYTHON ?= $(or $(shell command -v python3),python)
PORT ?= 8888
PY := .venv/bin/python
OWN := $(if $(filter file,$(origin PYTHON)),,--this-python)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup setup-dev lab present handout html test pytest refresh reset lint data wheels clean test-browser test-handout test-portable test-classroom bench

help:
	@echo 'make lab               install what is needed, open JupyterLab on lesson 01'
	@echo '                       (NB=05 another lesson, PORT=8889 another port)'
	@echo 'make reset NB=02       a fresh copy of a lesson in work/; yours is kept beside it'
	@echo 'make present [NB=05]   the same for a lecture: one document, large type, no side bars'
	@echo 'make handout           copies for students and for the lecturer, in build/handout/'
	@echo 'make html              the course as pages that need no server, in build/html/'
	@echo 'make data              fetch tiny-Shakespeare (SOURCE=path: from a file)'
	@echo 'make wheels            gather what an install needs into wheels/, for one without network'
	@echo
	@echo 'make test              everything: lint, tests of the helpers, strict replay'
	@echo 'make test-browser      every lesson, explorer and page in a real Chromium'
	@echo 'make test-handout      run the copies that make handout makes'
	@echo 'make test-portable     replay every lesson as on other machines (some minutes)'
	@echo 'make test-classroom    ten students on one JupyterHub at once (STUDENTS=20, NB=05)'
	@echo 'make bench [ONLY=…]     measure what the course costs, against its bars (many minutes)'
	@echo 'make lint              style of code and notebooks'
	@echo 'make refresh [NB=01]   run notebooks from a clean kernel and store their outputs'
	@echo 'make clean             remove .venv and everything built; work/ and data/ stay'
	@echo
	@echo 'PYTHON=python3.12 makes .venv with that Python.'

setup:
	@"$(PYTHON)" helpers/tools/environment.py $(OWN)

setup-dev:
	@"$(PYTHON)" helpers/tools/environment.py --dev $(OWN)

lab: setup
	@PORT="$(PORT)" $(PY) helpers/tools/lab.py open $(NB)

present: setup
	@PORT="$(PORT)" $(PY) helpers/tools/lab.py present $(if $(NB),"$(NB)")

handout: setup-dev
	@$(PY) helpers/tools/handout.py

html: setup-dev
	@$(PY) helpers/tools/pages.py

reset: setup
	@$(PY) helpers/tools/lab.py reset $(NB)

data: setup
	@$(PY) helpers/tools/data.py $${SOURCE:+"$$SOURCE"}

wheels: setup-dev
	@$(PY) helpers/tools/wheels.py --dev

test: lint pytest

pytest: setup-dev
	@$(PY) -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

test-browser: setup-dev
	@$(PY) -m pytest -q -m browser helpers/tests/browser

test-handout: setup-dev
	@$(PY) helpers/tools/handout.py --run

test-portable: setup-dev
	@$(PY) helpers/tools/portable.py $(NAME)

test-classroom: setup-dev
	@$(PY) -m pip install -q --no-build-isolation -e '.[classroom]'
	@$(PY) helpers/tools/classroom.py $(if $(STUDENTS),--students "$(STUDENTS)") $(if $(NB),--lesson "$(NB)")

bench: setup-dev
	@$(PY) helpers/tools/bench.py --only "$(ONLY)" --without "$(WITHOUT)"

lint: setup-dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check helpers

refresh: setup-dev
	@$(PY) helpers/tools/refresh.py $(NB)

clean:
	@"$(PYTHON)" helpers/tools/clean.py
