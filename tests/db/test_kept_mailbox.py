"""The mailbox that Snoozer keeps, behind the interface of all mailboxes."""

import pytest
from sqlalchemy import Engine

from snoozer.mailboxes.read.kept import KeptMailbox
from snoozer.mailboxes.read.mailbox import Mailbox, MailboxError
from tests.factories import ANN, People, a_kept_message, an_original
from tests.imap.strange_structures import NESTED, WITH_FILE


@pytest.fixture
def mailbox(engine: Engine, people: People) -> Mailbox:
    people.ann()
    return KeptMailbox(engine, user_email=ANN)


def test_pages_and_search(engine: Engine, mailbox: Mailbox) -> None:
    for number in range(5):
        a_kept_message(engine, original=an_original(subject=f"{'50%' if number % 2 else '50_'} {number}"))
    first = mailbox.page(None, size=3)
    second = mailbox.page("inbox", after=first.next, size=3)
    assert [row.subject for row in [*first.rows, *second.rows]] == ["50_ 4", "50% 3", "50_ 2", "50% 1", "50_ 0"]
    assert second.next is None
    assert [row.subject for row in mailbox.page(None, search='subject:"50%" from:BOB').rows] == ["50% 3", "50% 1"]
    assert mailbox.page(None, search="50% from:eve").rows == []
    assert [(each.key, each.unread, each.total) for each in mailbox.folders()] == [
        ("inbox", 5, 5),
        ("asleep", None, 0),
        ("done", None, 0),
    ]


def test_one_message_and_what_is_done_to_it(engine: Engine, mailbox: Mailbox) -> None:
    key = str(a_kept_message(engine, original=WITH_FILE))
    shown = mailbox.message(key)
    [file] = shown.attachments
    assert (shown.parsed.text, shown.row.size, shown.row.unread) == ("See the plan.", len(WITH_FILE), True)
    assert mailbox.attachment(key, file.part) == (file, b"hello world")
    assert mailbox.original(key) == WITH_FILE
    page = mailbox.message(str(a_kept_message(engine, original=NESTED)))
    assert "<p>A päge.</p>" in (page.html or "")
    mailbox.mark(key, read=True)
    assert not mailbox.message(key).row.unread
    mailbox.mark(key, read=False)
    assert mailbox.message(key).row.unread
    mailbox.archive(key)
    assert [row.key for row in mailbox.page("done").rows] == [key]
    assert (mailbox.message(key).folder, mailbox.message(key).role) == ("done", "archive")
    mailbox.to_inbox(key)
    assert mailbox.page("done").rows == []


@pytest.mark.parametrize("key", ["", "0", "x", "99999999999999999999", "9223372036854775807", "²"])
def test_a_key_that_leads_nowhere(mailbox: Mailbox, key: str) -> None:
    with pytest.raises(MailboxError) as raised:
        mailbox.message(key)
    assert raised.value.code == "gone"
