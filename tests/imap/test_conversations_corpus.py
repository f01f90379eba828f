"""Conversations of messages of the corpus, snoozed from a list: they go and come back whole, in their order, with their
bytes, their INTERNALDATE and their flags."""

import random
import re

import pytest

from snoozer.mailboxes.read.mailbox import Row
from tests.factories import HOUR, now
from tests.imap.conftest import BOTH
from tests.imap.conversations import FLAGS, RETURNED, UNMOVED, Shown, back, pages
from tests.imap.reading import FULL, reading
from tests.imap.watched import Place, returned
from tests.web.bulk_forms import fields_of, post

pytestmark = pytest.mark.parametrize("mail_server", BOTH, indirect=True)

SIZES = range(1, 41)
LATER = (now() + 50 * HOUR).isoformat()
ENTRIES = "SELECT id, uid, snooze_id FROM messages ORDER BY uid"


def fill(place: Place, messages: dict[str, bytes]) -> None:
    """Deliver conversations, 25 of them at the same time. Each message refers to the first of its conversation, and
    keeps the ids that it has: none, two, broken ones, or the same as other messages."""
    dice = random.Random(39)
    originals = [re.sub(rb"\r\n|\r|\n", b"\r\n", original) for original in messages.values()]
    sizes = [*SIZES] * 5 if FULL else [*dice.sample(SIZES, 11), SIZES[-1]]
    coming = [
        (number // 25, place_in + 3 * dice.random(), number, place_in)
        for number, size in enumerate(sizes)
        for place_in in range(size)
    ]
    for *_, number, place_in in sorted(coming):
        root = f"<root.{number}@corpus.example>"
        head = f"References: {root}\r\n" if place_in else f"Message-ID: {root}\r\n"
        date = f"{1 + number % 28:2d}-Mar-20{10 + place_in % 15} 03:04:05 +0{number % 10}30"
        place.program.append(head.encode() + dice.choice(originals), flags=dice.choice(FLAGS), date=date)


def all_rows(place: Place) -> list[Row]:
    """The rows of all pages of the inbox."""
    rows, after = list[Row](), None
    with reading(place) as mailbox:
        while True:
            page = mailbox.page(None, after=after)
            rows += page.rows
            after = page.next
            if after is None:
                return rows


def by_uid(place: Place) -> dict[int, Shown]:
    return dict(zip(sorted(place.program.uids("INBOX")), place.program.messages("INBOX"), strict=True))


def entries(place: Place) -> tuple[dict[int, int], dict[int, list[int]]]:
    """The UID of each message, and the messages of each snooze in their order."""
    rows = place.rows(ENTRIES)
    together: dict[int, list[int]] = {}
    for row in rows:
        together.setdefault(row.snooze_id, []).append(row.id)
    return {row.id: row.uid for row in rows}, together


def test_conversations_of_the_corpus_go_and_come_back_whole(place: Place, messages: dict[str, bytes]) -> None:
    fill(place, messages)
    before, path = by_uid(place), f"/mailboxes/{place.mailbox_id}/mail"
    count = 0
    with pages(place) as ann:
        fields = fields_of(ann.get(path).text)
        # A list shows the older messages of a long conversation once the newer ones have left.
        while rows := all_rows(place):
            for start in range(0, len(rows), 50):
                chosen = {**fields, "row": [row.key for row in rows[start : start + 50]], "at": LATER}
                post(ann, f"/bulk{path.removesuffix('/mail')}/snooze", chosen)
            count += len(rows)
    uids, together = entries(place)
    sizes = [len(ids) for ids in together.values()]
    print(f"{len(before)} messages in {len(sizes)} conversations of up to {max(sizes)}")
    assert sorted(uids.values()) == sorted(before)
    assert place.rows("SELECT count(*) FROM email_snoozes") == [(len(together),)]
    # Rows that were chosen at once are one snooze if they turn out to be one conversation.
    assert len(together) <= count
    assert max(sizes) >= SIZES[-1] - 3
    place.start()
    place.eventually(lambda: not place.rows(UNMOVED))
    _, asleep = entries(place)
    assert asleep == together
    assert place.program.count("INBOX") == 0
    assert sorted(place.program.messages(place.snoozed)) == sorted(before.values())
    place.make_due()
    back(place)
    after, (now_at, _) = by_uid(place), entries(place)
    for ids in together.values():
        assert sorted(ids, key=now_at.__getitem__) == ids
        for id in ids:
            was = before[uids[id]]
            assert after[now_at[id]] == (returned([was])[0] if id == ids[-1] else was)
    assert len(place.rows(RETURNED)) == len(together)
