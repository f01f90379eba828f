"""Triggers move the return of a message with its snooze, if it is kept here or lies in a connected mailbox."""

import pytest
from sqlalchemy import Engine, text

from tests.factories import ANN, HOUR, People, a_kept_message, a_mailbox, a_snooze, now

MESSAGE = "<1@mail.example>"
ENTERED = (
    "INSERT INTO messages (mailbox_id, user_email, message_id, fingerprint, size, internal_date, home, place, wanted, "
    "folder, uidvalidity, uid) "
    "VALUES (:mailbox, :ann, :message, 'f', 1, now(), 'INBOX', 'snoozed', 'snoozed', 'snoozed', 1, 1)"
)
ASLEEP = "UPDATE messages SET folder = 'snoozed' WHERE is_kept"
# Whether its return stands, at which time of the snooze, and whether it is put away.
STATE = """
SELECT message.returns_at = COALESCE(snooze.scheduled_for, snooze.remind_at), message.snooze_id = snooze.id,
    COALESCE(message.wanted, message.folder) = 'snoozed'
FROM messages AS message
LEFT JOIN email_snoozes AS snooze USING (user_email, message_id)
"""
PROMISED, PAUSED, GIVEN_UP, GONE = (True, True, True), (None, True, True), (None, True, False), (None, None, False)
PAUSE = "UPDATE email_snoozes SET inactive = TRUE"
CANCEL = "UPDATE email_snoozes SET inactive = TRUE, outcome = 'cancelled', finished_at = now()"
ACTS: dict[str, tuple[tuple[str, ...], tuple[bool | None, ...]]] = {
    "is made": ((), PROMISED),
    "is moved": (("UPDATE email_snoozes SET remind_at = remind_at + INTERVAL '1 day'",), PROMISED),
    "gets a note": (("UPDATE email_snoozes SET note = 'call'",), PROMISED),
    "is paused": ((PAUSE,), PAUSED),
    "goes on": ((PAUSE, "UPDATE email_snoozes SET inactive = FALSE"), PROMISED),
    "is cancelled": ((CANCEL,), GIVEN_UP),
    "is restored": (
        (CANCEL, "UPDATE email_snoozes SET inactive = FALSE, outcome = NULL, finished_at = NULL"),
        (True, True, False),
    ),
    "is sent": (("UPDATE email_snoozes SET inactive = TRUE, outcome = 'sent', finished_at = now()",), PROMISED),
    "is deleted": (("DELETE FROM email_snoozes",), GONE),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("entered", ["before", "after"])
@pytest.mark.parametrize("kind", ["kept", "connected", "both"])
def test_a_message_follows_its_snooze(engine: Engine, people: People, kind: str, entered: str, act: str) -> None:
    """Each kind had triggers of its own, which could differ."""
    mailbox = a_mailbox(engine, account_id=people.ann().id)
    if entered == "after":
        a_snooze(engine, message_id=MESSAGE, remind_at=now() + HOUR)
    if kind != "connected":
        a_kept_message(engine, message_id=MESSAGE)
    with engine.begin() as connection:
        if kind != "kept":
            connection.execute(text(ENTERED), {"mailbox": mailbox, "ann": ANN, "message": MESSAGE})
        connection.execute(text(ASLEEP))
    if entered == "before":
        a_snooze(engine, message_id=MESSAGE, remind_at=now() + HOUR)
    changes, expected = ACTS[act]
    with engine.begin() as connection:
        for change in changes:
            connection.execute(text(change))
        found = {tuple(row) for row in connection.execute(text(STATE))}
    assert found == {expected}


def test_what_repeats_is_promised_again_in_a_mailbox_once_it_is_back(engine: Engine, people: People) -> None:
    """Its reminder may be sent before the message is moved: the earlier return is not lost."""
    mailbox = a_mailbox(engine, account_id=people.ann().id)
    a_kept_message(engine, message_id=MESSAGE)
    a_snooze(engine, message_id=MESSAGE, remind_at=now() - HOUR, recurrence={"every": "day"})
    with engine.begin() as connection:
        connection.execute(text(ENTERED), {"mailbox": mailbox, "ann": ANN, "message": MESSAGE})
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() + INTERVAL '1 day'"))
        waits = connection.execute(text("SELECT is_kept, returns_at > now() FROM messages ORDER BY is_kept"))
        assert [tuple(row) for row in waits] == [(False, False), (True, True)]
