"""Which cases fail alike, which a filter means, and pages of them that hold still while cases come and go."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db.queries import Cursor, cases, error_groups
from snoozer.db.queries.case_filter import CLASSES, Filter, InvalidFilter
from snoozer.delivery.chores import chores
from tests.db.archived import RETENTION
from tests.db.reading import reading
from tests.factories import ANN, HOUR, a_snooze, now

BOB = "bob@other.example"


def a_case(engine: Engine, **columns: object) -> int:
    retired = {"inactive": True, "outcome": "retired", "finished_at": now() - HOUR, "attempts": 5}
    return a_snooze(engine, **{"last_error": "rcpt: 550 5.1.1 User unknown", **retired, **columns})


def fingerprint(engine: Engine, error: str | None) -> str:
    with engine.connect() as connection:
        found: str = connection.execute(text("SELECT snooze_error_fingerprint(:e)"), {"e": error}).scalar_one()
    return found


def ids(engine: Engine, filter: Filter) -> set[int]:
    """What a page, a count and an act on all of them take for such cases, which must be the same."""
    with engine.connect() as connection:
        shown = {row.id for row in cases.page(connection, filter).rows}
        assert shown == set(cases.longest_waiting(connection, filter, until=now(), limit=1000))
        assert len(shown) == cases.count(connection, filter, until=now())
    return shown


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rcpt: 550 5.1.1 <a@x.example>: unknown", "rcpt: 550 5.1.1 <bob.b@y.example>: unknown"),
        ("rcpt: 550 5.1.1 …@… unknown", "rcpt: 550 5.1.1 ann@x.example unknown"),
        ("rcpt: 451 4.7.1 Greylisted, try again in 299 s", "rcpt: 451 4.7.1 Greylisted, try again in 1 s"),
        ("dot: 554 5.7.1 rejected, id 4C12345F0A", "dot: 554 5.7.1 rejected, id 9ZZ1"),
        ("rcpt: 550 blocked [192.0.2.1]", "rcpt: 550 blocked [2001:db8::1]"),
        ("", None),
        ("dot: 554 " + "word " * 200 + "end", "dot: 554 " + "word " * 200 + "another end"),
    ],
)
def test_what_differs_in_a_person_or_a_number_only_is_one_failure(
    engine: Engine, one: str | None, other: str | None
) -> None:
    assert fingerprint(engine, one) == fingerprint(engine, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rcpt: 550 5.1.1 no", "rcpt: 550 5.2.1 no"),
        ("rcpt: 550 5.1.1 no", "rcpt: 450 4.1.1 no"),
        ("rcpt: 550 no", "rcpt: 551 no"),
        ("rcpt: 550 no", "dot: 550 no"),
        ("rcpt: 550 no", "rcpt: 550 never"),
        ("The worker that held it was lost", "Its attempts were spent"),
    ],
)
def test_what_differs_in_its_words_or_its_codes_is_another_failure(engine: Engine, one: str, other: str) -> None:
    assert fingerprint(engine, one) != fingerprint(engine, other)


@pytest.mark.parametrize(
    ("error", "its_class"),
    [
        ("rcpt: 550 5.1.1 User unknown", "5xx"),
        ("550 5.1.1 User unknown", "5xx"),
        ("the mail server greeted us with 421 4.7.0 too many", "4xx"),
        ("It may have been sent: no answer came after the end of the message: 550", "uncertain"),
        ("The worker that held it was lost", "lost"),
        ("The delivery broke down (KeyError)", "lost"),
        ("no reply within 450 s", "other"),
        ("its address is ann@550.example", "other"),
        ("the mail server refused the login with 5355", "other"),
        (None, "other"),
    ],
)
def test_a_fingerprint_begins_with_the_class_of_its_error(engine: Engine, error: str | None, its_class: str) -> None:
    assert fingerprint(engine, error)[0] == CLASSES[its_class]
    one = a_case(engine, last_error=error)
    for name in CLASSES:
        assert ids(engine, Filter(error_class=name)) == ({one} if name == its_class else set())


def test_a_fingerprint_of_hostile_text_is_made_quickly_and_holds_no_address(engine: Engine) -> None:
    """A row whose error has none could not be retired, since the index holds it."""
    errors = [
        "a" * 10_000,
        "1" * 10_000,
        "@" * 10_000,
        "4 " * 5_000,
        ": " * 5_000,
        "\u202e550 <x@y>",
        "\\m(.*)\\M [[:<:]]",
    ]
    for error in [*errors, "é" * 10_000, "ann@private.example" * 500, "x@" + "é@" * 300]:
        assert len(fingerprint(engine, error)) == 32
        a_case(engine, last_error=error)
    with engine.connect() as connection:
        texts = [group.text for group in error_groups.groups(connection, Filter())]
    assert not [found for found in texts if "private" in found or "@" in found]


def test_the_function_means_the_same_whatever_a_session_sets(engine: Engine) -> None:
    """It stands in an index: maintenance runs it with an empty search_path."""
    error = "rcpt: 550 5.1.1 <a@x.example>: unknown"
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL search_path = pg_catalog, pg_temp"))
        connection.execute(text("SET LOCAL standard_conforming_strings = off"))
        found = connection.execute(text("SELECT public.snooze_error_fingerprint(:e)"), {"e": error}).scalar_one()
        connection.execute(text("REINDEX INDEX public.ix_email_snoozes_case_errors"))
    assert found == fingerprint(engine, error)


def test_each_field_of_a_filter_leaves_out_what_it_says(engine: Engine) -> None:
    one = a_case(engine, message_id="<same@mail.example>")
    two = a_case(engine, user_email=BOB, message_id="<same@mail.example>", finished_at=now() - 3 * HOUR)
    three = a_case(engine, user_email=BOB, last_error="rcpt: 451 4.7.1 later")
    a_snooze(engine)
    a_case(engine, outcome="cancelled")
    assert ids(engine, Filter()) == {one, two, three}
    assert ids(engine, Filter(reason=fingerprint(engine, "rcpt: 550 5.1.1 User unknown"))) == {one, two}
    assert ids(engine, Filter(error_class="4xx")) == {three}
    assert ids(engine, Filter(domain="other.example")) == {two, three}
    assert ids(engine, Filter(person=two)) == {two, three}
    assert ids(engine, Filter(message=one)) == {one, two}
    assert ids(engine, Filter(message=three)) == {three}
    assert ids(engine, Filter(since=2 * HOUR)) == {one, three}
    assert ids(engine, Filter(until=now() - 2 * HOUR)) == {two}
    assert ids(engine, Filter(person=two, since=2 * HOUR, error_class="5xx")) == set()
    assert ids(engine, Filter(person=10_000)) == ids(engine, Filter(message=10_000)) == set()
    assert ids(engine, Filter(since=2 * HOUR).fixed(now() + HOUR)) == set()


def test_a_person_is_known_by_a_snooze_that_was_archived(engine: Engine) -> None:
    one, old = a_case(engine), a_snooze(engine, inactive=True, outcome="sent", finished_at=now() - 90 * 24 * HOUR)
    a_case(engine, user_email=BOB)
    assert chores.archive(engine, config=RETENTION) == 1
    assert ids(engine, Filter(person=old)) == {one}


def test_a_filter_survives_its_address(engine: Engine) -> None:
    instant = datetime(2026, 3, 5, 8, 30, 1, 5, tzinfo=UTC)
    whole = Filter(
        reason="5" * 32,
        error_class="5xx",
        domain="x.example",
        person=7,
        message=8,
        since=timedelta(hours=36),
        until=instant,
    )
    assert Filter.from_args(whole.as_args()) == whole
    assert list(whole.as_args()) == ["reason", "domain", "person", "message", "since", "until", "class"]
    assert Filter.from_args({"since": "2026-03-05T09:30:00+01:00"}).as_args() == {"since": "2026-03-05T08:30:00Z"}
    assert Filter.from_args({"since": "48h", "before": "x"}).as_args() == {"since": "2d"}
    assert not Filter.from_args({"reason": "", "domain": "  "})
    assert Filter.from_args({"domain": "@X.Example."}).domain == "x.example"


@pytest.mark.parametrize(
    "given",
    [
        {"reason": "5" * 31},
        {"reason": "5" * 31 + "G"},
        {"class": "6xx"},
        {"domain": "ann@x.example"},
        {"domain": "x y"},
        {"domain": "x\x00y"},
        {"domain": "x" * 254},
        {"person": "0"},
        {"person": "ann@snoozer.example"},
        {"person": str(2**63)},
        {"person": "٣"},
        {"message": "-1"},
        {"since": "yesterday"},
        {"since": "2026-03-05T08:30"},
        {"since": "0001-01-01T00:00+14:00"},
        {"until": "9999-12-31T23:59-14:00"},
        {"until": "99999d"},
        {"until": "1w"},
    ],
)
def test_a_field_that_means_nothing_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidFilter):
        Filter.from_args(given)


def test_a_group_says_how_many_whom_since_when_and_shows_samples(engine: Engine) -> None:
    times = [now() - timedelta(minutes=minutes) for minutes in (10, 70, 75, 3 * 24 * 60)]
    made = [
        a_case(engine, user_email=email, finished_at=at) for email, at in zip([ANN, BOB, BOB, ANN], times, strict=True)
    ]
    a_case(engine, last_error="rcpt: 451 4.7.1 later")
    with engine.connect() as connection:
        [first, second] = error_groups.groups(connection, Filter())
        [alone] = error_groups.groups(connection, Filter(reason=first.fingerprint))
        [of_bob] = error_groups.groups(connection, Filter(person=made[1]))
        assert error_groups.groups(connection, Filter(domain="no.example")) == []
    assert (first.cases, first.people, first.first, first.last) == (4, 2, times[3], times[0])
    assert (first.hours[-2:], sum(first.hours), len(first.hours)) == ([2, 1], 3, 24)
    assert [sample.id for sample in first.samples] == made[:3]
    assert first.text == "rcpt: 550 5.1.1 User unknown"
    assert alone == first
    assert (of_bob.cases, of_bob.people, second.cases) == (2, 1, 1)


def test_the_groups_of_a_domain_that_nearly_all_have_read_each_case_a_few_times(engine: Engine) -> None:
    """By the index of domains each group read the cases of all, for longer than the page waits for it."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes"
                " (user_email, message_id, remind_at, inactive, outcome, finished_at, attempts, last_error)"
                " SELECT 'p' || n || '@own.example', '<' || n || '@x>', now(), TRUE, 'retired', now() - INTERVAL '1 h',"
                " 5, 'dot: 554 ' || repeat(chr(97 + n % 20), 5) FROM generate_series(1, 2000) AS n"
            )
        )
        connection.execute(text("ANALYZE email_snoozes"))
    filter = Filter(domain="own.example")
    with engine.connect() as connection:
        assert [group.cases for group in error_groups.groups(connection, filter)] == [100] * 20
    assert reading(engine, lambda connection: error_groups.groups(connection, filter)).rows < 10_000


