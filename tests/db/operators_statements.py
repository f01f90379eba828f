"""Operators' acts on a row, by the name of the act or of its statement; each is called with the only row."""

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, text

from snoozer.db import pauses
from snoozer.queue import changes, queue
from snoozer.queue.reminder import Claim
from tests.db.links import DAILY
from tests.db.operations import operate

Act = Callable[[Connection, Claim], object]


def plainly(act: Act) -> Callable[[Engine, Claim], object]:
    def done(engine: Engine, held: Claim) -> object:
        with engine.begin() as connection:
            return act(connection, held)

    return done


def with_a_send(state: str, act: Act, *, repeats: bool = False) -> Callable[[Engine, Claim], object]:
    """The act once what the row promises has an entry in that state."""

    def done(engine: Engine, held: Claim) -> object:
        with engine.begin() as connection:
            connection.execute(
                text(
                    "UPDATE email_snoozes SET scheduled_for = COALESCE(scheduled_for, remind_at),"
                    " recurrence = CAST(:recurrence AS jsonb)"
                ),
                {"recurrence": json.dumps(DAILY) if repeats else None},
            )
            connection.execute(
                text(
                    "INSERT INTO reminder_sends (snooze_id, user_email, message_id, scheduled_for, bucket,"
                    " reminder_message_id, state, claim_token, zone, reserved_at, dot_authorised_at, uncertain_at,"
                    " sent_at, bytes_sha256) SELECT id, user_email, message_id, scheduled_for, bucket,"
                    " gen_random_uuid(), CAST(:state AS text), gen_random_uuid(), 'UTC', now(), now(), now(),"
                    " CASE WHEN CAST(:state AS text) = 'sent' THEN now() END, '0' FROM email_snoozes"
                ),
                {"state": state},
            )
            return act(connection, held)

    return done


def paused(connection: Connection) -> int:
    """A pause of everything; returns its id."""
    connection.execute(text("UPDATE pauses SET ended_at = now(), ended_by = 'operator:1'"))
    id = pauses.begin(connection, kind="all", value="", actor="operator:1", reason="a test")
    assert id is not None
    return id


def set_aside(connection: Connection, held: Claim) -> object:
    pause_ids = [paused(connection)]
    return queue.set_aside(connection, held=[(held.id, held.claim_token)], pause_ids=pause_ids)


def operated(act: str, /, **parameters: Any) -> Callable[[Connection, Claim], object]:
    return lambda connection, held: operate(connection, act, [held.id], **parameters)


def resumed(connection: Connection, held: Claim) -> object:
    """What is paused was set aside by operators."""
    pause = paused(connection)
    connection.execute(
        text("UPDATE email_snoozes SET paused_by = :id WHERE inactive AND outcome IS NULL"), {"id": pause}
    )
    return operate(connection, "resume", [held.id], pause=pause)


OPERATORS_ACTS: list[tuple[str, Callable[[Engine, Claim], object]]] = [
    ("set_aside", plainly(set_aside)),
    ("lock_for_operator", plainly(lambda connection, held: changes.lock_for_operator(connection, ids=[held.id]))),
    ("release_claims", plainly(operated("release", of_the_living=True))),
    ("delay", plainly(operated("delay", delay_seconds=3_600))),
    ("dismiss", plainly(operated("dismiss"))),
    ("mark_invalid", plainly(operated("mark_invalid"))),
    ("raise_attempts", plainly(operated("raise_attempts", more_attempts=1))),
    ("reactivate", plainly(operated("reactivate"))),
    ("resolve_drop", with_a_send("uncertain", operated("resolve_drop"))),
    ("resolve_drop", with_a_send("uncertain", operated("resolve_drop"), repeats=True)),
    ("resolve_resend", with_a_send("uncertain", operated("resolve_resend"))),
    ("resolve_sent", with_a_send("sent", operated("resolve_sent"))),
    ("resolve_sent", with_a_send("sent", operated("resolve_sent"), repeats=True)),
    ("resolve_sent", with_a_send("uncertain", operated("resolve_sent"))),
    ("resume", plainly(resumed)),
    ("undo", plainly(operated("undo", act="dismiss"))),
    ("undo", plainly(operated("undo", act="reactivate"))),
]
