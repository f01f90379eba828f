"""Moves soon after one another are each noticed at once, and what is deleted while it is asleep is never reminded of,
whenever that is. Polls are hours apart.

SNOOZER_STORM=1 makes it 500 pairs and 200 deletions, and measures; else they are a sample.
"""

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from snoozer.mailboxes.imap.connection import Connection
from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.watched import SECONDS, Place, a_worker

FULL = os.environ.get("SNOOZER_STORM") == "1"
PAIRS = 500 if FULL else 6
DELETIONS = 200 if FULL else 10
# Every tenth message stays, and is reminded of.
STAYS = 10
# Between the two moves of a pair.
GAP = (0.3, 0.9)
P99_SECONDS, WORST_SECONDS = 2.0, 5.0
# How long before its time a message is deleted.
BEFORE = (1.0, 30.0) if FULL else (15.0, 25.0)
SPREAD_SECONDS = 60.0 if FULL else 5.0
SYNCED = "SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"
NOTICED = "SELECT message_id FROM email_snoozes"
MISSING = "SELECT message_id FROM messages WHERE place = 'missing'"
OVER = "SELECT message_id FROM email_snoozes WHERE inactive"
# Ten minutes pass; who begins to watch looks.
GIVE_UP = "UPDATE messages SET missing_since = now() - INTERVAL '11 minutes' WHERE place = 'missing'"

pytestmark = [pytest.mark.parametrize("mail_server", BOTH, indirect=True), pytest.mark.timeout(3_600)]


@pytest.fixture
def place(place: Place) -> Place:
    place.settings = place.settings.model_copy(update={"mailbox_poll": 7200.0})
    return place


def start_with(place: Place, count: int) -> None:
    """As many messages in the inbox, whose UIDs count from 1, and a watcher that knows them."""
    for number in range(1, count + 1):
        place.program.deliver(an_original(subject=f"m{number}", message_id=f"<{number}@mail.example>"))
    place.start()
    place.eventually(lambda: place.rows(SYNCED))


def test_two_moves_soon_after_one_another_are_both_noticed_at_once(place: Place) -> None:
    start_with(place, 2 * PAIRS)
    dice, took = random.Random(36), list[float]()
    for pair in range(PAIRS):
        moved: dict[str, float] = {}
        for number in (2 * pair + 1, 2 * pair + 2):
            place.program.move("INBOX", place.folder("Snooze", "Tomorrow"), uids=str(number))
            moved[f"<{number}@mail.example>"] = time.monotonic()
            if len(moved) == 1:
                time.sleep(dice.uniform(*GAP))
        until = time.monotonic() + SECONDS
        while moved:
            assert time.monotonic() < until, (pair, moved, place.state()[:2_000])
            for row in place.rows(NOTICED):
                if row.message_id in moved:
                    took.append(time.monotonic() - moved.pop(row.message_id))
            time.sleep(0.01)
        place.eventually(lambda: place.asleep() == 2 * pair + 2)  # noqa: B023
    took.sort()
    p50, p99, worst = took[len(took) // 2], took[int(len(took) * 0.99)], took[-1]
    print(f"\n{PAIRS} pairs of moves: noticed after p50 {p50:.2f} s, p99 {p99:.2f} s, worst {worst:.2f} s")
    assert not FULL or (p99 <= P99_SECONDS and worst <= WORST_SECONDS)


def test_a_message_is_known_to_be_missing_before_it_is_sought(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    start_with(place, 2)
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"), uids="1")
    place.eventually(lambda: place.asleep() == 1)
    really_find, missing = Connection.find_each, list[int]()

    def find_each(self: Connection, *arguments: Any) -> Any:
        missing.append(len(place.rows(MISSING)))
        return really_find(self, *arguments)

    monkeypatch.setattr(Connection, "find_each", find_each)
    place.program.try_to_delete(place.snoozed, message_id="<1@mail.example>")
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"), uids="2")
    place.eventually(lambda: missing)
    assert missing[0] == 1


def test_what_is_deleted_at_any_moment_while_it_is_asleep_is_not_reminded_of(place: Place, tmp_path: Path) -> None:
    dice = random.Random(36)
    start_with(place, DELETIONS)
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == DELETIONS)
    ids = [f"<{number}@mail.example>" for number in range(1, DELETIONS + 1)]
    stay, deleted = set(ids[::STAYS]), [id for id in ids if ids.index(id) % STAYS]
    with a_worker(place, tmp_path) as sink:
        begin = time.monotonic()
        due = {id: BEFORE[1] + dice.uniform(0, SPREAD_SECONDS) for id in ids}
        for id, seconds in due.items():
            place.run(
                f"UPDATE email_snoozes SET remind_at = clock_timestamp() + INTERVAL '{seconds} seconds', "  # noqa: S608
                f"scheduled_for = NULL WHERE message_id = '{id}'"
            )
        at = {id: due[id] - dice.uniform(*BEFORE) for id in deleted}
        left = {}
        for id in sorted(deleted, key=at.__getitem__):
            time.sleep(max(0.0, begin + at[id] - time.monotonic()))
            place.program.try_to_delete(place.snoozed, message_id=id)
            left[id] = begin + due[id] - time.monotonic()
        # A machine that is busy deletes some too late.
        in_time = {id for id, seconds in left.items() if seconds >= BEFORE[0] / 2}
        place.eventually(lambda: {mail["in_reply_to"] for mail in sink.accepted()} >= stay)
        place.eventually(lambda: {row.message_id for row in place.rows(MISSING)} >= in_time)
        place.run(GIVE_UP)
        place.stop()
        place.start()
        place.eventually(lambda: {row.message_id for row in place.rows(OVER)} >= in_time)
        reminded = {mail["in_reply_to"] for mail in sink.accepted()}
    print(f"\n{len(in_time)} of {len(deleted)} deleted in time, {len(reminded & in_time)} of them reminded of")
    assert {id: left[id] for id in reminded & in_time} == {}
    assert 2 * len(in_time) > len(deleted)
