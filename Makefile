# Two commands: `make book` and `make test`. Both set everything up when it is missing.
# They need make and Python 3.11 or newer; `make book PYTHON=python3.12` names another interpreter.

PYTHON ?= python3
PORT ?= 8000
PROFILE ?= quick
BIN := .venv/bin
READY := .venv/.installed
MATHJAX := book/_static/mathjax/tex-svg-full.js
EXPERIMENTS := $(patsubst notebooks/%,book/experiments/%,$(wildcard notebooks/[0-9]*.ipynb))
CHAPTERS := $(filter-out %one_page.ipynb,$(sort $(wildcard book/*.ipynb)))
TORCH := $(shell sed -n '/^torch==/p' constraints.txt)

# Notebooks run in this project's environment, whatever kernel or start-up file the user has set.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export JUPYTER_PREFER_ENV_PATH := 1
export JUPYTER_PATH := $(CURDIR)/.venv/share/jupyter
export IPYTHONDIR := $(CURDIR)/.venv/ipython
# One thread an operation: experiments use the cores by running side by side, small networks gain
# little from more, and rounding (so the last digit of a result) depends on the number of threads.
export OMP_NUM_THREADS ?= 1
# Processes of `make test`; a file's tests stay in one, since they share what they have prepared. Long
# files come first (tests/conftest.py), and not those with many tests, which xdist would prefer.
TEST_JOBS ?= 2
# Notebooks run in folders of their own, where a relative path would mean another place.
ifneq ($(DMAC_DATA),)
override DMAC_DATA := $(shell cd "$(DMAC_DATA)" && pwd || echo "$(DMAC_DATA)")
export DMAC_DATA
endif
# Progress bars and the debugger's notices would be stored in the pages.
export TQDM_DISABLE := 1
export PYDEVD_DISABLE_FILE_VALIDATION := 1

.PHONY: help book html pdf experiments figures test lint coverage wheel faults fuzz fuzz-mat soak bench gpu \
    serve lab clean $(EXPERIMENTS)

help:
	@echo "make book   set up if needed, run the experiments, execute the chapters, render the book"
	@echo "make test   set up if needed, run every test, every chapter and every experiment"
	@echo "make coverage  the tests of the core: which lines and branches they run, at least 95 % (ten minutes)"
	@echo "make lint   ruff, and advice on the pages: paragraphs full of numbers, long sources"
	@echo "make html   render the book again without running the experiments again"
	@echo "make experiments PROFILE=quick|full   short runs of every experiment, or all missing stored runs"
	@echo "make figures  run the pages of the experiments, write their figures and tables to _build/figures"
	@echo "make pdf    print the rendered book to _build/html/dmac-book.pdf, with Chromium"
	@echo "make wheel  build wheel and sdist, use the wheel in an empty environment, lowest and highest versions"
	@echo "make faults  kill fits and the store at KILLS=50 random moments: nothing may be lost"
	@echo "make bench  time every system on every shape, one after the other, epochs and whole fits (idle machine)"
	@echo "make gpu    tests, run times and scores on this machine's GPU into OUT (nine minutes at most)"
	@echo "make fuzz   odd views through every recipe and every system, CASES=2000 of them for each (15 minutes)"
	@echo "make fuzz-mat  damaged files through the reader, guided by its coverage, for SECONDS=600"
	@echo "make soak   200 random data sets through the estimator in one process: memory must not grow"
	@echo "make lab    open the book's notebooks in JupyterLab (installs it first)"
	@echo "make serve  show the rendered book at http://localhost:$(PORT) (PORT=... changes it)"
	@echo "make clean  remove what was built; the environment in .venv stays"

# The pages of the experiments run two at a time, and so do the chapters (scripts/side_by_side.py).
book: $(READY)
	@$(MAKE) --no-print-directory -j2 $(EXPERIMENTS)
	@$(MAKE) --no-print-directory html

# Chapters are executed afresh each time: an execution cache would not see edits in dmac/.
html: $(READY) $(MATHJAX)
	@for page in $(EXPERIMENTS); do test -f $$page || { \
	    echo "$$page is missing: run make book, which runs the experiments first."; exit 1; }; done
	@rm -f $(filter-out $(EXPERIMENTS),$(wildcard book/experiments/*.ipynb))  # of experiments that are gone
	$(BIN)/jupyter-book build . --all -W --keep-going
	$(BIN)/python scripts/portable.py
	@rm -rf build  # what an older wheel was made of
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir _build/html .
	@echo
	@echo "The book is ready. Open _build/html/index.html"
	@$(BIN)/python -c "import pathlib; print(pathlib.Path('_build/html/index.html').resolve().as_uri())"

# The book's notebooks, to run and to change.
lab: $(READY)
	$(BIN)/python -m pip install --quiet -e ".[lab]"
	$(BIN)/jupyter lab book

# Chromium prints what `make book` has rendered: nothing is executed again.
pdf: $(READY)
	@test -f _build/html/genindex.html || { echo "There is no book yet: run make book first."; exit 1; }
	$(BIN)/python scripts/print_book.py

$(EXPERIMENTS): book/experiments/%: notebooks/% $(READY)
	@mkdir -p $(@D)
	env -u TQDM_DISABLE $(BIN)/papermill $< $@ \
	    --cwd notebooks --kernel python3 --log-output --no-progress-bar

# The runs behind those pages: `full` makes what notebooks/results lacks (hours; it can be stopped at any
# moment and goes on where it was), `quick` short runs of a few hundred numerals that are not kept.
experiments: $(READY)
ifeq ($(PROFILE),full)
	$(BIN)/python scripts/run_experiments.py
else ifeq ($(PROFILE),quick)
	@mkdir -p _build/quick
	@set -e; for page in $(notdir $(EXPERIMENTS)); do echo "$$page"; $(BIN)/papermill notebooks/$$page \
	    _build/quick/$$page -p dataset mfeat -p profile quick --cwd notebooks --kernel python3 \
	    --no-progress-bar; done
else
	@echo "PROFILE is $(PROFILE); it must be quick or full"; exit 1
endif

figures: $(READY)
	@$(MAKE) --no-print-directory -j2 $(EXPERIMENTS)
	@rm -rf _build/figures
	@PYTHONPATH=notebooks $(BIN)/python -m experiments.export book/experiments _build/figures

test: $(READY)
	$(BIN)/python -m pytest tests $(CHAPTERS) --nbval-lax -n $(TEST_JOBS) \
	    --dist loadfile --no-loadscope-reorder

# Advice, which never fails: ruff's, and what scripts/lint.py has to say of the pages.
lint: $(READY)
	-$(BIN)/ruff check .
	-$(BIN)/ruff format --check .
	-$(BIN)/python scripts/lint.py

# Tests of the module's core, without those of pages, pictures, scripts, experiments and systems,
# and without kills and odd views, which would take as long as all others.
ELSEWHERE := api book browser drawings faults fold_modules fuzz launch_buttons moving notebooks \
    number_record portable print_book project repeat_runs show_checks side_by_side soak \
    write_concordance
CORE_TESTS := tests/agc tests/data tests/compute tests/solvers \
    $(filter-out $(ELSEWHERE:%=tests/test_%.py),$(wildcard tests/test_*.py))

coverage: $(READY)
	@rm -rf _build/coverage && mkdir -p _build/coverage
	$(BIN)/python -m pytest $(CORE_TESTS) -n $(TEST_JOBS) --dist loadfile --cov --cov-report=html \
	    --cov-report=term:skip-covered

# What a stranger gets: needs the network, and three to six minutes.
wheel: $(READY)
	@mkdir -p _build
	$(BIN)/python scripts/check_wheel.py --keep _build/dist
CASES ?= 2000
SECONDS ?= 600

fuzz: $(READY)
	DMAC_FUZZ_CASES=$(CASES) $(BIN)/python -m pytest tests/test_fuzz.py -s -n $(TEST_JOBS)

# The fuzzer comes into a folder of its own, in the version that pyproject.toml allows, and goes.
fuzz-mat: $(READY)
	@mkdir -p _build/fuzz-mat
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	    $(BIN)/python -m pip install --quiet --no-deps --target "$$folder" \
	        "$$(sed -n 's/^    "\(atheris[^"]*\)".*/\1/p' pyproject.toml)"; \
	    PYTHONPATH="$(CURDIR):$$folder" $(BIN)/python scripts/fuzz_mat.py _build/fuzz-mat $(SECONDS)

soak: $(READY)
	$(BIN)/python scripts/soak.py

KILLS ?= 50
faults: $(READY)
	$(BIN)/python scripts/faults.py --kills $(KILLS)

# Stored in the repository, since timings need a machine that does nothing else. The libraries beside
# which fits are timed come first: without them their rows would be lost.
TIMED := parts fits growth baselines levels samples epochs
BENCH := OMP_NUM_THREADS=2 PYTHONPATH=notebooks $(BIN)/python -m experiments.bench

bench: $(READY)
	$(BIN)/python -m pip install --quiet -e ".[libraries,field]" -c constraints.txt
	rm -f $(TIMED:%=notebooks/results/runs/bench-%.jsonl)
	@set -e; for part in $(TIMED); do $(BENCH) $$part; done

# No environment is made: any PYTHON with torch, scikit-learn, h5py, safetensors and pytest will do. It
# takes as many threads as it likes, unless the user has set their number.
OUT ?= _build/gpu
gpu:
	$(if $(filter file,$(origin OMP_NUM_THREADS)),env -u OMP_NUM_THREADS) env PYTHONPATH=notebooks \
	    $(PYTHON) -m experiments.bench device --results "$(OUT)"

serve:
	@test -f _build/html/index.html || { echo "There is no book yet: run make book first."; exit 1; }
	$(PYTHON) -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

clean:
	rm -rf _build book/experiments book/_static/mathjax .pytest_cache .hypothesis .mypy_cache
	find dmac tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
	    echo "$(PYTHON) was not found: install Python 3.11 or newer, or name it: make PYTHON=..."; \
	    exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "$(PYTHON) is $$($(PYTHON) --version 2>&1), and 3.11 or newer is needed:" \
	         "name another one, as in make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "$(PYTHON) cannot make virtual environments: install its venv package" \
	         "(on Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(TORCH)
	$(BIN)/python -m pip install -e ".[book,test,cells]" -c constraints.txt
	@touch $@

# MathJax comes from an installed package, so that no page needs the network; it is not committed.
$(MATHJAX): $(READY)
	@mkdir -p $(@D)
	@$(BIN)/python -c "import importlib.resources as r, shutil, sys; \
	    source = r.files('mathjax') / 'static' / 'mathjax'; \
	    shutil.copy(source / 'LICENSE', sys.argv[1]); \
	    shutil.copy(source / 'es5' / 'tex-svg-full.js', sys.argv[1])" $(@D)
	@touch $@
