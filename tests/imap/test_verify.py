"""A reminder that may have been sent is sought in the connected mailbox that it went to, before it is sent again."""

import signal
from pathlib import Path

import pytest
from sqlalchemy import Engine

from snoozer.settings import Settings
from tests.factories import ANN, People, a_snooze, now, the_events, the_row, the_send
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import MailServer
from tests.imap.watched import Place, watched
from tests.process import conftest as process
from tests.process.conftest import Field, Sink

sink = process.sink

SYNCED = "SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"


def a_killed_worker(field: Field) -> int:
    """The mail server has the reminder, and the worker was killed before it could write that down."""
    id = a_snooze(field.engine, user_email=ANN)
    killed = field.run("worker", "--drain", SNOOZER_FAILPOINTS="1", SNOOZER_FAILPOINT="replied:kill")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    return id


def is_doubted(field: Field, id: int) -> bool:
    """The lost worker's claim was recovered."""
    return the_send(field.engine, id).uncertain_at is not None


def deliver(place: Place, sink: Sink, *, folder: str) -> None:
    """What the mail server took lies in the mailbox."""
    [mail] = sink.accepted()
    place.program.deliver(f"{mail['head']}Wake up.\r\n".encode(), folder=folder, at=now())


@pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)
@pytest.mark.parametrize(
    ("policy", "hold", "folder", "copies"),
    # What arrived is found by the first look. A hold that this machine can miss would race with it.
    [("auto", 20.0, "Done", 1), ("verify", 2.0, None, 2)],
)
def test_a_reminder_that_arrived_is_not_sent_again_and_a_lost_one_once(
    engine: Engine,
    settings: Settings,
    people: People,
    mail_server: MailServer,
    sink: Sink,
    tmp_path: Path,
    policy: str,
    hold: float,
    folder: str | None,
    copies: int,
) -> None:
    names = {"SNOOZER_UNCERTAIN_POLICY": policy, "SNOOZER_UNCERTAIN_HOLD_SECONDS": str(hold)}
    here = settings.model_copy(update={"uncertain_policy": policy, "uncertain_hold": hold})
    field = Field(engine=engine, sink=sink, home=tmp_path / "home", settings=names)
    user = mail_server.mailbox().user
    with watched(engine, here, people.ann(), port=mail_server.port, username=user) as place:
        place.start()
        place.eventually(lambda: place.rows(SYNCED))
        id = a_killed_worker(field)
        if folder is not None:
            place.program.create(folder)
            deliver(place, sink, folder=folder)
        process.wait(lambda: field.run("worker", "--drain").returncode == 0 and is_doubted(field, id))
        place.eventually(lambda: the_send(engine, id).state == "sent" or the_send(engine, id).looks >= 2)
        process.wait(lambda: field.run("worker", "--drain").returncode == 0 and field.is_sent(id))
        send = the_send(engine, id)
        assert (send.state, send.resolution) == ("sent", "verified" if copies == 1 else "resend")
        assert send.resends == copies - 1
        assert len(sink.accepted()) == copies
        assert len({(mail["message_id"], mail["sha256"]) for mail in sink.accepted()}) == 1
        assert ("verified" in the_events(engine, id)) == (copies == 1)
        assert the_row(engine, id).outcome == "sent"
