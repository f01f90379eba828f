"""The order of lists of a connected mailbox: what is asleep by its waking across pages, what is back above newer mail,
and why it came late."""

import re
from collections.abc import Iterator
from html import unescape

import pytest
from flask.testing import FlaskClient

from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.web import create_app
from snoozer.web.mailboxes.mail.opening import close_connections
from tests.factories import an_original
from tests.imap.mailboxes import MailServer
from tests.imap.reading import reading, subjects
from tests.imap.watched import Place

pytestmark = pytest.mark.dovecot

SNOOZED = "SELECT 1 FROM messages WHERE place = 'snoozed' AND moving_to IS NULL"
BACK = "SELECT 1 FROM messages WHERE place = 'home' AND returns_at IS NULL"


@pytest.fixture
def mailbox(place: Place) -> Iterator[ConnectedMailbox]:
    with reading(place) as mailbox:
        yield mailbox


@pytest.fixture
def ann(place: Place) -> Iterator[FlaskClient]:
    app = create_app(engine=place.engine, settings=place.settings)
    client = app.test_client()
    client.set_cookie("snoozer_session", place.person.session)
    yield client
    close_connections(app)


def put_to_sleep(place: Place, *names: str) -> None:
    for name in names:
        place.program.deliver(an_original(subject=name, message_id=f"<{name}@mail.example>"))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.start()
    place.eventually(lambda: len(place.rows(SNOOZED)) == len(names))


def titles(page: str) -> list[str]:
    return [unescape(title) for title in re.findall(r'class="row-title"[^>]*>([^<]*)<', page)]


def test_what_is_asleep_is_in_the_order_of_waking_across_pages(place: Place, mailbox: ConnectedMailbox) -> None:
    put_to_sleep(place, *(f"{number}" for number in range(7)))
    place.stop()
    place.run(
        "UPDATE email_snoozes SET scheduled_for = NULL, "
        "remind_at = now() + INTERVAL '1 day' + (CAST(subject AS int) * 3 % 7) * INTERVAL '1 hour'"
    )
    place.run("UPDATE email_snoozes SET inactive = TRUE WHERE subject = '5'")
    place.program.deliver(an_original(subject="by hand", message_id="<hand@mail.example>"), folder="Snoozed")
    place.program.mark_deleted("Snoozed", uids="1", expunge=False)
    key = next(each.key for each in mailbox.folders() if each.role == "snoozed")
    seen: list[str | None] = []
    after: str | None = None
    for _ in range(4):
        page = mailbox.page(key, after=after, size=2)
        seen += subjects(page)
        after = page.next
    assert after is None
    # 0 is marked as deleted; 5 is paused, and what has no time comes last.
    assert seen == ["3", "1", "6", "4", "2", "5", "by hand"]


def test_what_is_back_is_above_newer_mail_until_it_is_read(
    place: Place, mailbox: ConnectedMailbox, ann: FlaskClient
) -> None:
    put_to_sleep(place, "Roof", "Doctor")
    place.run("UPDATE email_snoozes SET note = 'call them first' WHERE subject = 'Roof'")
    place.make_due()
    place.eventually(lambda: len(place.rows(BACK)) == 2)
    for number in range(6):
        place.program.deliver(an_original(subject=f"Newer {number}", message_id=f"<{number}@mail.example>"))
    first = mailbox.page(None, size=3)
    assert set(subjects(first)[:2]) == {"Roof", "Doctor"}
    assert subjects(first)[2:] == ["Newer 5", "Newer 4", "Newer 3"]
    assert all(row.returned_at for row in first.rows[:2])
    second = mailbox.page(None, after=first.next, size=3)
    third = mailbox.page(None, after=second.next, size=3) if second.next else second
    assert {"Roof", "Doctor"}.isdisjoint({*subjects(second), *subjects(third)})
    page = ann.get(f"/mailboxes/{place.mailbox_id}/mail").text
    assert set(titles(page)[:2]) == {"Roof", "Doctor"}
    assert len(titles(page)) == 8
    assert "you wrote: <bdi>call them first</bdi>" in page
    for row in first.rows[:2]:
        mailbox.mark(row.key, read=True)
    assert subjects(mailbox.page(None, size=3)) == ["Newer 5", "Newer 4", "Newer 3"]


def test_an_older_message_of_a_conversation_is_above_by_itself_where_its_row_is_elsewhere(
    place: Place, mailbox: ConnectedMailbox
) -> None:
    put_to_sleep(place, "Rooms")
    place.make_due()
    place.eventually(lambda: len(place.rows(BACK)) == 1)
    answer = an_original(subject="Re: Rooms", message_id="<re@mail.example>")
    place.program.deliver(b"References: <Rooms@mail.example>\r\n" + answer)
    whole = mailbox.page(None)
    assert (subjects(whole), whole.rows[0].thread_size) == (["Re: Rooms"], 2)
    assert whole.rows[0].returned_at is not None, "the conversation is what is back"
    for number in range(3):
        place.program.deliver(an_original(subject=f"Newer {number}", message_id=f"<{number}@mail.example>"))
    assert subjects(mailbox.page(None, size=2)) == ["Rooms", "Newer 2", "Newer 1"]


def test_a_return_that_its_mail_server_kept_from_coming_says_so(
    place: Place, dovecot_server: MailServer, ann: FlaskClient
) -> None:
    put_to_sleep(place, "Roof")
    place.lead_to(9)
    place.run("UPDATE email_snoozes SET remind_at = clock_timestamp() - INTERVAL '2 minutes', scheduled_for = NULL")
    place.eventually(lambda: place.problem() == "unreachable")
    place.lead_to(dovecot_server.port)
    place.eventually(lambda: len(place.rows(BACK)) == 1)
    page = ann.get(f"/mailboxes/{place.mailbox_id}/mail").text
    assert "late by 2 minutes, because the mail server was away" in page
