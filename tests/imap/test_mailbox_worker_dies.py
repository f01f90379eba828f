"""A worker is killed at every step of the reminder of a message in a connected mailbox, while the message comes back:
it is in the inbox once, and a second reminder goes out only where the ledger says so."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from snoozer.runtime.failpoint import STEPS
from tests.factories import an_original, the_events, the_row, the_send
from tests.imap.watched import Place, returned
from tests.process.conftest import Field, Sink, sink

__all__ = ["sink"]

pytestmark = [pytest.mark.dovecot, pytest.mark.process, pytest.mark.timeout(900)]

ROUNDS = 10 if os.environ.get("SNOOZER_STORM") else 1
DECLARED_DEAD = 1
# The sink puts no reminder into the mailbox, so none is to be sought there.
RESEND = {"SNOOZER_UNCERTAIN_POLICY": "resend"}
# Between the last byte and its receipt, only the mail server knows.
UNCERTAIN = {"dot", "replied"}
RETURNING = "SELECT 1 FROM messages WHERE returns_at IS NOT NULL"


def test_a_worker_killed_at_each_step_sends_nothing_twice_unmarked_and_the_message_is_back_once(
    place: Place, sink: Sink, tmp_path: Path
) -> None:
    steps = {f"<{step}-{number}@mail.example>": step for step in STEPS for number in range(ROUNDS)}
    for message_id in steps:
        place.program.deliver(an_original(message_id=message_id), flags=r"(\Seen)")
    before = place.program.shown("INBOX")
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == len(steps))
    field = Field(engine=place.engine, sink=sink, home=tmp_path / "home")
    ids = {message_id: place.snooze_of(message_id).id for message_id in steps}
    for message_id, step in steps.items():
        place.make_due(id=ids[message_id])
        failpoint = {"SNOOZER_FAILPOINTS": "1", "SNOOZER_FAILPOINT": f"{step}:kill@{message_id}", **RESEND}
        # Where the machine stands still for the short settings' 1.6 s, a worker rightly ends itself before that.
        runs = (field.run("worker", "--drain", "--batch", "1", **failpoint) for _ in range(10))
        killed = next(run for run in runs if run.returncode != DECLARED_DEAD)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    _until_all_are_sent(place, field)
    place.eventually(lambda: not place.rows(RETURNING))

    assert place.program.shown("INBOX") == returned(before)
    assert place.program.count(place.snoozed) == 0
    copies = Counter(mail["in_reply_to"] for mail in sink.accepted())
    assert copies.keys() == steps.keys()
    for message_id, step in steps.items():
        id = ids[message_id]
        assert (the_row(place.engine, id).outcome, the_send(place.engine, id).state) == ("sent", "sent")
        assert copies[message_id] == 1 or (step in UNCERTAIN and "uncertain" in the_events(place.engine, id))
        assert copies[message_id] <= 2
    sent = place.rows("SELECT snooze_id FROM reminder_sends WHERE channel = 'mailbox' AND state = 'sent'")
    assert sorted(row.snooze_id for row in sent) == sorted(ids.values())


def _until_all_are_sent(place: Place, field: Field) -> None:
    """A killed worker's lease ends, and the next worker has its row."""
    while place.rows("SELECT 1 FROM email_snoozes WHERE NOT inactive"):
        drained = field.run("worker", "--drain", **RESEND)
        assert drained.returncode in (0, DECLARED_DEAD), drained.stderr
