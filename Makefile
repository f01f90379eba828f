.DEFAULT_GOAL := help
.PHONY: help setup run dev lab test fast check storm bench compare schema messages lock release newcomer helm

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## the virtual environment .venv, from requirements*.txt
	@bin/setup

run: setup ## all of Snoozer at http://127.0.0.1:8000 (PORT), data in .snoozer; Ctrl-C stops it
	@exec .venv/bin/snoozer up --with-parent $(ARGS)

dev: ## the same, with pages that follow each change of code, templates and styles
	@bin/setup dev
	@exec .venv/bin/snoozer up --with-parent --reload $(ARGS)

lab: setup ## real workers, database and mail server on a page, to be broken; its own, in a temporary folder
	@exec .venv/bin/python -m lab --with-parent $(ARGS)

fast: ## the tests of rules and mail: half of all in less than a minute
	@bin/setup dev
	@.venv/bin/pytest -n 2 -m fast

test: check ## every test, on a real Postgres, real mail servers and a real browser
	@bin/prepare-tests
	@PYTHONDONTWRITEBYTECODE= .venv/bin/pytest -n 4 --dist worksteal
	@bin/prepare-tests --left-out

check: ## style, types and the import map
	@bin/setup dev
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo
	@.venv/bin/deptry --no-ansi snoozer migrations
	@.venv/bin/deptry --no-ansi tests --exclude bench --ignore DEP002,DEP004
	@bin/check-words

bench: setup ## how fast this machine drains, beside a bare loop over the same statements
	@exec .venv/bin/python -m bench $(ARGS)

compare: setup ## Snoozer beside PgQueuer, Procrastinate, Awa and Celery, which it installs into bench/.venv
	@exec .venv/bin/python -m bench compare $(ARGS)

helm: ## lint the Helm chart, render it and check it by the schemas of Kubernetes, with tools in deploy/helm/.venv
	@test -x deploy/helm/.venv/bin/python || python3 -m venv deploy/helm/.venv
	@deploy/helm/.venv/bin/pip install --quiet --disable-pip-version-check -r deploy/helm/requirements.txt
	@deploy/helm/.venv/bin/python deploy/helm/check.py

newcomer: ## each way to install, typed on a machine with nothing of ours: commands, and seconds to the first reminder
	@bin/setup dev
	@exec .venv/bin/python -m tests.process.newcomer $(ARGS)

storm: ## a thousand kills and worse, judged by what a mail server wrote down: verdict.json
	@bin/setup dev
	@SNOOZER_STORM=1 .venv/bin/pytest -n 0 -s tests/chaos/storm tests/chaos/test_time_phrases.py \
		tests/chaos/test_time_presets.py tests/db/test_interleavings.py tests/db/test_operation_interleavings.py \
		tests/process/test_hosts.py tests/process/test_webhooks.py tests/process/test_worker_dies.py tests/imap/test_mailbox_dies.py \
		tests/imap/test_mailbox_worker_dies.py tests/imap/test_flags.py tests/imap/test_row_snooze.py \
		tests/imap/test_mailbox_refused.py tests/imap/test_two_programs.py tests/imap/test_conversations_corpus.py \
		tests/imap/test_reading_connections.py tests/imap/test_connected_mailbox.py tests/imap/test_pairs_and_deletions.py \
		tests/imap/test_many_mailboxes.py tests/imap/test_watching.py tests/process/test_digest_dies.py \
		tests/process/test_canary.py tests/process/lab tests/process/test_cutover.py tests/process/test_bounces_later.py \
		tests/process/test_ten_outages.py tests/process/test_ahead.py tests/process/test_mail_rings.py tests/web/test_hostile_seeds.py \
		tests/web/test_hostile_words.py tests/mail/test_compose_strangers.py tests/mail/test_compose_digests.py

schema: ## docs/schema.sql and docs/schema.md, after a new migration
	@bin/setup dev
	@.venv/bin/python -m tests.db.schema_file
	@.venv/bin/python -m tests.db.schema_picture

# Words only, no line numbers: what is added in two places then merges by itself.
messages: ## locale/*/LC_MESSAGES/messages.po, after a change of what people read
	@bin/setup dev
	@.venv/bin/pybabel -q extract -F babel.cfg -k _ -k N_ --no-default-keywords -k gettext -k ngettext:1,2 -k npgettext:1c,2,3 --no-location \
		--sort-output --omit-header --no-wrap -o .venv/messages.pot .
	@.venv/bin/pybabel -q update -i .venv/messages.pot -d locale --no-fuzzy-matching --ignore-obsolete --no-wrap \
		--ignore-pot-creation-date

# Versions that are pinned already stay as long as pyproject.toml allows them.
LOCK = uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --no-annotate

lock: ## requirements*.txt after a change of pyproject.toml, by uv
	@$(LOCK) pyproject.toml -o requirements.txt
	@$(LOCK) --group up -c requirements.txt -o requirements-up.txt
	@$(LOCK) --group dev -c requirements.txt -c requirements-up.txt -o requirements-dev.txt

release: ## wheel and sdist of the last commit in dist/, built twice, compared and tried
	@bin/setup dev
	@bin/release
