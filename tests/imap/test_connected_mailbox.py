"""A connected mailbox read on pages: lists, one message, attachments, and what its owner does to them."""

from email.message import EmailMessage
from functools import partial

import pytest

from snoozer.mailboxes import registry
from snoozer.mailboxes.read.connected import SHOWN_BYTES, open_mailbox
from snoozer.mailboxes.read.mailbox import MailboxError
from tests import corpus
from tests.factories import People
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import MailServer, a_message
from tests.imap.proxy import Proxy
from tests.imap.reading import FULL, a_pool, opened, reading, subjects
from tests.imap.strange_structures import NESTED, WITH_FILE
from tests.imap.watched import Place

pytestmark = pytest.mark.parametrize("mail_server", BOTH, indirect=True)

WITHOUT_THREADS = {"THREAD=REFS", "THREAD=REFERENCES"}


def test_pages_of_a_folder_are_two_round_trips_each_and_miss_nothing_that_stays(place: Place) -> None:
    """While messages arrive and leave."""
    [(port,)] = place.rows("SELECT port FROM mailboxes")
    for number in range(1, 31):
        place.program.deliver(a_message(number))
    with Proxy(port) as proxy:
        place.lead_to(proxy.port)
        with reading(place) as mailbox:
            assert mailbox.page(None, size=1).total == 30
            before = len(proxy.commands)
            first = mailbox.page(None, size=10)
            sent = [command.split()[1:3] for command in proxy.commands[before:]]
            assert [words[0] for words in sent] == [b"EXAMINE", b"FETCH", b"UID"]
            assert subjects(first) == [f"message {number}" for number in range(30, 20, -1)]
            place.program.deliver(a_message(31))
            place.program.mark_deleted("INBOX", uids="5:7")
            second = mailbox.page(None, after=first.next, size=10)
            place.program.mark_deleted("INBOX", uids="1")
            shown, after = subjects(second), second.next
            while after is not None:
                page = mailbox.page(None, after=after, size=10)
                shown, after = shown + subjects(page), page.next
            assert shown == [f"message {number}" for number in range(20, 1, -1) if number not in (5, 6, 7)]


@pytest.mark.parametrize("masked", [set(), WITHOUT_THREADS], ids=["server", "references"])
def test_a_conversation_is_one_row_where_its_newest_message_is(place: Place, masked: set[str]) -> None:
    for number in range(1, 7):
        fields = {"References": "<1@example.org>"} if number in (3, 5) else {}
        place.program.deliver(a_message(number, **fields), flags="" if number == 3 else r"(\Seen)")
    with reading(place, without=masked) as mailbox:
        page = mailbox.page(None)
        assert [(row.subject, row.thread_size, row.unread) for row in page.rows] == [
            ("message 6", 1, False),
            ("message 5", 3, True),
            ("message 4", 1, False),
            ("message 2", 1, False),
        ]
        assert len(mailbox.page(None, threads=False).rows) == 6
        shown = mailbox.message(page.rows[1].key)
        assert [row.subject for row in shown.thread] == ["message 1", "message 3"]
        assert shown.row.thread_size == 3


def test_folders_are_listed_with_what_they_are_for(place: Place) -> None:
    place.program.create(place.folder("Projects"))
    place.program.create(place.folder("Projects", "Größe 1"))
    place.program.deliver(a_message(1))
    with reading(place) as mailbox:
        folders = mailbox.folders()
        assert [(each.name, each.role, each.depth) for each in folders] == [
            ("INBOX", "inbox", 0),
            ("Snoozed", "snoozed", 0),
            ("Snooze", "other", 0),
            ("Next week", "snooze_into", 1),
            ("Tomorrow", "snooze_into", 1),
            ("Archive", "archive", 0),
            ("Sent", "sent", 0),
            ("Drafts", "drafts", 0),
            ("Junk", "junk", 0),
            ("Trash", "trash", 0),
            ("Projects", "other", 0),
            ("Größe 1", "other", 1),
        ]
        assert (folders[0].unread, folders[0].total) == (1, 1)
        assert mailbox.page(folders[-1].key).rows == []


