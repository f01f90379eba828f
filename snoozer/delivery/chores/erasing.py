"""Deletes the accounts whose owners asked for it a day ago: in small steps, each a transaction, which continue after a
crash. The accounts take turns, so that none holds up the others."""

from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Connection, Engine

from snoozer.db import audit, cutover, deletions, pauses
from snoozer.db.audit import Entry
from snoozer.db.deletions import BegunDeletion
from snoozer.db.statements import database_time
from snoozer.delivery.chores.chore_runner import run_exclusive
from snoozer.queue import queue
from snoozer.telemetry import security_log

BATCH_SIZE = 500
# Steps in one call; each step is one transaction for one account.
MAX_STEPS = 200
# A reminder that is refused for now is retried for three days.
DELIVER_WITHIN = timedelta(days=7)
# After this a mailbox is forgotten even if its server is away or no process watches it.
MAILBOX_WITHIN = timedelta(days=2)
# How long requests that were under way may still save data.
SETTLE = timedelta(minutes=5)


def erase_accounts(engine: Engine, *, settle: timedelta = SETTLE) -> int:
    """Begin the deletions that are due, and continue those that have begun: one step of each. Returns how many accounts
    are gone."""
    run_exclusive(engine, "begin deletions", _begin)
    with engine.connect() as connection:
        began = database_time(connection)
    gone = 0
    for _ in range(MAX_STEPS):
        step = run_exclusive(engine, "erase accounts", partial(_step, before=began, settle=settle))
        if step is None:
            break
        gone += step
    return gone


def _begin(connection: Connection) -> None:
    for account_id in deletions.begin(connection, batch_size=BATCH_SIZE):
        _audit(connection, "begin_erasure", account_id)


def _step(connection: Connection, *, before: datetime, settle: timedelta) -> bool | None:
    """One batch of one account. Returns whether the account is gone; None if each was worked on since `before`."""
    account = deletions.next(
        connection,
        before=before,
        deliver_within=DELIVER_WITHIN,
        settle=settle,
        mailbox_within=MAILBOX_WITHIN,
    )
    if account is None:
        return None
    if account.delivers and _deliver(connection, account):
        return False
    left = [
        len(queue.erase(connection, user_email=account.email, batch_size=BATCH_SIZE)),
        deletions.erase_archived(connection, user_email=account.email, batch_size=BATCH_SIZE),
        deletions.erase_kept(connection, account_id=account.id, user_email=account.email, batch_size=BATCH_SIZE),
    ]
    if any(left) or not account.is_settled:
        return False
    if account.waits_for_mailboxes and deletions.has_mailboxes(connection, account_id=account.id):
        return False
    if not deletions.finish(connection, account_id=account.id):
        return False
    pauses.erase(connection, user_email=account.email)
    cutover.erase(connection, user_email=account.email)
    _audit(connection, "erase_account", account.id)
    security_log.record("account_deleted", account=account.id)
    return True


def _deliver(connection: Connection, account: BegunDeletion) -> bool:
    """Bring forward waiting snoozes. Returns whether some are still to be delivered."""
    queue.deliver_now(connection, user_email=account.email, batch_size=BATCH_SIZE)
    return queue.is_awaited(connection, user_email=account.email)


def _audit(connection: Connection, act: str, account_id: int) -> None:
    """Record the account's number, which is never reused: it is all that remains of the account."""
    audit.append(connection, actor="clock", act=act, entries=[Entry(target=f"account:{account_id}")])
