"""The audit log: appended to only, each row chained to the one before, and a change by hand is found."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from snoozer.cli.audit import Check, check_newest
from snoozer.cli.database_findings import database_findings
from snoozer.db import audit
from snoozer.db.audit import Entry
from snoozer.db.queries import audit as queries
from snoozer.db.queries.audit import Filter
from snoozer.settings import Settings
from tests.factories import wait_until_a_session_waits


def an_act(connection: Connection, *entries: Entry, **values: Any) -> None:
    audit.append(connection, **{"actor": "operator:7", "act": "dismiss", "entries": entries or [Entry()]} | values)


def the_log(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM audit_log ORDER BY id")))


def by_hand(engine: Engine, statement: str) -> None:
    """As a superuser can: the triggers do not fire."""
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        connection.execute(text(statement))


def broken_at(engine: Engine) -> int | None:
    with engine.connect() as connection:
        return audit.check_links(connection, after_id=0).broken_at


def test_a_row_holds_the_hash_of_its_content_and_of_the_row_before(engine: Engine) -> None:
    with engine.begin() as connection:
        an_act(
            connection, Entry(snooze_id=3, before={"outcome": "retired"}, after={"n": 1}), reason="full", request_id="r"
        )
        an_act(connection, Entry(target="account:4"), actor="command", operation_id=9)
    previous = b""
    for row in the_log(engine):
        micros = int(row.at.timestamp()) * 1_000_000 + row.at.microsecond
        content = [row.id, micros, row.actor, row.act, row.reason, row.request_id, row.operation_id]
        content += [row.snooze_id, row.target, row.before, row.after]
        previous = hashlib.sha256(previous + json.dumps(content).encode()).digest()
        assert bytes(row.hash) == previous
    assert [row.id for row in the_log(engine)] == [1, 2]


def test_many_rows_of_one_act_are_one_chain_in_their_order(engine: Engine) -> None:
    with engine.begin() as connection:
        an_act(connection, *[Entry(snooze_id=number) for number in range(1, 1_202)])
    assert [(row.id, row.snooze_id) for row in the_log(engine)] == [(number, number) for number in range(1, 1_202)]
    assert broken_at(engine) is None


@pytest.mark.parametrize(
    "statement", ["UPDATE audit_log SET act = 'x'", "DELETE FROM audit_log WHERE FALSE", "TRUNCATE audit_log"]
)
def test_a_row_is_never_changed_or_deleted(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        an_act(connection)
    with pytest.raises(DBAPIError, match="only appended to"), engine.begin() as connection:
        connection.execute(text(statement))


def test_what_an_insert_says_of_its_place_time_and_hash_does_not_count(engine: Engine) -> None:
    with engine.begin() as connection:
        an_act(connection)
        forged = "INSERT INTO audit_log (id, at, actor, act, hash) VALUES (77, '2001-01-01', 'clock', 'x', '\\x00')"
        connection.execute(text(forged))
    first, second = the_log(engine)
    assert (second.id, second.at >= first.at) == (2, True)
    assert broken_at(engine) is None


@pytest.mark.parametrize(
    ("statement", "at"),
    [
        ("UPDATE audit_log SET reason = 'another' WHERE id = 2", 2),
        ("UPDATE audit_log SET at = at + INTERVAL '1 microsecond' WHERE id = 2", 2),
        ("UPDATE audit_log SET after = '{}' WHERE id = 1", 1),
        ("DELETE FROM audit_log WHERE id = 2", 3),
        ("DELETE FROM audit_log WHERE id = 1", 2),
        ("UPDATE audit_log SET act = 'x', hash = audit_log_hash(NULL, audit_log) WHERE id = 2", 2),
        ("UPDATE audit_log SET id = id + 1 WHERE id = 4", 5),
    ],
)
def test_what_was_changed_by_hand_is_found(engine: Engine, statement: str, at: int) -> None:
    with engine.begin() as connection:
        an_act(connection, *[Entry(snooze_id=number) for number in range(4)])
    assert broken_at(engine) is None
    by_hand(engine, statement)
    assert broken_at(engine) == at


def test_a_check_goes_on_from_where_the_last_one_ended(engine: Engine) -> None:
    with engine.begin() as connection:
        an_act(connection, *[Entry(snooze_id=number) for number in range(5)])
    by_hand(engine, "UPDATE audit_log SET act = 'x' WHERE id = 4")
    with engine.connect() as connection:
        first = audit.check_links(connection, after_id=0, batch_size=3)
        second = audit.check_links(connection, after_id=3, batch_size=3)
        last = audit.check_links(connection, after_id=5, batch_size=3)
    assert [(each.checked, each.last_id, each.broken_at) for each in (first, second, last)] == [
        *((3, 3, None), (2, 5, 4), (0, None, None))
    ]


def test_two_at_once_are_one_chain(engine: Engine) -> None:
    """The second one waits until the first one's transaction is over, and goes on from its row."""

    def another() -> None:
        with engine.begin() as connection:
            an_act(connection, actor="clock")

    with ThreadPoolExecutor(1) as pool:
        with engine.begin() as connection:
            an_act(connection)
            second = pool.submit(another)
            wait_until_a_session_waits(engine)
        second.result()
    assert [(row.id, row.actor) for row in the_log(engine)] == [(1, "operator:7"), (2, "clock")]
    assert broken_at(engine) is None


