"""What operators do with a row, by the statement that does it: each is called with the only row there is."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection, Engine, text

from snoozer.db import pauses, queue_acts
from snoozer.domain.reminder import Claim
from tests.factories import HOUR, now

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
                    " recurrence = CASE WHEN :repeats THEN jsonb_build_object('unit', 'day') END"
                ),
                {"repeats": repeats},
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


def drop(connection: Connection, held: Claim, next_time: datetime | None) -> list[int]:
    return queue_acts.drop(connection, next_times={held.id: next_time})


def conclude(connection: Connection, held: Claim) -> list[int]:
    return queue_acts.conclude(connection, ids=[held.id])


def paused(connection: Connection) -> int:
    """A pause of everything; returns its id."""
    connection.execute(text("UPDATE pauses SET ended_at = now(), ended_by = 'operator:1'"))
    id = pauses.begin(connection, kind="all", value="", actor="operator:1", reason="a test")
    assert id is not None
    return id


def set_aside(connection: Connection, held: Claim) -> object:
    pause_ids = [paused(connection)]
    return queue_acts.set_aside(connection, held=[(held.id, held.claim_token)], pause_ids=pause_ids)


def bring_in(connection: Connection, held: Claim) -> object:
    """What is paused was set aside by operators."""
    pause_id = paused(connection)
    connection.execute(
        text("UPDATE email_snoozes SET paused_by = :id WHERE inactive AND outcome IS NULL"), {"id": pause_id}
    )
    return queue_acts.bring_in(connection, ids=[held.id], pause_id=pause_id)


OPERATORS_ACTS: list[tuple[str, Callable[[Engine, Claim], object]]] = [
    ("bring_in", plainly(bring_in)),
    ("set_aside", plainly(set_aside)),
    ("conclude", with_a_send("sent", conclude)),
    ("conclude", with_a_send("sent", conclude, repeats=True)),
    ("delay", plainly(lambda connection, held: queue_acts.delay(connection, ids=[held.id], span=HOUR, since=now()))),
    ("drop", with_a_send("uncertain", lambda connection, held: drop(connection, held, None))),
    ("drop", with_a_send("uncertain", lambda connection, held: drop(connection, held, now() + HOUR))),
    ("lock_for_operator", plainly(lambda connection, held: queue_acts.lock_for_operator(connection, ids=[held.id]))),
    ("raise_attempts", plainly(lambda connection, held: queue_acts.raise_attempts(connection, ids=[held.id], more=1))),
    (
        "release_claims",
        plainly(lambda connection, held: queue_acts.release_claims(connection, ids=[held.id], of_the_living=True)),
    ),
    ("resend", with_a_send("uncertain", lambda connection, held: queue_acts.resend(connection, ids=[held.id]))),
]
