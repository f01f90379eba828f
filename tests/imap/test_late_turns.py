"""A server so slow that each turn's time is over as soon as it has begun: what is due comes back all the same, what a
person moves is noticed, and a reply is read."""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from snoozer.db import mailbox_leases
from snoozer.mailboxes import imap
from snoozer.mailboxes.imap import Login, Server
from snoozer.mailboxes.imap.folders import OurFolders
from snoozer.mailboxes.sync.session import NoticeSender, Session
from snoozer.mailboxes.sync.sync import Outcome, Sync
from snoozer.queue.reminder import UncertainPolicy
from tests.factories import a_snooze, an_original, now, the_send
from tests.imap.dovecot import PASSWORD
from tests.imap.mailboxes import MailServer, a_message, connect
from tests.imap.watched import Place

pytestmark = pytest.mark.dovecot

MINUTE = timedelta(minutes=1)
MOST_TURNS = 10


@pytest.fixture
def sync(place: Place, dovecot_server: MailServer) -> Iterator[Sync]:
    with place.engine.begin() as connection:
        [mailbox] = mailbox_leases.take(connection, owner="a process", lease=MINUTE, silence=MINUTE, retry=MINUTE)
    login = Login(place.username, PASSWORD)
    with imap.open(Server("127.0.0.1", dovecot_server.port, "plain"), login, connect=connect) as opened:
        yield Sync(
            Session(
                engine=place.engine,
                mailbox=mailbox,
                imap=opened,
                ours=OurFolders(snoozed="", root=""),
                sender=NoticeSender("snoozer@snoozer.example", "snoozer.example"),
                uncertainty=UncertainPolicy(hold=timedelta(0), lookups=2),
            )
        )


def run(sync: Sync) -> Outcome:
    return sync.run(look=True, move=False, is_hinted=True, ends_at=time.monotonic(), reads=True)


def turns_until(is_so: Callable[[], object], sync: Sync) -> None:
    for _ in range(MOST_TURNS):
        outcome = run(sync)
        if is_so():
            return
        assert outcome.goes_on, "nothing would begin the next turn"
    raise AssertionError


def test_late_turns_notice_and_bring_back(place: Place, sync: Sync) -> None:
    for number, folder in enumerate(("Tomorrow", "Next week")):
        place.program.deliver(an_original(message_id=f"<{number}@mail.example>"))
        place.program.move("INBOX", place.folder("Snooze", folder))
    turns_until(lambda: place.asleep() == 2, sync)
    place.make_due()
    run(sync)
    assert place.program.count("INBOX") == 2


def test_a_late_turn_reads_replies(place: Place, sync: Sync) -> None:
    place.program.deliver(an_original(message_id="<question@mail.example>"))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    turns_until(lambda: place.asleep() == 1, sync)
    place.run("UPDATE email_snoozes SET reply_policy = 'cancel_on_reply', reply_since = clock_timestamp()")
    place.program.deliver(a_message(In_Reply_To="<question@mail.example>"), at=now())
    run(sync)
    assert place.snooze_of("<question@mail.example>").outcome == "cancelled"
    turns_until(lambda: place.program.count("INBOX") == 2, sync)


def test_a_search_that_was_not_finished_is_no_miss(place: Place, sync: Sync) -> None:
    """A reminder that may have been sent is sent again once it was missed often enough."""
    id = a_snooze(place.engine, user_email=place.person.email)
    place.run(
        "INSERT INTO reminder_sends (snooze_id, user_email, message_id, scheduled_for, bucket, reminder_message_id, "
        "state, claim_token, zone, reserved_at, dot_authorised_at, uncertain_at) "
        "SELECT id, user_email, message_id, remind_at, bucket, '<reminder@mail.example>', 'uncertain', "
        "gen_random_uuid(), 'UTC', now(), now(), now() FROM email_snoozes"
    )
    run(sync)
    assert the_send(place.engine, id).looks == 0
    sync.run(look=True, move=False, is_hinted=True, ends_at=float("inf"), reads=True)
    assert the_send(place.engine, id).looks == 1


def test_what_was_missed_when_it_was_due_is_sought_by_the_next_look(place: Place, sync: Sync) -> None:
    """Also where a glance shows nothing new."""
    place.program.deliver(an_original(message_id="<a@mail.example>"))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    for _ in range(3):
        sync.run(look=True, move=False, is_hinted=False, ends_at=float("inf"), reads=True)
    assert place.asleep() == 1
    place.run("UPDATE messages SET uid = 999, header_id = '<none@mail.example>', fingerprint = 'none'")
    place.make_due()
    sync.run(look=False, move=True, is_hinted=False, ends_at=float("inf"), reads=True)
    place.run("UPDATE messages SET missing_since = missing_since - INTERVAL '11 minutes'")
    assert place.rows("SELECT place FROM messages WHERE uid = 999") == [("missing",)]
    sync.run(look=True, move=False, is_hinted=False, ends_at=float("inf"), reads=True)
    assert place.rows("SELECT 1 FROM messages WHERE uid = 999") == []
