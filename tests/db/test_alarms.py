"""Operators hear of a trouble on the services that they chose: once when it begins, and once when it has ended."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from snoozer.cli.alarms import CONFIRM_AFTER, EVERY, AlarmWatch
from snoozer.db import push
from snoozer.notify.send_loop import drain
from tests.db.days import resting
from tests.db.pushes import comes_back, sooner, the_sender
from tests.factories import Person
from tests.push_service import ledger
from tests.services import Server, add, ntfy

AWAY = "Workers: No worker is running."
BEGINS, ENDS = "Snoozer needs an operator", "All is well again"


@pytest.fixture
def ntfy_server() -> Iterator[Server]:
    with ntfy() as server:
        yield server


def a_service(engine: Engine, owner: Person, server: Server, *, topic: str = "alarms", role: str = "operator") -> int:
    id = add(engine, owner.id, "ntfy", url=f"{server.url}/{topic}", token="")
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET role = :role WHERE id = :id"), {"role": role, "id": owner.id})
        assert push.set_alarms(connection, id=id, account_id=owner.id, tells_alarms=True)
    return id


def watch(engine: Engine, wrong: list[str]) -> AlarmWatch:
    return AlarmWatch(engine=engine, look=lambda: wrong[0], send=lambda: drain(the_sender(engine)))


def titles(server: Server) -> list[tuple[str, str]]:
    return [(one["title"], one["message"]) for one in server.taken]


def test_each_is_sent_once_by_two_clocks(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    a_service(engine, ann, ntfy_server)
    wrong = [""]
    clocks = [watch(engine, wrong), watch(engine, wrong)]

    def turns(count: int) -> None:
        for _ in range(count):
            for clock in clocks:
                clock.turn()
                sooner(engine)

    turns(3)
    assert ntfy_server.asked == []
    wrong[0] = AWAY
    turns(4)
    assert titles(ntfy_server) == [(BEGINS, AWAY)]
    wrong[0] = "Mail server: It is away."
    turns(3)
    assert len(ntfy_server.taken) == 1, "the alarm goes on"
    wrong[0] = ""
    turns(4)
    assert titles(ntfy_server) == [(BEGINS, AWAY), (ENDS, AWAY)]
    assert ntfy_server.taken[0]["click"] == "https://snoozer.example/admin"
    wrong[0] = AWAY
    turns(2)
    assert [title for title, _ in titles(ntfy_server)] == [BEGINS, ENDS, BEGINS]
    assert [row.state for row in ledger(engine)] == ["sent"] * 3


def test_a_trouble_of_a_moment_is_no_alarm(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    a_service(engine, ann, ntfy_server)
    wrong = [AWAY]
    clock = watch(engine, wrong)
    assert clock.turn() == CONFIRM_AFTER
    wrong[0] = ""
    assert [clock.turn(), clock.turn()] == [CONFIRM_AFTER, EVERY]
    assert ntfy_server.asked == []


def test_quiet_hours_and_pauses_do_not_hold_it(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    a_service(engine, ann, ntfy_server)
    resting(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO pauses (kind, reason, actor) VALUES ('all', 'x', 'command')"))
        assert push.begin_alarm(connection, sentence=AWAY)
    drain(the_sender(engine))
    assert titles(ntfy_server) == [(BEGINS, AWAY)]


@pytest.mark.parametrize("role", ["user", "gone"])
def test_no_one_else_hears_of_it(engine: Engine, ann: Person, ntfy_server: Server, role: str) -> None:
    a_service(engine, ann, ntfy_server, role="admin" if role == "gone" else role)
    with engine.begin() as connection:
        if role == "gone":
            connection.execute(text("UPDATE accounts SET disabled_at = now()"))
        assert push.begin_alarm(connection, sentence=AWAY)
    drain(the_sender(engine))
    assert (ntfy_server.asked, ledger(engine)) == ([], [])


def test_a_role_of_the_organisation_counts_for_a_day(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    a_service(engine, ann, ntfy_server, role="user")
    for days, sent in ((2, 0), (0, 1)):
        with engine.begin() as connection:
            since = "UPDATE accounts SET group_role = 'operator', group_role_at = now() - :days * INTERVAL '1 day'"
            connection.execute(text(since), {"days": days})
            assert push.begin_alarm(connection, sentence=AWAY)
        drain(the_sender(engine))
        assert len(ntfy_server.taken) == sent
        with engine.begin() as connection:
            assert push.end_alarm(connection)


def test_a_service_without_the_choice_hears_of_messages_only(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    chosen = a_service(engine, ann, ntfy_server)
    with engine.begin() as connection:
        assert push.set_alarms(connection, id=chosen, account_id=ann.id, tells_alarms=False)
        assert not push.set_alarms(connection, id=chosen, account_id=ann.id + 1, tells_alarms=True)
        assert push.begin_alarm(connection, sentence=AWAY)
    comes_back(engine)
    drain(the_sender(engine))
    assert [title for title, _ in titles(ntfy_server)] == ["A message is back"]


def test_a_test_and_an_alarm_do_not_wait_for_each_other(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    id = a_service(engine, ann, ntfy_server)
    with engine.begin() as connection:
        assert push.begin_alarm(connection, sentence=AWAY)
        assert push.enter_test(connection, id=id, account_id=ann.id)
        assert push.end_alarm(connection)
    drain(the_sender(engine))
    assert len(ntfy_server.taken) == 3