def test_an_act_that_is_rolled_back_leaves_no_row_and_no_gap(engine: Engine) -> None:
    with engine.connect() as connection:
        an_act(connection)
        connection.rollback()
    with engine.begin() as connection:
        an_act(connection)
    assert [row.id for row in the_log(engine)] == [1]


def test_no_address_gets_in(engine: Engine) -> None:
    with engine.begin() as connection:
        an_act(connection, reason="asked by ann@example.org, twice")
    assert the_log(engine)[0].reason == "asked by …@…, twice"
    for entry in (Entry(target="ann@example.org"), Entry(before={"of": "ann@example.org"}), Entry(after={"a@b": 1})):
        with pytest.raises(IntegrityError, match="without_addresses"), engine.begin() as connection:
            an_act(connection, entry)


@pytest.mark.parametrize("actor", ["ann@example.org", "operator:", "worker:1", ""])
def test_an_actor_is_an_account_by_its_id_the_command_or_the_clock(engine: Engine, actor: str) -> None:
    with pytest.raises(IntegrityError), engine.begin() as connection:
        an_act(connection, actor=actor)


def test_the_page_is_filtered_and_goes_on_where_it_ended(engine: Engine) -> None:
    with engine.begin() as connection:
        an_act(connection, *[Entry(snooze_id=number) for number in range(1, 121)])
        an_act(connection, Entry(target="account:4"), actor="command", act="change_role")
    rows = the_log(engine)
    with engine.connect() as connection:
        first = queries.page(connection, Filter())
        second = queries.page(connection, Filter(), before=first.before)
        third = queries.page(connection, Filter(), before=second.before)
        by_command = queries.page(connection, Filter(actor="command"))
        of_act = queries.page(connection, Filter(act="change_role"))
        of_snooze = queries.of_snooze(connection, snooze_id=7)
        middle = queries.page(connection, Filter(since=rows[9].at, until=rows[19].at))
        later = queries.page(connection, Filter(since=rows[-1].at + timedelta(seconds=1)))
    assert [row.id for page in (first, second, third) for row in page.rows] == list(range(121, 0, -1))
    assert third.before is None
    assert [row.target for row in by_command.rows] == [row.target for row in of_act.rows] == ["account:4"]
    assert [row.snooze_id for row in of_snooze] == [7]
    assert [row.id for row in middle.rows] == list(range(19, 9, -1))
    assert later.rows == []


def test_the_doctor_names_the_entry_at_which_the_log_was_changed(engine: Engine, settings: Settings) -> None:
    with engine.begin() as connection:
        an_act(connection, *[Entry(snooze_id=number) for number in range(3)])
        [found] = [each for each in database_findings(connection, settings) if each.check == "audit"]
    assert (found.verdict, found.says) == ("right", "3 entries fit, each the one before it.")
    by_hand(engine, "UPDATE audit_log SET actor = 'clock' WHERE id = 2")
    with engine.begin() as connection:
        [found] = [each for each in database_findings(connection, settings) if each.check == "audit"]
    assert (found.verdict, "Entry 2" in found.says) == ("wrong", True)


def test_a_part_of_the_log_is_checked_from_its_first_row_on(engine: Engine) -> None:
    with engine.begin() as connection:
        an_act(connection, *[Entry(snooze_id=number) for number in range(9)])
    by_hand(engine, "UPDATE audit_log SET actor = 'clock' WHERE id = 3")
    with engine.connect() as connection:
        assert check_newest(connection, newest=5) == Check(checked=5, first_id=5, broken_at=None)
        assert check_newest(connection, newest=None).broken_at == 3