def test_a_message_is_shown_with_its_attachments_and_stays_unread(place: Place) -> None:
    place.program.deliver(WITH_FILE)
    place.program.deliver(NESTED)
    with reading(place) as mailbox:
        nested, with_file = mailbox.page(None).rows
        assert (with_file.has_attachments, nested.has_attachments) == (True, False)
        shown = mailbox.message(with_file.key)
        assert shown.parsed.text == "See the plan."
        assert (shown.html, shown.role, shown.folder) == (None, "inbox", mailbox.folders()[0].key)
        [file] = shown.attachments
        assert (file.name, file.type, file.size) == ("naïve plan.png", "image/png", 11)
        assert mailbox.attachment(with_file.key, file.part) == (file, b"hello world")
        page = mailbox.message(nested.key)
        assert page.html is not None
        assert "<p>A päge.</p>" in page.html
        assert [each.content_id for each in page.attachments] == ["dot@example.org"]
        assert mailbox.original(nested.key) == NESTED
        assert all(row.unread for row in mailbox.page(None).rows)


def test_a_large_message_is_not_fetched_whole_to_be_shown(place: Place) -> None:
    message = EmailMessage()
    message["Subject"], message["Message-ID"] = "large", "<large@mail.example>"
    message.set_content("The text.")
    message.add_attachment(b"\0\1" * SHOWN_BYTES, maintype="application", subtype="pdf", filename="Größe.pdf")
    message.add_attachment("x,y", subtype="csv", filename="table.csv")
    place.program.deliver(message.as_bytes().replace(b"\n", b"\r\n"))
    with reading(place) as mailbox:
        [row] = mailbox.page(None).rows
        shown = mailbox.message(row.key)
        assert shown.parsed.text == "The text."
        assert [each.name for each in shown.attachments] == ["Größe.pdf", "table.csv"]
        file, content = mailbox.attachment(row.key, shown.attachments[0].part)
        assert content == b"\0\1" * SHOWN_BYTES
        assert file.size == len(content)
        with pytest.raises(MailboxError) as raised:
            mailbox.attachment(row.key, "i0")
        assert raised.value.code == "gone"


def test_an_attachment_of_a_message_that_was_read_needs_no_further_look(place: Place) -> None:
    [(port,)] = place.rows("SELECT port FROM mailboxes")
    place.program.deliver(WITH_FILE)
    with Proxy(port) as proxy:
        place.lead_to(proxy.port)
        with reading(place) as mailbox:
            [row] = mailbox.page(None).rows
            [file] = mailbox.message(row.key).attachments
            before = len(proxy.commands)
            assert mailbox.attachment(row.key, file.part) == (file, b"hello world")
            assert len(proxy.commands) == before


def test_what_its_owner_does_to_a_message(place: Place) -> None:
    place.program.deliver(a_message(1), flags=r"(\Flagged)")
    with reading(place) as mailbox:
        [row] = mailbox.page(None).rows
        assert (row.unread, row.flagged) == (True, True)
        mailbox.mark(row.key, read=True)
        assert not mailbox.page(None).rows[0].unread
        mailbox.mark(row.key, read=False)
        assert mailbox.page(None).rows[0].unread
        archived = mailbox.archive(row.key)
        assert mailbox.page(None).rows == []
        assert place.program.count(place.folder("Archive")) == 1
        back = mailbox.to_inbox(archived)
        assert [row.key for row in mailbox.page(None).rows] == [back]
        assert mailbox.to_inbox(back) == back
        for call in (mailbox.message, mailbox.original, mailbox.to_inbox):
            assert _gone(partial(call, archived)).code == "gone"


def test_an_archive_is_made_where_there_is_none(place: Place, mail_server: MailServer) -> None:
    if mail_server.name == "cyrus":
        # It deletes no folder that has a use.
        place.program.rename(place.folder("Archive"), place.folder("Old"))
    else:
        place.program.delete_folder(place.folder("Archive"))
    place.program.deliver(a_message(1))
    with reading(place, without={"SPECIAL-USE"}) as mailbox:
        [row] = mailbox.page(None).rows
        mailbox.archive(row.key)
        assert place.program.count(place.folder("Archive")) == 1


