"""USE CASE of operators: an operation is created with its rows, frozen, done in chunks by the clock or at once, and
cancelled.

A chunk is one short transaction: its rows are changed, the result of each is recorded, and the audit log gets an entry,
all or nothing. So a crash never loses or repeats work, and a cancelled operation ends between chunks.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid5

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError

from snoozer.db import audit, operations
from snoozer.db.audit import Entry
from snoozer.db.bisection import bisect
from snoozer.db.errors import error_text, is_lasting, is_of_rows, is_unavailable
from snoozer.db.operations import Operation, Verdict
from snoozer.operators.row_acts import SNOOZED_AGAIN, UNDOABLE, apply
from snoozer.runtime.backoff import Pauses
from snoozer.runtime.failpoint import FailpointHook

log = logging.getLogger(__name__)

# Rows that one operation freezes; this takes some seconds. The next operation has the rest.
MAX_MEMBERS = 100_000
CHUNK_SIZE = 500
# Per call of `work`: chunks of one operation before the next one has its turn, and operations.
MAX_CHUNKS = 10
MAX_OPERATIONS = 50
# For how long an operator can undo an act, as people can.
UNDO_FOR = timedelta(minutes=10)
UNDONE = "Undone"
_UNDOES = UUID("a36ab1ae-4b4a-4c8b-9a53-1f4f3c1d3c0e")


@dataclass(frozen=True, kw_only=True)
class Request:
    """An act that an operator requested, once for each submitted `form`. `reason` and `parameters` hold no address and
    no text of a message."""

    form: UUID
    act: str
    actor: str
    reason: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    request_id: str | None = None


def enter(connection: Connection, request: Request, *, batches: Iterable[Sequence[int]]) -> tuple[int, bool]:
    """Create an operation on the snoozes of these batches, in the caller's transaction; returns its id, and False if
    its form was submitted before. No other rows are changed."""
    id = operations.begin(connection, **vars(request))
    if id is None:
        known = operations.find(connection, form=request.form)
        if known is None:
            raise RuntimeError("an operation whose form is known was not found")
        return known, False
    for batch in batches:
        operations.freeze(connection, id=id, snooze_ids=batch)
    return id, True


def cancel(connection: Connection, *, id: int, actor: str) -> int | None:
    """Cancel an operation once its present chunk is done; returns how many of its rows it leaves untouched, None if it
    was finished, or brings back paused snoozes."""
    untouched = operations.cancel(connection, id=id, actor=actor)
    if untouched is not None:
        entry = Entry(target=f"operation:{id}", after={"untouched": untouched})
        audit.append(connection, actor=actor, act="cancel_operation", operation_id=id, entries=[entry])
    return untouched


def undo(connection: Connection, *, id: int, actor: str) -> int | None:
    """Create the operation that undoes a finished one, once; returns its id, None if that is not possible any more.
    Rows that have changed again are left as they are."""
    act = operations.find_undoable(connection, id=id, acts=sorted(UNDOABLE), lately=UNDO_FOR)
    if act is None:
        return None
    parameters = {"operation": id, "act": act}
    new = operations.begin(
        connection, form=uuid5(_UNDOES, str(id)), act="undo", parameters=parameters, actor=actor, reason=UNDONE
    )
    if new is not None:
        operations.freeze_done(connection, id=new, undone=id)
    return new


def no_failpoint(step: str, message_id: str) -> None:
    """Test hook; does nothing in production."""


def work(
    engine: Engine,
    *,
    chunk_size: int = CHUNK_SIZE,
    passed: FailpointHook = no_failpoint,
    pauses: Pauses | None = None,
) -> int:
    """Continue unfinished operations, some chunks of each; returns how many chunks were done. A failing operation does
    not stop the others; if it fails by an error that lasts, it has its own of these `pauses`."""
    pauses = pauses or Pauses(first=0, cap=0)
    with engine.connect() as connection:
        open_operations = operations.list_open(connection, limit=MAX_OPERATIONS)
    done = 0
    for id in open_operations:
        key = f"operation {id}"
        if not pauses.is_over(key):
            continue
        try:
            for _ in range(MAX_CHUNKS):
                if not do_chunk(engine, id, chunk_size=chunk_size, passed=passed):
                    break
                done += 1
        except DBAPIError as error:
            if is_unavailable(error):
                raise
            if is_lasting(error):
                pauses.failed(key)
            log.warning("operation %d goes on later: %s", id, error_text(error))
        else:
            pauses.succeeded(key)
    return done


def finish(engine: Engine, id: int) -> None:
    """Do a small operation at once. Rows that another transaction has locked are left to the clock."""
    while do_chunk(engine, id):
        pass


def do_chunk(engine: Engine, id: int, *, chunk_size: int = CHUNK_SIZE, passed: FailpointHook = no_failpoint) -> bool:
    """Do the next chunk of an operation; returns whether there may be more to do now."""
    with engine.begin() as connection:
        operation = operations.lock(connection, id=id)
        if operation is None:
            return False
        verdicts = _next_verdicts(connection, operation, chunk_size=chunk_size)
        passed("operation_changed", str(id))
        is_finished = operations.record(connection, id=id, verdicts=verdicts)
        _append_to_audit_log(connection, operation, verdicts)
        passed("operation_recorded", str(id))
    passed("operation_committed", str(id))
    return bool(verdicts) and not is_finished


def _next_verdicts(connection: Connection, operation: Operation, *, chunk_size: int) -> Mapping[int, Verdict]:
    """The verdicts of the next chunk in which any row is free: rows that others have locked do not block the rest."""
    after = 0
    while ids := operations.next_members(connection, id=operation.id, after=after, limit=chunk_size):
        if verdicts := _decide(connection, operation, ids):
            return verdicts
        after = ids[-1]
    return {}


def _decide(connection: Connection, operation: Operation, ids: Sequence[int]) -> Mapping[int, Verdict]:
    done, failed = bisect(connection, ids, partial(apply, connection, operation), is_row_error=is_of_rows)
    verdicts = {id: verdict for part in done for id, verdict in part.items()}
    return verdicts | {id: _failed(error) for id, error in failed}


def _append_to_audit_log(connection: Connection, operation: Operation, verdicts: Mapping[int, Verdict]) -> None:
    entries = [
        Entry(snooze_id=id, before=verdict.before, after=verdict.after)
        for id, verdict in verdicts.items()
        if verdict.result == "done"
    ]
    audit.append(
        connection,
        actor=operation.actor,
        act=operation.act,
        reason=operation.reason,
        request_id=operation.request_id,
        operation_id=operation.id,
        entries=entries,
    )


def _failed(error: DBAPIError) -> Verdict:
    if isinstance(error, IntegrityError) and "uq_email_snoozes_live" in str(error.orig):
        return Verdict(result="unchanged", detail=SNOOZED_AGAIN)
    return Verdict(result="failed", detail=error_text(error))
