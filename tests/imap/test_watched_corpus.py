"""Every message of the corpus is snoozed by a plain mail program and comes back: its bytes, its INTERNALDATE and its
flags are what FETCH gave before, but for \\Seen and $new."""

import re
from collections import Counter

import pytest

from tests import corpus
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import MailServer
from tests.imap.watched import Place, returned

pytestmark = pytest.mark.parametrize("mail_server", BOTH, indirect=True)

FLAGS = ("", r"\Seen", r"\Flagged", r"\Answered \Seen", r"$Label1 \Draft", r"\Answered \Flagged important \Seen")
LINE_ENDS = re.compile(rb"\r\n|\r|\n")

# What a server does not store at all, also with line ends of CRLF, and why.
INVALID_HEADER = "Message contains invalid header"  # A line of the header that is no field.
NUL = "Message contains NUL characters"
REFUSED: dict[str, dict[str, str]] = {
    "dovecot": {},
    "cyrus": {
        "error_emails__multiple_references_with_one_invalid": INVALID_HEADER,
        "plain_emails__raw_email_incorrect_header": INVALID_HEADER,
        "rfc2822__example13": INVALID_HEADER,
    },
}
REFUSED_OF_GENERATED: dict[str, dict[str, str]] = {
    "dovecot": {},
    "cyrus": {
        "body_nul": NUL,
        "charset_07": NUL,
        "charset_09": NUL,
        "header_name_with_blank": INVALID_HEADER,
        "header_nul": NUL,
        "header_without_colon": INVALID_HEADER,
        "message_no_colon": INVALID_HEADER,
    },
}


def fill(place: Place, messages: dict[str, bytes]) -> dict[str, str]:
    """Append each with a date and flags of its own, as it is or else with line ends of CRLF (Cyrus stores no others);
    returns why some are not stored."""
    refused: dict[str, str] = {}
    for number, (name, original) in enumerate(messages.items()):
        flags = FLAGS[number % len(FLAGS)]
        date = f"{1 + number % 28:2d}-Mar-20{10 + number % 15} 03:04:05 +0{number % 10}30"
        if place.program.append(original, flags=flags, date=date) is not None:
            why = place.program.append(LINE_ENDS.sub(b"\r\n", original), flags=flags, date=date)
            refused |= {name: why} if why is not None else {}
    return refused


def test_every_message_comes_back_as_it_was(place: Place, mail_server: MailServer, messages: dict[str, bytes]) -> None:
    known = REFUSED if corpus.is_real() else REFUSED_OF_GENERATED
    assert fill(place, messages) == known[mail_server.name]
    before = Counter(place.program.messages("INBOX"))
    stored = before.total()
    assert stored == len(messages) - len(known[mail_server.name])
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == stored)
    assert Counter(place.program.messages(place.snoozed)) == before
    place.make_due()
    place.eventually(lambda: not place.rows("SELECT 1 FROM messages WHERE returns_at IS NOT NULL"))
    unread = Counter(returned(before.elements()))
    assert Counter(place.program.messages("INBOX")) == unread
    assert [place.program.count(name) for name in (place.snoozed, place.folder("Snooze", "Tomorrow"))] == [0, 0]
    sent = "SELECT snooze_id FROM reminder_sends WHERE channel = 'mailbox' AND state = 'sent'"
    assert len({row.snooze_id for row in place.rows(sent)}) == len(place.rows(sent)) == stored
