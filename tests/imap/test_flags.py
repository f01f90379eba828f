"""A star or a keyword that snoozes what gets it in the inbox, where a mail program cannot move."""

import os
import signal
from collections.abc import Callable

import pytest

from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.flags import KEYWORD, NOTED, STAR, choose
from tests.imap.watched import Place

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)
STEPS = ["noticed", "intended", "imap_moved", "arrived"][: 4 if os.environ.get("SNOOZER_STORM") else 1]

LOOKED = "SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"


def deliver(place: Place, name: str, *, flags: str = "", message_id: str | None = "") -> None:
    original = an_original(subject=name, message_id=f"<{name}@mail.example>")
    if message_id is None:
        original = b"\r\n".join(line for line in original.split(b"\r\n") if not line.startswith(b"Message-ID"))
    place.program.deliver(original, flags=flags)


def look(place: Place) -> None:
    """Wait for two passes over the mailbox."""
    for _ in range(2):
        place.run("UPDATE mailboxes SET synced_at = NULL")
        place.eventually(lambda: place.rows(LOOKED))


def flags_by_subject(place: Place, folder: str = "INBOX") -> dict[str, set[str]]:
    return {
        original.split(b"Subject: ")[1].split(b"\r\n")[0].decode(): set(flags)
        for original, _, flags in place.program.messages(folder)
    }


def snoozes(place: Place) -> int:
    return len(place.rows("SELECT 1 FROM email_snoozes"))


@on_both
@pytest.mark.parametrize("flag", [STAR, KEYWORD])
def test_what_gets_the_flag_is_snoozed_once_and_comes_back_without_it(place: Place, flag: str) -> None:
    deliver(place, "before", flags=rf"({flag} \Seen)")
    deliver(place, "offer", flags=r"(\Seen \Answered)")
    choose(place, flag)
    place.start()
    place.eventually(lambda: place.rows(NOTED))
    assert place.rows("SELECT count(*) FROM mailbox_flagged") == [(1,)]
    place.program.flag(flag, uids="2")
    place.eventually(lambda: place.asleep() == 1)
    assert flags_by_subject(place) == {"before": {flag, r"\Seen"}}
    assert flags_by_subject(place, place.snoozed) == {"offer": {r"\Seen", r"\Answered"}}
    assert place.rows("SELECT extract(isodow FROM remind_at) FROM email_snoozes") == [(1,)], "next week, not tomorrow"
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 2)
    look(place)
    assert flags_by_subject(place) == {"before": {flag, r"\Seen"}, "offer": {r"\Answered", "$new"}}
    place.program.flag(flag, uids="3")
    place.eventually(lambda: place.asleep() == 1)
    assert snoozes(place) == 1, "the same message, snoozed anew"


@on_both
def test_a_star_from_before_outlives_a_snooze_and_snoozes_nothing(place: Place) -> None:
    """Moved into a folder that means a time, and back by itself, then by hand."""
    deliver(place, "important", flags=STAR)
    choose(place, STAR)
    place.start()
    place.eventually(lambda: place.rows(NOTED))
    ways: list[tuple[Callable[[], object], set[str]]] = [
        (place.make_due, {STAR, "$new"}),
        (lambda: place.program.move(place.snoozed, "INBOX"), {STAR}),
    ]
    for comes_back, flags in ways:
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.eventually(lambda: place.asleep() == 1)
        comes_back()
        place.eventually(lambda: place.program.count("INBOX") == 1)
        look(place)
        assert flags_by_subject(place) == {"important": flags}
        assert place.asleep() == 0
    place.program.flag(STAR, off=True)
    look(place)
    place.program.flag(STAR)
    place.eventually(lambda: place.asleep() == 1)


@on_one
def test_a_message_without_an_id_is_known_when_it_gets_the_star_after_its_return(place: Place) -> None:
    deliver(place, "nameless", message_id=None)
    choose(place, STAR)
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1 and place.rows("SELECT 1 FROM reminder_sends"))
    place.program.flag(STAR)
    place.eventually(lambda: place.asleep() == 1)
    assert snoozes(place) == 1


@on_one
@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_dies_leaves_one_snooze_and_no_star(place: Place, step: str) -> None:
    deliver(place, "offer")
    choose(place, STAR)
    place.start()
    place.eventually(lambda: place.rows(NOTED))
    place.stop()
    place.program.flag(STAR)
    assert place.process(failpoint=f"{step}:kill").wait(60) == -signal.SIGKILL
    place.stop()
    place.forget_owner()
    place.start()
    place.eventually(lambda: place.asleep() == 1)
    look(place)
    assert flags_by_subject(place, place.snoozed) == {"offer": set()}
    assert (snoozes(place), place.program.count("INBOX")) == (1, 0)
