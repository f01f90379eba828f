"""USE CASE of the clock: add snippets to messages that were stored without one, a few at a time."""

from sqlalchemy import Connection, Engine

from snoozer.db import mailbox_store
from snoozer.delivery.chores.chore_runner import run_exclusive
from snoozer.mail.snippet import snippet_of

# A batch reads at most BATCH_SIZE * READ_BYTES, some megabytes. The rest waits for the next run.
BATCH_SIZE = 25
READ_BYTES = 128 * 1024
MAX_BATCHES = 20


def fill_snippets(engine: Engine) -> int:
    """Run the minutely chore: returns how many messages got a snippet."""
    filled = 0
    for _ in range(MAX_BATCHES):
        batch = run_exclusive(engine, "snippets", _fill) or 0
        filled += batch
        if batch < BATCH_SIZE:
            break
    return filled


def _fill(connection: Connection) -> int:
    found = mailbox_store.list_without_snippet(connection, batch_size=BATCH_SIZE, size=READ_BYTES)
    if found:
        snippets = {id: snippet_of(original) for id, original in found.items()}
        mailbox_store.save_snippets(connection, snippets=snippets)
    return len(found)
