"""Lists of messages, conversations and search, on real servers."""

import pytest

from snoozer.mailboxes import search_terms
from snoozer.mailboxes.imap.reading import ids_of
from snoozer.mailboxes.imap.search import FIELDS
from snoozer.mailboxes.imap.threads import by_ids
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import Mailbox, a_message
from tests.imap.strange_structures import NESTED, WITH_FILE

pytestmark = pytest.mark.parametrize("mail_server", BOTH, indirect=True)

WITHOUT_THREADS = {"THREAD=REFS", "THREAD=REFERENCES"}


def a_conversation(mailbox: Mailbox) -> None:
    """Messages 1, 3 and 4 belong together; 4 names a message that is not there between."""
    mailbox.fill(
        "INBOX",
        [
            a_message(1),
            a_message(2),
            a_message(3, References="<1@example.org>", In_Reply_To="<1@example.org>"),
            a_message(4, References="<1@example.org> <gone@example.org>"),
        ],
    )


def test_a_window_has_heads_and_parts_and_marks_nothing_as_read(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1), WITH_FILE, NESTED])
    with mailbox.open() as connection:
        exists = connection.examine("INBOX").exists
        listed = connection.window(2, exists, exists=exists, threads=False).listed
        assert [each.number for each in listed] == [2, 3]
        assert [each.has_attachments for each in listed] == [True, False]
        [picture] = [part for part in listed[0].parts if part.is_attachment]
        assert (picture.name, picture.type, picture.number) == ("naïve plan.png", "image/png", "2")
        assert listed[1].charset == "iso-8859-1"
        assert all("\\Seen" not in each.head.flags for each in listed)


@pytest.mark.parametrize("masked", [set(), {"PREVIEW"}], ids=["preview", "begin"])
def test_a_list_has_the_begin_of_each_text_and_marks_nothing_as_read(mailbox: Mailbox, masked: set[str]) -> None:
    nested = (
        b"From: b@x.example\r\nSubject: Nested\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/mixed; boundary=out\r\n\r\n--out\r\n"
        b"Content-Type: multipart/alternative; boundary=in\r\n\r\n--in\r\n"
        b"Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
        b"A p=E4ge.\r\n--in\r\nContent-Type: text/html\r\n\r\n<p>No</p>\r\n--in--\r\n--out--\r\n"
    )
    mailbox.fill("INBOX", [WITH_FILE, nested])
    with mailbox.open(without=masked) as connection:
        exists = connection.examine("INBOX").exists
        listed = connection.window(1, exists, exists=exists, threads=False).listed
        assert [each.snippet for each in listed] == ["See the plan.", "A päge."]
        assert all("\\Seen" not in each.head.flags for each in listed)


@pytest.mark.parametrize("masked", [set(), WITHOUT_THREADS], ids=["server", "references"])
def test_messages_that_name_each_other_are_one_conversation(mailbox: Mailbox, masked: set[str]) -> None:
    a_conversation(mailbox)
    with mailbox.open(without=masked) as connection:
        exists = connection.examine("INBOX").exists
        window = connection.window(1, exists, exists=exists, threads=True)
        assert (window.trees is None) == bool(masked)
        trees = window.trees or by_ids({each.head.uid: ids_of(each.head) for each in window.listed})
        uids = [each.head.uid for each in window.listed]
        assert set(trees) == {frozenset((uids[0], uids[2], uids[3])), frozenset((uids[1],))}


@pytest.mark.parametrize("masked", [set(), WITHOUT_THREADS], ids=["server", "references"])
def test_the_conversation_of_a_message_is_found(mailbox: Mailbox, masked: set[str]) -> None:
    a_conversation(mailbox)
    with mailbox.open(without=masked) as connection:
        exists = connection.examine("INBOX").exists
        [*listed] = connection.window(1, exists, exists=exists, threads=False).listed
        uids = [each.head.uid for each in listed]
        found = connection.conversation(uids[3], number=4, exists=exists, ids=ids_of(listed[3].head))
        assert found == [uids[0], uids[2], uids[3]]
        assert connection.conversation(uids[1], number=2, exists=exists, ids=ids_of(listed[1].head)) == [uids[1]]


SEARCHES = {
    "hello": [1, 2, 3, 4],
    "subject:offer": [2],
    "from:ben hello": [1, 2, 3, 4],
    "from:ben subject:größe": [3],
    'subject:"a \\"b': [4],
    "C:\\new": [4],
    "offer\r\nA1 LOGOUT": [],
    'hello" NOT TEXT "offer': [],
    "grüße": [3],
    "{5+}": [],
}


@pytest.mark.parametrize("masked", [set(), {"ESEARCH", "LITERAL+"}], ids=["server", "plain"])
def test_a_search_is_asked_of_the_server_as_text(mailbox: Mailbox, masked: set[str]) -> None:
    german = {"Content_Type": "text/plain; charset=utf-8", "Content_Transfer_Encoding": "8bit"}
    mailbox.fill(
        "INBOX",
        [
            a_message(1),
            a_message(2, subject="the offer"),
            a_message(3, subject="=?utf-8?q?Gr=C3=B6=C3=9Fe?=", body="hello, grüße", **german),
            a_message(4, subject='a \\"b', body="hello C:\\new"),
        ],
    )
    with mailbox.open(without=masked) as connection:
        connection.examine("INBOX")
        uids = connection.uids()
        for typed, found in SEARCHES.items():
            terms = search_terms.parse(typed, FIELDS)
            assert connection.search(terms, below=None, most=50) == [uids[number - 1] for number in found], typed
            assert connection.search(terms, below=uids[1], most=50) == [uids[0]] * (1 in found), typed
            assert connection.search(terms, below=None, most=2) == [uids[number - 1] for number in found[-2:]], typed


def test_counts_are_of_all_folders(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])
    mailbox.fill("INBOX", [a_message(3)], flags=r"(\Seen)")
    for masked in (set[str](), {"LIST-STATUS"}):
        with mailbox.open(without=masked) as connection:
            names = [folder.name for folder in connection.folders()]
            counts = connection.counts(names)
            assert (counts["INBOX"].total, counts["INBOX"].unread) == (3, 2)
            assert counts.keys() == set(names)


def test_a_message_that_came_into_the_selected_folder_is_counted(mailbox: Mailbox) -> None:
    with mailbox.open() as connection:
        connection.examine("INBOX")
        mailbox.fill("INBOX", [a_message(1)])
        assert connection.counts(["INBOX"])["INBOX"].unread == 1
