"""Pages, API, metrics, gauges and housekeeping read only the rows they need, however large the tables are."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import get_args

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import day_shapes, health_checks, mailbox_store, support
from snoozer.db.queries import Cursor, api_snoozes, cases, messages, metrics, senders, snoozes
from snoozer.db.queries.case_filter import Filter
from snoozer.db.queries.messages import Folder
from snoozer.db.state_words import State
from snoozer.queue import archive
from snoozer.telemetry import gauges
from tests.db.reading import reading
from tests.factories import ANN, HOUR, a_snooze, now

A_DAY = timedelta(days=1)
A_WEEK = timedelta(days=7)
# A page of forty, and for each row its message, its send and whether it was put away anew.
A_PAGE = 250

# One person with 4,000 rows, the oldest of all, and 8,000 of others: asleep, sent, cancelled or a case, by turns.
FILL = """
INSERT INTO email_snoozes (
    user_email, message_id, remind_at, scheduled_for, inactive, outcome, finished_at, attempts, last_error
)
SELECT
    CASE WHEN n <= 4000 THEN 'ann@snoozer.example' ELSE 'p' || n % 800 END,
    n || '@x',
    now() + CASE WHEN n % 4 = 0 THEN n * INTERVAL '2 hours' + INTERVAL '2 days' ELSE n * INTERVAL '-1 minute' END,
    CASE WHEN n % 4 > 0 THEN now() - n * INTERVAL '1 minute' END,
    n % 4 > 0,
    (ARRAY['sent', 'cancelled', 'retired'])[n % 4],
    CASE WHEN n % 4 > 0 THEN now() - n * INTERVAL '1 minute' END,
    CASE WHEN n % 4 = 3 THEN 5 ELSE 0 END,
    CASE WHEN n % 4 = 3 THEN '550 no such user' END
FROM generate_series(1, 12000) AS n;
INSERT INTO reminder_sends (
    snooze_id, user_email, message_id, scheduled_for, bucket, reminder_message_id, state, claim_token, zone,
    reserved_at, sent_at, smtp_code
)
SELECT
    id, user_email, message_id, scheduled_for, bucket, id || '@r',
    CASE outcome WHEN 'sent' THEN 'sent' ELSE 'failed' END,
    gen_random_uuid(), 'UTC', scheduled_for, CASE outcome WHEN 'sent' THEN scheduled_for END, 250
FROM email_snoozes
WHERE outcome IN ('sent', 'retired');
INSERT INTO snooze_events (snooze_id, kind, actor, route)
SELECT n, 'edited', 'user', 'web'
FROM generate_series(1, 60000) AS n;
INSERT INTO messages (user_email, message_id, size, sha256, folder, unread, returned, surfaced_at)
SELECT
    user_email, message_id, 960, 'x', (ARRAY['inbox', 'snoozed', 'done'])[1 + id % 3], TRUE, FALSE, clock_timestamp()
