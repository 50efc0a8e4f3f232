# report · test · lab · reports · docs · bench · lint · clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := report
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
SAY := $(PYTHON) runners/scripts/with_progress.py
# Compiled modules are kept: without them every process would compile its packages again, seconds each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: report reports lab docs test test-long bench bench-loadgen bench-server bench-store bench-recording bench-power bench-any-server bench-campaign bench-fleet lint pins doctor clean

report: $(READY)
	@$(BIN)/lab run 01 --size quick

reports: $(READY)
	@for number in $$($(BIN)/lab experiments); do $(BIN)/lab run $$number || exit; done

# Its extension runs the index when it is opened.
lab: $(READY)
	@$(BIN)/lab build
	$(BIN)/jupyter lab notebooks/index.ipynb --config=runners/scripts/jupyterlab/config.py $(if $(filter 0,$(shell id -u)),--allow-root)

doctor: $(READY)
	@$(BIN)/lab doctor

# The pins are compiled from pyproject.toml; uv installs them in seconds.
$(READY): requirements.txt pyproject.toml
	@echo "setting up $(VENV) (Python packages as pinned in requirements.txt)"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(SAY) "fetching uv" $(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' requirements.txt)"
	@$(SAY) --growing "$$($(BIN)/uv cache dir)/archive-v0" --of "$$(grep -c == requirements.txt)" "fetching packages" \
		$(BIN)/uv pip sync --quiet --python $(BIN)/python requirements.txt
	@$(SAY) "installing the lab" $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $(READY)

# The documentation as a site that needs no network, in site/html; a broken link is an error.
docs: $(VENV)/docs-ready
	@$(BIN)/python -m runners.documentation site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file site/mkdocs.yml
	@echo "site/html/index.html"

$(VENV)/docs-ready: $(READY) requirements-docs.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --requirement requirements-docs.txt
	@touch $@

pins: $(READY)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --extra dev pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --group docs --constraint requirements.txt -o requirements-docs.txt

test: $(READY)
	@LAB_CARGO_PROFILE=quick $(BIN)/python -m runners.tests.everything

# The same tests in their full counts, and those that assert times or take many seconds. Prints what they find.
test-long: $(READY)
	@LAB_LONG=1 $(BIN)/python -m runners.tests.everything

bench: bench-loadgen bench-server bench-store bench-power bench-any-server bench-campaign

bench-loadgen: $(READY)
	@$(BIN)/python -m runners.bench.loadgen $(ROWS)

bench-server: $(READY)
	@$(BIN)/python -m runners.bench.server $(ROWS)

# BENCH=--full for a million keys, in parts: ROWS="durable 128B 1200B larger tail open http"
bench-store: $(READY)
	@$(BIN)/python -m runners.bench.store $(BENCH) $(ROWS)
# BENCH=--full for up to 20 comparisons a row, in parts: ROWS="smallest knee planted-request"
bench-power: $(READY)
	@$(BIN)/python -m runners.bench.power $(BENCH) $(ROWS)

# `lab compare` of worked examples, against themselves and with planted work: BENCH="--minutes 20"
bench-any-server: $(READY)
	@$(BIN)/python -m runners.bench.any_server $(BENCH)

# how many hosts one scheduler serves
bench-fleet: $(READY)
	@$(BIN)/python -m runners.bench.overhead fleet

bench-recording: $(READY)
	@$(BIN)/python -m runners.bench.loadgen recording

# a campaign of 50 runs, and what needs none: ROWS="import help dataset overhead fleet"
bench-campaign: $(READY)
	@$(BIN)/python -m runners.bench.overhead $(ROWS)

lint: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports && $(BIN)/python -m runners.tests.words

clean:
	rm -rf $(VENV) site runners/loadgen/target data/runs figures/runs
	find server-java -name target -type d -prune -exec rm -rf {} +
