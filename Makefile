.DEFAULT_GOAL := help
.PHONY: help setup run test check storm bench compare

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## the virtual environment .venv, from requirements.lock
	@bin/setup

run: setup ## all of Snoozer at http://127.0.0.1:8000 (PORT), data in .snoozer; Ctrl-C stops it
	@exec .venv/bin/snoozer up --with-parent $(ARGS)

test: check ## every test, on a real Postgres, real mail servers and a real browser
	@bin/prepare-tests
	@.venv/bin/pytest -n 2
	@bin/prepare-tests --left-out

check: ## style, types and the import map
	@bin/setup dev
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo

bench: setup ## how fast this machine drains, beside a bare loop over the same statements
	@exec .venv/bin/python -m bench $(ARGS)

compare: setup ## Snoozer beside PgQueuer and Procrastinate, which it installs into bench/.venv
	@exec .venv/bin/python -m bench compare $(ARGS)

storm: ## a thousand kills and worse, judged by what a mail server wrote down: verdict.json
	@bin/setup dev
	@SNOOZER_STORM=1 .venv/bin/pytest -n 0 -s tests/chaos/storm