FROM email_snoozes;
INSERT INTO message_originals (id, original)
SELECT id, convert_to(repeat(md5(message_id), 30), 'UTF8')
FROM messages;
WITH account AS (INSERT INTO accounts (email, verified_at) VALUES ('ann@snoozer.example', now()) RETURNING id)
INSERT INTO digests (account_id, snooze_id, scheduled_for)
SELECT (SELECT id FROM account), id, scheduled_for
FROM email_snoozes
WHERE outcome = 'sent';
INSERT INTO digest_members (digest_id, position, snooze_id, scheduled_for)
SELECT digests.id, its.position, its.position * 100000 + digests.id, digests.scheduled_for
FROM digests, generate_series(1, 5) AS its (position);
"""
TABLES = "accounts, email_snoozes, reminder_sends, snooze_events, messages, digests, digest_members"


@pytest.fixture(scope="module")
def filled(migrated: Engine) -> Iterator[Engine]:
    """A database filled once, vacuumed and analyzed."""
    with migrated.begin() as connection:
        connection.execute(text(f"TRUNCATE {TABLES} RESTART IDENTITY CASCADE"))
        connection.execute(text(FILL))
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"VACUUM ANALYZE {TABLES}"))
    yield migrated
    with migrated.begin() as connection:
        connection.execute(text(f"TRUNCATE {TABLES} RESTART IDENTITY CASCADE"))


FRONT: dict[str, Callable[[Connection], object]] = {
    "asleep": lambda connection: snoozes.asleep(connection, user_email=ANN),
    "asleep, a later page": lambda connection: snoozes.asleep(
        connection, user_email=ANN, after=Cursor(at=now() + 100 * A_DAY, id=1)
    ),
    "how many": lambda connection: snoozes.count(connection, user_email=ANN),
    "how many are due": lambda connection: snoozes.count_due(connection, user_email=ANN, now=now(), max_backoff=A_DAY),
    "cases": lambda connection: snoozes.stuck(connection, user_email=ANN),
    "came back": lambda connection: snoozes.came_back(connection, user_email=ANN, since=now() - A_WEEK),
    "trouble": lambda connection: snoozes.trouble(
        connection, user_email=ANN, now=now(), tolerance=HOUR, max_backoff=A_DAY
    ),
}


@pytest.mark.parametrize("part", FRONT)
def test_the_front_page_reads_what_it_shows(part: str, filled: Engine) -> None:
    """It took twenty-two seconds for a person with fifty thousand rows: for each returned one, all were read."""
    read = reading(filled, FRONT[part])
    # Pauses are few.
    assert (read.rows <= A_PAGE, read.whole_tables - {"pauses"}) == (True, frozenset()), read


@pytest.mark.parametrize("after", [None, 2000])
@pytest.mark.parametrize("state", [None, *get_args(State)])
def test_the_api_reads_the_rows_of_its_page(state: State | None, after: int | None, filled: Engine) -> None:
    cursor = None if after is None else Cursor(at=now(), id=after)
    read = reading(
        filled, lambda connection: api_snoozes.browse(connection, user_email=ANN, now=now(), state=state, after=cursor)
    )
    # Rows that were paused by hand are looked for among all that is asleep.
    most = 1_100 if state == "paused" else A_PAGE
    assert (read.rows <= most, read.whole_tables) == (True, frozenset()), read


def test_asking_for_messages_reads_one_row_of_each(filled: Engine) -> None:
    """Asleep, sent, cancelled and cases by turns, and messages that are unknown."""
    asked = [f"{number}@x" for number in (*range(1, 41), *range(20_001, 20_011))]
    read = reading(filled, lambda connection: api_snoozes.of_messages(connection, user_email=ANN, message_ids=asked))
    # A row and its send; the index of what is over has not each row's visibility.
    assert (0 < read.rows <= 120, read.whole_tables) == (True, frozenset()), read


@pytest.mark.parametrize("folder", ["inbox", "snoozed", "done"])
def test_a_folder_reads_the_messages_of_its_page(folder: Folder, filled: Engine) -> None:
    before = Cursor(at=now() + A_DAY, id=1)
    read = reading(
        filled, lambda connection: messages.in_folder(connection, user_email=ANN, folder=folder, before=before)
    )
    assert (read.rows <= A_PAGE, read.whole_tables) == (True, frozenset()), read


def test_senders_are_suggested_from_the_first_of_many(filled: Engine) -> None:
    for found in (
        lambda connection: senders.of_snoozes(connection, user_email=ANN, text="unknown", size=7),
        lambda connection: senders.of_kept(connection, user_email=ANN, folder="inbox", text="unknown", size=7),
    ):
        read = reading(filled, found)
        assert (read.rows <= 2 * senders.MAX_READ, read.whole_tables) == (True, frozenset()), read


def test_what_is_done_in_connected_mailboxes_is_not_sought_among_kept_messages(filled: Engine) -> None:
    for seek in (
        lambda connection: mailbox_store.next_returns(connection, owner="a process"),
        lambda connection: mailbox_store.prune(connection, batch_size=100),
        lambda connection: day_shapes.defer_messages(connection, kept=False, batch_size=100),
    ):
        read = reading(filled, seek)
        assert (read.rows <= A_PAGE, "messages" in read.whole_tables) == (True, False), read


def test_folder_counts_are_read_from_an_index(filled: Engine) -> None:
    read = reading(filled, lambda connection: messages.counts(connection, user_email=ANN))
    assert (read.rows, read.whole_tables) == (0, frozenset())


def test_the_operators_metrics_scan_no_whole_table(filled: Engine) -> None:
    read = reading(filled, lambda connection: metrics.read(connection, dead_after=HOUR))
    assert read.whole_tables <= {"workers", "housekeeping_runs", "circuit_breakers", "pauses"}


def test_the_operators_list_reads_the_cases_of_its_page(filled: Engine) -> None:
    read = reading(filled, lambda connection: cases.page(connection, Filter()))
    assert (read.rows <= A_PAGE, read.whole_tables) == (True, frozenset()), read


@pytest.mark.parametrize(
    "filter",
    [
        Filter(reason="5" * 32),
        Filter(error_class="4xx"),
        Filter(domain="nowhere.example"),
        Filter(person=4_001),
        Filter(message=1),
        Filter(since=timedelta(minutes=1)),
    ],
    ids=lambda filter: " ".join(filter.as_args()),
)
def test_a_filter_of_cases_that_few_match_reads_no_others(filled: Engine, filter: Filter) -> None:
    """Twelve thousand rows, and three thousand cases of one person and one error."""
    read = reading(filled, lambda connection: cases.page(connection, filter))
    assert (read.rows <= A_PAGE, read.whole_tables) == (True, frozenset()), read


def test_the_invariant_of_what_is_due_reads_nothing_that_is_asleep(filled: Engine) -> None:
    read = reading(filled, lambda connection: health_checks.violations(connection, "due_is_taken"))
    assert (read.rows, read.whole_tables - {"circuit_breakers", "pauses"}) == (0, frozenset())


def test_an_empty_invariant_is_not_searched_row_by_row(filled: Engine) -> None:
    """Planned for the first hundred of many, it read each month of the archive for each row."""
    read = reading(filled, lambda connection: health_checks.violations(connection, "finished_has_its_send"))
    assert read.rows <= 12_000 + 6_000, read


def test_housekeeping_reads_only_what_has_been_over_for_long(filled: Engine) -> None:
    """It read all finished rows once a minute, and all events."""
    ripe = reading(
        filled, lambda connection: archive.list_archivable(connection, older_than=35 * A_DAY, batch_size=500)
    )
    assert (ripe.rows, ripe.entries) == (0, 0)
    old = reading(filled, lambda connection: archive.prune_events(connection, keep_months=24, batch_size=500))
    # What came in since the last vacuum is in no summary, so that its pages are looked at.
    assert old.rows < 15_000, old


def test_a_preview_of_all_cases_reads_no_sends_that_are_settled(filled: Engine) -> None:
    counted = partial(cases.count_for_bulk, filter=Filter(), until=now(), most=10_000)
    read = reading(filled, counted)
    assert "reminder_sends" not in read.whole_tables
    assert read.rows < 3_100, read


def test_the_gauges_read_nothing_that_is_asleep(filled: Engine) -> None:
    def scrape(connection: Connection, *, query: str) -> None:
        support.read(connection, query).one()

    for query in ("backlog", "health"):
        read = reading(filled, partial(scrape, query=query))
        assert "email_snoozes" not in read.whole_tables
        assert read.rows < 100, query


def test_beyond_a_hundred_thousand_the_gauge_of_what_is_asleep_is_an_estimate(connection: Connection) -> None:
    """Counting ten million of them at each scrape is more work than sending what is due."""
    connection.execute(text("UPDATE pg_class SET reltuples = 5000000 WHERE oid = 'ix_email_snoozes_due'::regclass"))
    for most in (support.MOST, gauges.MOST):
        assert support.read(connection, "backlog", most=most).one().asleep == 5_000_000


def test_what_was_cancelled_before_its_reminder_hides_no_case_and_nothing_that_came_back(engine: Engine) -> None:
    over = {"inactive": True, "finished_at": now(), "scheduled_for": now() - HOUR}
    stuck = a_snooze(engine, message_id="<case@x>", outcome="retired", **over)
    back = a_snooze(engine, message_id="<back@x>", outcome="sent", **over)
    for message_id in ("<case@x>", "<back@x>"):
        a_snooze(engine, message_id=message_id, outcome="cancelled", remind_at=now() + HOUR, **over)
    with engine.connect() as connection:
        assert [row.id for row in snoozes.stuck(connection, user_email=ANN)] == [stuck]
        assert [row.id for row in snoozes.came_back(connection, user_email=ANN, since=now() - A_DAY)] == [back]
    for message_id in ("<case@x>", "<back@x>"):
        a_snooze(engine, message_id=message_id, remind_at=now() + HOUR)
    with engine.connect() as connection:
        assert snoozes.stuck(connection, user_email=ANN) == []
        assert snoozes.came_back(connection, user_email=ANN, since=now() - A_DAY) == []
