"""USE CASE of doing an act on many messages once, and of its Undo, which gives back what nothing has changed since.

An act is entered under an id that is made from the submitted form: the same form does it once.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from snoozer.bulk_acts.acts import append_events
from snoozer.bulk_acts.results import Before, Done, Reason, Result, Undone, counted, reason_to_leave
from snoozer.db import bulk_acts, mailbox_messages, mailbox_store, queue_many


def result_of(connection: Connection, *, account_id: int, id: UUID) -> Result | None:
    """What an act came to; None where it was not done, or is only being done."""
    known = bulk_acts.lock(connection, account_id=account_id, id=id)
    return None if known is None else Result.from_json(known.result)


def once(connection: Connection, *, account_id: int, id: UUID, act: Callable[[], Done]) -> Result:
    """Do an act under its id, unless it is done already; returns what it came to, then or now."""
    is_new = bulk_acts.begin(connection, account_id=account_id, id=id)
    known = None if is_new else result_of(connection, account_id=account_id, id=id)
    if known is not None:
        return known
    result, before = act()
    bulk_acts.finish(connection, account_id=account_id, id=id, result=result.as_json(), before=vars(before))
    return result


def undo(connection: Connection, *, account_id: int, user_email: str, id: UUID, route: str) -> Undone | None:
    """Put back what an act changed, where nothing has changed it since. Returns None for an act that is not known any
    more, or was undone already."""
    act = bulk_acts.lock(connection, account_id=account_id, id=id)
    if act is None or act.undone_at is not None:
        return None
    bulk_acts.mark_undone(connection, account_id=account_id, id=id)
    before = Before(**act.before)
    ids = [row["id"] for row in before.snoozes] + before.created
    present = queue_many.lock_chosen(connection, user_email=user_email, ids=ids)
    mailbox_store.lock_many(connection, user_email=user_email, message_ids=[one["message_id"] for one in before.kept])
    restored = queue_many.cancel_many(
        connection, ids=before.created, user_email=user_email, unchanged_since=act.created_at
    ) | _put_back(connection, before.snoozes, user_email=user_email, since=act.created_at)
    stayed = [row for row in present if row.id not in restored]
    beyond = {row.message_id for row in stayed} - set(restored.values())
    messages = [one for one in before.kept if one["message_id"] not in beyond]
    alone = mailbox_store.put_back(connection, user_email=user_email, before=messages) - {
        row.message_id for row in present
    }
    wanted = [(its_id, place) for its_id, message_id, place in before.wanted if message_id not in beyond]
    mailbox_messages.want_back(connection, user_email=user_email, wanted=wanted)
    moved = mailbox_messages.relocate_back(connection, before.moves, user_email=user_email)
    append_events(connection, "undone", restored, route=route)
    left = Counter[Reason](reason_to_leave(row) or "changed" for row in stayed)
    left["changed"] += len({one["message_id"] for one in messages} - alone - {row.message_id for row in present})
    left["changed"] += len(before.moves) - len(moved)
    left["gone"] += len(ids) - len(present)
    return Undone(done=len(restored) + len(alone) + len(moved), left=counted(left))


def _put_back(
    connection: Connection, snoozes: Sequence[dict[str, Any]], *, user_email: str, since: datetime
) -> dict[int, str]:
    """All at once, and one by one where a concurrent transaction has just snoozed one of their messages again."""
    try:
        with connection.begin_nested():
            return queue_many.put_back_many(connection, before=snoozes, user_email=user_email, unchanged_since=since)
    except IntegrityError:
        if len(snoozes) == 1:
            return {}
    one_by_one = (_put_back(connection, [one], user_email=user_email, since=since) for one in snoozes)
    return {id: message_id for restored in one_by_one for id, message_id in restored.items()}
