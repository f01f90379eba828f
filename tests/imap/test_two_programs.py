"""Other mail programs work in a mailbox while it is watched: no message is doubled or lost, and every row tells where
its message is."""

import os
import random
from collections import Counter

import pytest

from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import MailServer
from tests.imap.watched import MailProgram, Place

pytestmark = pytest.mark.parametrize("mail_server", BOTH, indirect=True)

SEEDS = range(10 if os.environ.get("SNOOZER_STORM") else 1)
NUMBER = 24
STEPS = 30
ENTRIES = "SELECT folder, uid FROM messages WHERE place = 'snoozed' AND moving_to IS NULL AND returns_at > now()"
UNSETTLED = (
    "SELECT 1 FROM messages WHERE moving_to IS NOT NULL OR place = 'missing' OR returns_at <= now() "
    "OR (wanted = 'snoozed' AND place <> 'snoozed')"
)
# A snooze that runs has its message hidden, and one that is over has none.
UNTRUE = (
    "SELECT 1 FROM email_snoozes AS snooze LEFT JOIN messages AS message USING (user_email, message_id) "
    "WHERE snooze.remind_at > now() AND snooze.inactive = COALESCE(message.place = 'snoozed', FALSE)"
)


def folders(place: Place) -> tuple[str, ...]:
    ours = ("Snoozed",), ("Snooze", "Tomorrow"), ("Snooze", "Next week"), ("Archive",)
    return ("INBOX", *(place.folder(*levels) for levels in ours))


def ids(place: Place, folder: str) -> list[bytes]:
    return [original.split(b"\r\n", 1)[0] for original, _, _ in place.program.shown(folder)]


class Meddler:
    """Does what people do to messages, at any moment; what is gone meanwhile is left alone, as mail programs do."""

    def __init__(self, place: Place, program: MailProgram, dice: random.Random) -> None:
        self._place, self._program, self._dice = place, program, dice
        self.expunged: set[bytes] = set()

    def step(self) -> None:
        inbox, snoozed, tomorrow, next_week, archive = folders(self._place)
        act = self._dice.choice(("snooze", "snooze", "out", "again", "archive", "flag", "expunge", "due"))
        if act == "due":
            for row in self._place.rows("SELECT id FROM email_snoozes WHERE NOT inactive AND id % 3 = 0"):
                self._place.make_due(id=row.id)
        elif act == "flag":
            self._program.try_to(snoozed, "STORE", "+FLAGS", r"(\Flagged \Seen)", dice=self._dice)
        elif act == "expunge":
            self.expunged |= self._program.try_to_expunge(snoozed, dice=self._dice)
        else:
            source, target = {
                "snooze": (inbox, tomorrow),
                "out": (snoozed, inbox),
                "again": (snoozed, next_week),
                "archive": (snoozed, archive),
            }[act]
            self._program.try_to(source, "MOVE", f'"{target}"', dice=self._dice)


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_that_move_flag_and_expunge_at_once_lose_and_double_nothing(
    place: Place, mail_server: MailServer, seed: int
) -> None:
    for number in range(NUMBER):
        place.program.deliver(an_original(message_id=f"<{number}@mail.example>"))
    all_ids = Counter(ids(place, "INBOX"))
    place.start()
    other = MailProgram(mail_server.port, place.username)
    meddler = Meddler(place, other, random.Random(seed))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"), uids="1:12")
    for _ in range(STEPS):
        meddler.step()
    other.close()

    _, snoozed, tomorrow, next_week, _ = folders(place)

    def is_true() -> bool:
        for row in place.rows("SELECT id FROM messages WHERE missing_since > now() - INTERVAL '11 minutes'"):
            place.run(f"UPDATE messages SET missing_since = now() - INTERVAL '11 minutes' WHERE id = {row.id}")  # noqa: S608
        return (
            place.program.uids(tomorrow) == place.program.uids(next_week) == set()
            and not place.rows(UNSETTLED)
            and not place.rows(UNTRUE)
            and {row.uid for row in place.rows(ENTRIES) if row.folder == snoozed} == place.program.uids(snoozed)
        )

    place.eventually(is_true)
    found = Counter(id for folder in folders(place) for id in ids(place, folder))
    assert found == Counter({id: 1 for id in all_ids if id in found})
    assert all_ids.keys() - found.keys() <= meddler.expunged


def test_a_copy_is_snoozed_and_its_original_left_alone(place: Place) -> None:
    """As by NeoMutt, which copies first, and marks the original when it synchronises."""
    place.program.deliver(an_original(message_id="<copied@mail.example>"))
    before = place.program.messages("INBOX")
    place.start()
    place.program.copy("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.messages("INBOX") == place.program.messages(place.snoozed) == before
    assert place.rows("SELECT count(*) FROM email_snoozes") == [(1,)]


def test_what_is_stored_anew_elsewhere_with_another_date_is_known_again(place: Place) -> None:
    """As by Outlook, which appends to the target and deletes where it was."""
    original = an_original(message_id="<anew@mail.example>")
    place.program.deliver(original)
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.program.append(original, flags="", date=" 1-Jan-2026 00:00:00 +0000")
    place.program.mark_deleted(place.snoozed)
    place.eventually(lambda: place.snooze_of("<anew@mail.example>").outcome == "cancelled")
    assert place.rows("SELECT detail->>'why' FROM snooze_events WHERE kind = 'cancelled'") == [("moved",)]
    assert [place.program.count(name) for name in ("INBOX", place.snoozed)] == [1, 0]


def test_a_folder_of_ours_that_is_deleted_with_what_is_in_it_ends_in_words(place: Place) -> None:
    place.program.deliver(an_original(message_id="<in-it@mail.example>"))
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.program.delete_folder(place.snoozed)
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE place = 'missing'"))
    assert place.program.count(place.snoozed) == 0
    assert not place.snooze_of("<in-it@mail.example>").inactive
    place.run("UPDATE messages SET missing_since = missing_since - INTERVAL '11 minutes'")
    place.eventually(lambda: place.snooze_of("<in-it@mail.example>").outcome == "cancelled")
    assert place.rows("SELECT detail->>'why' FROM snooze_events WHERE kind = 'cancelled'") == [("gone",)]
    place.program.deliver(an_original(message_id="<next@mail.example>"))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
