"""Whatever changes a list is noted in its transaction, and a page learns of each change that it does not show, once."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import list_changes, mailbox_store
from snoozer.db.list_changes import MAX_NAMED, UNKNOWN, Changes, OpenList, is_snapshot
from snoozer.delivery.chores import chores
from snoozer.delivery.chores.returns import return_due
from snoozer.mailboxes import inbox
from snoozer.queue import queue
from snoozer.runtime import secret_keys
from tests.acting import cancel
from tests.db.transitions import claim, finalize, release
from tests.factories import ANN, HOUR, People, Person, a_kept_message, a_mailbox, a_snooze, an_original, now

BOB = "bob@snoozer.example"
ENTERED = (
    "INSERT INTO messages (mailbox_id, user_email, message_id, fingerprint, size, internal_date, home, place, "
    "wanted, folder, uidvalidity, uid) "
    "VALUES (1, :ann, '<1@x>', '', 1, now(), 'INBOX', 'home', 'snoozed', 'INBOX', 1, 1)"
)


class Browser:
    """A list of a person as it was shown last."""

    def __init__(self, engine: Engine, person: Person) -> None:
        self._engine, self._token_hash = engine, secret_keys.digest(person.session)
        with engine.begin() as connection:
            list_changes.begin(connection)
        self.load()

    def load(self) -> None:
        with self._engine.connect() as connection:
            self.seen = list_changes.present(connection).snapshot

    def ask(self) -> Changes:
        with self._engine.connect() as connection:
            shown = OpenList(token_hash=self._token_hash, snapshot=self.seen)
            return list_changes.find(connection, [shown]).changes[0]

    def learns(self) -> bool:
        """Whether anything changed since the last time."""
        found = self.ask()
        self.seen = found.snapshot
        return found.is_changed


@pytest.fixture
def anns(engine: Engine, people: People) -> Browser:
    return Browser(engine, people.ann())


def raw_insert(connection: Connection) -> None:
    insert = "INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:ann, '<raw@x>', now())"
    connection.execute(text(insert), {"ann": ANN})


ACTS: dict[str, Callable[[Connection], object]] = {
    "a raw INSERT": raw_insert,
    "a cancel": lambda one: cancel(one, 1),
    "a note": lambda one: one.execute(text("UPDATE email_snoozes SET note = 'call' WHERE id = 1")),
    "a pause": lambda one: one.execute(text("UPDATE email_snoozes SET inactive = TRUE WHERE id = 1")),
    "a delete": lambda one: one.execute(text("DELETE FROM email_snoozes WHERE id = 1")),
    "mail that comes in": lambda one: inbox.store(one, user_email=ANN, original=an_original()),
    "done": lambda one: mailbox_store.move(one, user_email=ANN, message_id="<kept@mail.example>", folder="done"),
    "read": lambda one: mailbox_store.mark(one, id=1, user_email=ANN, unread=False),
    "a kept message that is deleted": lambda one: one.execute(text("DELETE FROM messages")),
    "a message of a mailbox": lambda one: one.execute(text(ENTERED), {"ann": ANN}),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_a_list_shows_is_not_changed_without_a_note(
    act: str, anns: Browser, engine: Engine, people: People
) -> None:
    a_snooze(engine, message_id="<1@mail.example>", remind_at=now() + HOUR)
    a_kept_message(engine, message_id="<kept@mail.example>")
    a_mailbox(engine)
    bobs = Browser(engine, people.ann(BOB))
    anns.load()
    with engine.begin() as connection:
        ACTS[act](connection)
    assert not bobs.learns()
    assert anns.learns()
    assert not anns.learns(), "once"


def test_a_delivery_is_noted_at_its_end_and_not_at_its_claim(anns: Browser, engine: Engine) -> None:
    for end in ("finalize", "release"):
        a_snooze(engine)
        anns.load()
        [held] = claim(engine)
        with engine.begin() as connection:
            queue.extend(connection, held=[(held.id, held.claim_token)], lease=HOUR)
        assert not anns.learns(), "a claim and its heartbeat change nothing in a list"
        if end == "finalize":
            assert finalize(engine, held)
        else:
            release(engine, held, error="421", attempts_used=1, delay=HOUR)
        assert anns.learns(), end


def test_a_return_by_the_clock_is_noted(anns: Browser, engine: Engine) -> None:
    a_kept_message(engine, message_id="<kept@mail.example>")
    a_snooze(engine, message_id="<kept@mail.example>")
    anns.load()
    return_due(engine)
    assert anns.learns()


def test_a_statement_that_changes_no_row_takes_no_transaction_id(engine: Engine) -> None:
    """Workers claim every second, and the ids of transactions are not for the asking."""
    a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        assert not queue.claim(connection, worker="w", batch_size=9, lease=HOUR)
        connection.execute(text("UPDATE email_snoozes SET note = NULL WHERE note = 'x'"))
        assert connection.execute(text("SELECT pg_current_xact_id_if_assigned()")).scalar_one() is None


def test_no_change_is_missed_whatever_the_order_of_commits(anns: Browser, engine: Engine) -> None:
    """The page is made while the older transaction is open, and sees only what the younger one did."""
    with engine.connect() as older, engine.connect() as younger:
        raw_insert(older)
        with younger.begin():
            younger.execute(
                text("INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:ann, '<2@x>', now())"),
                {"ann": ANN},
            )
        anns.load()
        assert not anns.learns(), "the page shows what the younger one did"
        older.commit()
    assert anns.learns()
    assert not anns.learns()


def test_transactions_are_named_so_that_a_page_knows_its_own_acts(anns: Browser, engine: Engine) -> None:
    before = anns.seen
    with engine.begin() as connection:
        raw_insert(connection)
        own = connection.execute(text("SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)")).scalar_one()
    assert anns.ask().transaction_ids == (own,)
    anns.load()
    assert anns.ask().transaction_ids == ()
    anns.seen = before
    assert anns.ask().transaction_ids == (own,)


def test_many_changes_are_not_named(anns: Browser, engine: Engine) -> None:
    for _ in range(MAX_NAMED + 1):
        a_snooze(engine)
    assert anns.ask().transaction_ids is None
    assert anns.learns()
    assert not anns.learns()


def test_after_a_crash_of_the_server_everything_may_have_changed(anns: Browser, engine: Engine) -> None:
    """It empties unlogged tables."""
    a_snooze(engine)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE list_changes, list_checkpoints"))
    assert anns.ask().transaction_ids is None
    with engine.begin() as connection:
        list_changes.begin(connection)
    assert anns.learns()
    assert not anns.learns()
    a_snooze(engine)
    assert anns.ask().transaction_ids is not None


def test_a_page_that_is_older_than_the_notes_learns_that_they_are_gone(anns: Browser, engine: Engine) -> None:
    a_snooze(engine)
    chores.prune_changes(engine)
    assert anns.ask().transaction_ids, "notes since the last checkpoint are kept"
    chores.prune_changes(engine)
    assert anns.ask().transaction_ids is None
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM list_changes")).scalar_one() == 0
        assert connection.execute(text("SELECT count(*) FROM list_checkpoints")).scalar_one() == 2


def test_notes_of_a_transaction_that_ends_after_a_checkpoint_are_kept(anns: Browser, engine: Engine) -> None:
    with engine.connect() as slow:
        raw_insert(slow)
        chores.prune_changes(engine)
        anns.load()
        slow.commit()
    chores.prune_changes(engine)
    assert anns.learns()


def test_a_page_of_another_database_learns_that_nothing_is_known(anns: Browser) -> None:
    """A dump was restored into a server whose transactions have lower numbers."""
    anns.seen = "900000000000:900000000000:"
    assert anns.ask().transaction_ids is None
    anns.seen = UNKNOWN
    assert anns.ask().transaction_ids is None


ENDS = {
    "signed out": "DELETE FROM sessions",
    "expired": "UPDATE sessions SET expires_at = now()",
    "idle": "UPDATE sessions SET seen_at = now() - INTERVAL '15 days'",
    "closed": "UPDATE accounts SET disabled_at = now()",
}


@pytest.mark.parametrize("end", ENDS)
def test_who_is_not_signed_in_any_more_learns_nothing_else(
    end: str, anns: Browser, engine: Engine, people: People
) -> None:
    a_snooze(engine)
    with engine.begin() as connection:
        connection.execute(text(ENDS[end]))
    found = anns.ask()
    assert not found.is_signed_in
    assert not found.transaction_ids


SNAPSHOTS = [
    "1:1:", "10:20:", "10:20:10,11,19", "10:20:20", "10:20:9", "10:20:12,11", "0:5:", "20:10:", "10:20", "10:20:,",
    "x:20:",    "10:20:11,", "-1:5:", " 10:20:", "10:20:11 ", "9223372036854775806:9223372036854775807:", "", "١:٢:",
]  # fmt: skip


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_what_is_taken_for_a_snapshot_is_one(snapshot: str, engine: Engine) -> None:
    """One that Postgres refuses would fail the query for all lists."""
    if not is_snapshot(snapshot):
        return
    with engine.connect() as connection:
        read = connection.execute(text("SELECT CAST(CAST(:it AS pg_snapshot) AS text)"), {"it": snapshot}).scalar_one()
    assert read == snapshot


def test_snapshots_of_the_server_are_taken(engine: Engine) -> None:
    with engine.connect() as running, engine.connect() as connection:
        raw_insert(running)
        assert is_snapshot(list_changes.present(connection).snapshot)
    assert not is_snapshot("10:20:" + ",".join(["11"] * 2_000))
    assert is_snapshot(UNKNOWN)


def test_a_program_that_may_only_write_snoozes_is_noted(anns: Browser, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("DROP ROLE IF EXISTS producer"))
        connection.execute(text("CREATE ROLE producer"))
        connection.execute(text("GRANT INSERT ON email_snoozes TO producer"))
        connection.execute(text("GRANT USAGE ON SEQUENCE email_snoozes_id_seq TO producer"))
        try:
            connection.execute(text("SET ROLE producer"))
            raw_insert(connection)
        finally:
            connection.execute(text("RESET ROLE"))
            connection.execute(text("REVOKE ALL ON email_snoozes, email_snoozes_id_seq FROM producer"))
            connection.execute(text("DROP ROLE producer"))
    assert anns.learns()