# What others do between two pages.
def _add(connection: Connection, rng: Random, number: int) -> None:
    connection.execute(
        text(
            "INSERT INTO email_snoozes"
            " (user_email, message_id, remind_at, inactive, outcome, finished_at, attempts, last_error)"
            " VALUES ('new@x.example', :m, now(), TRUE, 'retired', now() - :ago * INTERVAL '1 s', 5, '550 no')"
        ),
        {"m": f"<new-{number}@x>", "ago": rng.choice([0, 1, 5, rng.randint(0, 40)])},
    )


def _decide(connection: Connection, rng: Random, number: int) -> None:
    connection.execute(
        text(
            "UPDATE email_snoozes SET outcome = 'cancelled' WHERE id = ("
            " SELECT id FROM email_snoozes WHERE outcome = 'retired' ORDER BY md5(id::text || :n) LIMIT 1)"
        ),
        {"n": str(number * rng.randint(1, 99))},
    )


def _all_cases(connection: Connection) -> set[int]:
    return set(connection.execute(text("SELECT id FROM email_snoozes WHERE outcome = 'retired'")).scalars())


@pytest.mark.parametrize("direction", ["older", "newer"])
@pytest.mark.parametrize("seed", range(4))
def test_walking_all_pages_shows_no_case_twice_and_skips_none_that_stayed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, seed: int, direction: str
) -> None:
    rng = Random(seed)
    monkeypatch.setattr(cases, "PAGE_SIZE", rng.choice([1, 3, 7]))
    with engine.begin() as connection:
        for number in range(40):
            _add(connection, rng, -number - 1)
        before = _all_cases(connection)
        stayed = set(before)
        oldest = connection.execute(text("SELECT min(finished_at) FROM email_snoozes")).scalar_one()
    cursor = None if direction == "older" else Cursor(oldest, 0)
    step: dict[str, Callable[[cases.CasePage], Cursor | None]] = {
        "older": lambda page: page.older,
        "newer": lambda page: page.newer,
    }
    seen: list[int] = []
    for number in range(1, 500):
        with engine.begin() as connection:
            way = {"before": cursor} if direction == "older" else {"after": cursor}
            page = cases.page(connection, Filter(), **way)
            shown = [row.id for row in page.rows]
            assert shown == [row.id for row in sorted(page.rows, key=lambda row: (row.finished_at, row.id))][::-1]
            seen += shown
            cursor = step[direction](page)
            if cursor is None:
                break
            for again in range(rng.randint(0, 3)):
                rng.choice([_add, _decide])(connection, rng, number * 10 + again)
            stayed &= _all_cases(connection)
    assert cursor is None, "the walk ends"
    assert len(seen) == len(set(seen))
    assert stayed <= set(seen)
    assert stayed, "some stayed"
