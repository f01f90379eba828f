"""Which process watches which mailbox: one that is dead or silent is replaced, and what it still writes is void."""

import time
from datetime import timedelta
from typing import NoReturn

import pytest
from sqlalchemy import Engine, text

from snoozer.db import mailbox_leases
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.sync.mailbox_watch import AFTER_REFUSED_SIGN_IN, MailboxWatch
from snoozer.mailboxes.sync.ownership import REPORT_SECONDS, SILENCE, UNSURE_SILENCE, Ownership
from snoozer.runtime.process_identity import process_name
from tests.factories import People, a_mailbox

HOUR = timedelta(hours=1)


@pytest.fixture
def mailbox_ids(engine: Engine, people: People) -> set[int]:
    ann = people.ann()
    return {a_mailbox(engine, account_id=ann.id) for _ in range(4)}


def a_process(engine: Engine, *, name: str | None = None) -> Ownership:
    return Ownership(engine, owner=name or process_name(), retry=HOUR)


def run(engine: Engine, sql: str, **values: object) -> None:
    with engine.begin() as connection:
        connection.execute(text(sql), values)


def taken(process: Ownership) -> set[int]:
    return {mailbox.id for mailbox in process.keep({}).taken}


def silent_for(engine: Engine, silence: timedelta) -> None:
    run(engine, "UPDATE mailbox_watchers SET seen_at = seen_at - CAST(:silence AS interval)", silence=silence)


def test_the_mailboxes_of_a_dead_process_are_taken_at_once(engine: Engine, mailbox_ids: set[int]) -> None:
    """As it is restarted after `kill -9`: no lease is waited for."""
    before, _, _ = process_name().rpartition(".")
    assert taken(a_process(engine, name=f"{before}.1")) == mailbox_ids
    assert taken(a_process(engine)) == mailbox_ids


def test_a_process_of_another_machine_keeps_its_mailboxes_until_it_is_silent(
    engine: Engine, mailbox_ids: set[int]
) -> None:
    elsewhere = "elsewhere-1-abcd@another-boot:1.1.1"
    assert taken(a_process(engine, name=elsewhere)) == mailbox_ids
    assert taken(a_process(engine)) == set()
    silent_for(engine, UNSURE_SILENCE)
    assert taken(a_process(engine)) == mailbox_ids


def test_mailboxes_change_hands_soon_only_if_the_other_process_reported_meanwhile(
    engine: Engine, mailbox_ids: set[int]
) -> None:
    """After an outage of the database every process was silent, and none takes the mailboxes of another."""
    assert taken(a_process(engine, name="elsewhere-1-abcd@another-boot:1.1.1")) == mailbox_ids
    process, began = a_process(engine), time.monotonic()
    while time.monotonic() < began + SILENCE.total_seconds() + REPORT_SECONDS:
        assert taken(process) == set()
        run(engine, "UPDATE mailbox_watchers SET seen_at = clock_timestamp()")
        time.sleep(REPORT_SECONDS)
    time.sleep(2 * REPORT_SECONDS)  # The outage.
    silent_for(engine, 2 * SILENCE)
    back = time.monotonic()
    assert taken(process) == set()
    while not (found := taken(process)):
        time.sleep(REPORT_SECONDS)
    assert found == mailbox_ids
    assert time.monotonic() >= back + SILENCE.total_seconds()


def test_two_processes_share_evenly(engine: Engine, mailbox_ids: set[int]) -> None:
    first, second = a_process(engine), a_process(engine)
    owned = {mailbox.id: mailbox for mailbox in first.keep({}).taken}
    assert taken(second) == set()
    again = a_process(engine, name=first.owner)  # Its next renewal.
    lost = again.keep(owned).lost
    assert len(lost) == 2
    assert taken(a_process(engine, name=second.owner)) == lost


def test_what_a_former_owner_read_is_not_written_down(engine: Engine, mailbox_ids: set[int]) -> None:
    run(engine, "UPDATE mailboxes SET synced_at = NULL")
    fences = {mailbox.id: mailbox.fence for mailbox in a_process(engine).keep({}).taken}
    moved_on = min(mailbox_ids)
    run(engine, "UPDATE mailboxes SET fence = fence + 1 WHERE id = :id", id=moved_on)
    with engine.begin() as connection:
        mailbox_leases.record_syncs(connection, fences)
        synced = connection.execute(text("SELECT id FROM mailboxes WHERE synced_at IS NOT NULL")).scalars()
        assert set(synced) == mailbox_ids - {moved_on}


def test_a_closed_account_and_a_changed_password_are_noticed_by_the_next_report(
    engine: Engine, mailbox_ids: set[int]
) -> None:
    first = a_process(engine)
    owned = {mailbox.id: mailbox for mailbox in first.keep({}).taken}
    changed = min(mailbox_ids)
    run(engine, "UPDATE mailboxes SET fence = fence + 1, owner = NULL, owned_until = NULL WHERE id = :id", id=changed)
    next_report = a_process(engine, name=first.owner).keep(owned)
    assert (next_report.lost, {mailbox.id for mailbox in next_report.taken}) == ({changed}, {changed})
    run(engine, "UPDATE accounts SET disabled_at = now()")
    news = a_process(engine, name=first.owner).keep(owned)
    assert news.lost == mailbox_ids
    assert all(mailbox.is_closed for mailbox in news.taken)


def test_a_sign_in_that_is_refused_while_its_mailbox_is_disconnected_is_not_repeated_soon(
    engine: Engine, people: People
) -> None:
    a_mailbox(engine, account_id=people.ann().id, state="leaving", login_method="google")
    [mailbox] = a_process(engine).keep({}).taken

    def refuse(*_: object) -> NoReturn:
        raise ImapError("sign_in", "The provider does not accept the sign-in any more.")

    wait = MailboxWatch(engine, mailbox, open=refuse, session=refuse, poll=60).turn(look=True, move=False)
    assert not wait.lost
    assert wait.seconds >= AFTER_REFUSED_SIGN_IN