@pytest.mark.parametrize(
    "key", ["", "x", "SU5CT1g.1.1", "SU5CT1g.0.1", "AA.1.1", "SU5CT1g.1.1.1", "Zm9vDQpBMSBOT09Q.1.1"]
)
def test_a_key_that_leads_nowhere_is_an_error_of_its_own(place: Place, key: str) -> None:
    with reading(place) as mailbox:
        assert _gone(lambda: mailbox.message(key)).code in ("gone", "no_folder")
        assert _gone(lambda: mailbox.page("AA")).code == "no_folder"
        assert mailbox.page(None, after="rubbish").rows == []


def test_a_search_has_pages_too(place: Place) -> None:
    for number in range(1, 8):
        place.program.deliver(a_message(number, subject=f"{'offer' if number % 2 else 'other'} {number}"))
    with reading(place) as mailbox:
        first = mailbox.page(None, search="subject:offer from:ben", size=3)
        assert subjects(first) == ["offer 7", "offer 5", "offer 3"]
        second = mailbox.page(None, search="subject:offer from:ben", after=first.next, size=3)
        assert (subjects(second), second.next) == (["offer 1"], None)


def test_every_message_of_the_corpus_is_listed_and_opened(place: Place) -> None:
    taken: list[bytes] = []
    originals = list(corpus.messages().values())[:: 1 if FULL else 6]
    for original in originals:
        # Servers take no NUL, and lines that end in CR LF only; Cyrus takes no header without a colon.
        clean = original.replace(b"\0", b"").replace(b"\r\n", b"\n").replace(b"\r", b"").replace(b"\n", b"\r\n")
        if place.program.try_to_deliver(clean):
            taken.append(clean)
    assert len(taken) > 0.9 * len(originals)
    with reading(place) as mailbox:
        rows, after = [], None
        while True:
            page = mailbox.page(None, after=after, threads=False)
            rows += page.rows
            after = page.next
            if after is None:
                break
        assert len(rows) == len(taken)
        for row, original in zip(rows, reversed(taken), strict=True):
            shown = mailbox.message(row.key)
            assert mailbox.original(row.key) == original
            assert (shown.row.subject, shown.row.sender_email) == (row.subject, row.sender_email)
            for each in shown.attachments:
                mailbox.attachment(row.key, each.part)


def test_a_stale_connection_is_replaced_and_another_persons_mailbox_is_none(place: Place, people: People) -> None:
    place.program.deliver(a_message(1))
    [(port,)] = place.rows("SELECT port FROM mailboxes")
    cut = Proxy(port)
    with cut:
        place.lead_to(cut.port)
        with a_pool(place) as pool:
            mailbox = opened(place, pool)
            [row] = mailbox.page(None).rows
            cut.cut()
            assert len(mailbox.page(None).rows) == 1
            cut.cut()
            mailbox.archive(row.key)
            place.lead_to(port)
            assert opened(place, pool).page(None).rows == []
            assert open_mailbox(place.engine, id=place.mailbox_id, account_id=0, user_email="eve", pool=pool) is None


def test_a_refused_password_is_reported_and_not_tried_again_at_once(place: Place) -> None:
    [(port,)] = place.rows("SELECT port FROM mailboxes")
    with Proxy(port) as proxy, a_pool(place) as pool:
        place.lead_to(proxy.port)
        with place.engine.begin() as connection:
            registry.change_password(
                connection,
                id=place.mailbox_id,
                account_id=place.person.id,
                password="wrong",
                key_ring=place.settings.keys,
            )
        error = _gone(lambda: opened(place, pool).page(None))
        assert error.code == "login"
        assert "enter the new one here" in error.sentence
        tried = len(proxy.commands)
        assert _gone(lambda: opened(place, pool).page(None)).code == "login"
        assert len(proxy.commands) == tried


def test_a_server_that_is_away_is_reported(place: Place) -> None:
    place.lead_to(1)
    with reading(place) as mailbox:
        error = _gone(mailbox.folders)
    assert error.code == "unavailable"
    assert "Nothing answers at 127.0.0.1" in error.sentence


def _gone(call: object) -> MailboxError:
    with pytest.raises(MailboxError) as raised:
        call()  # type: ignore[operator]
    return raised.value
