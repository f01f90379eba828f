"""Facts received while the database is unavailable survive their worker."""

import resource
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from snoozer.delivery.chores.recovery import record_inherited_facts
from snoozer.queue.fact_journal import FactJournal
from snoozer.queue.ledger import Fact
from tests.db.transitions import a_fact, a_held_mail, authorise
from tests.factories import the_events, the_send


def a_loose_fact() -> Fact:
    return Fact(
        reminder_message_id="<1@snoozer.example>",
        snooze_id=1,
        claim_token=uuid4(),
        smtp_code=250,
        enhanced_code=None,
        reply="ok",
        queue_id=None,
    )


def test_a_fact_left_on_disk_reaches_the_ledger_through_the_next_worker(engine: Engine, tmp_path: Path) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    dead = FactJournal(tmp_path, worker="dead")
    dead.append(a_fact(send))
    dead.close()
    living = FactJournal(tmp_path, worker="living")
    assert record_inherited_facts(engine, journal=living, actor="worker:living") == 1
    assert the_send(engine, held.id).state == "sent"
    assert the_events(engine, held.id) == []
    assert record_inherited_facts(engine, journal=living, actor="worker:living") == 0
    living.close()


def test_the_journal_of_a_running_worker_is_not_inherited(tmp_path: Path) -> None:
    busy = FactJournal(tmp_path, worker="busy")
    busy.append(a_loose_fact())
    other = FactJournal(tmp_path, worker="other")
    assert list(other.inherited()) == []
    other.close()
    busy.close()


def test_a_line_that_was_never_finished_is_not_taken_for_a_fact(tmp_path: Path) -> None:
    fact = a_loose_fact()
    dead = FactJournal(tmp_path, worker="dead")
    dead.append(fact)
    dead.close()
    with (tmp_path / "dead.jsonl").open("a") as file:
        file.write('{"reminder_message_id": "<7@')
    living = FactJournal(tmp_path, worker="living")
    [(_, facts)] = list(living.inherited())
    living.close()
    assert facts == [fact]


def test_a_half_written_line_spoils_no_other_line(tmp_path: Path) -> None:
    fact, journal = a_loose_fact(), FactJournal(tmp_path, worker="dead")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        with pytest.raises(OSError, match="space"):
            journal.append(a_loose_fact())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    journal.append(fact)
    journal.close()
    living = FactJournal(tmp_path, worker="living")
    [(_, facts)] = list(living.inherited())
    living.close()
    assert facts == [fact]


def test_a_recorded_fact_is_deleted_from_disk(tmp_path: Path) -> None:
    journal, fact = FactJournal(tmp_path, worker="w"), a_loose_fact()
    journal.append(fact)
    journal.discard(fact)
    journal.close()
    assert list(tmp_path.iterdir()) == []


def test_a_recorded_fact_deletes_no_other_from_disk(tmp_path: Path) -> None:
    journal, known = FactJournal(tmp_path, worker="dead"), a_loose_fact()
    unknown = replace(known, reminder_message_id="<other@snoozer.example>")
    journal.append(known)
    journal.append(unknown)
    journal.discard(known)
    journal.close()
    living = FactJournal(tmp_path, worker="living")
    [(_, facts)] = list(living.inherited())
    living.close()
    assert unknown in facts


def test_a_folder_that_cannot_be_created_raises_before_any_mail(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        FactJournal(tmp_path / "file" / "journal", worker="w")


@pytest.mark.parametrize("mode", [None, 0o755], ids=["new", "of an earlier release"])
def test_no_other_account_reads_what_mail_servers_replied(tmp_path: Path, mode: int | None) -> None:
    folder = tmp_path / "journal"
    if mode is not None:
        folder.mkdir()
        folder.chmod(mode)
    FactJournal(folder, worker="w").close()
    assert folder.stat().st_mode & 0o777 == 0o700
