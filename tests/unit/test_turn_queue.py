"""Which mailbox gets a thread: what is due first, and no host, account or crowd of sign-ins at the cost of others."""

from collections.abc import Iterator
from itertools import count
from typing import Any, NoReturn

from sqlalchemy import create_engine

from snoozer.db.mailbox_leases import OwnedMailbox
from snoozer.mailboxes.sync.host_limits import FIRST_SIGN_INS, MOST_SIGN_INS, QUICK_SECONDS, HostLimits
from snoozer.mailboxes.sync.mailbox_watch import MailboxWatch
from snoozer.mailboxes.sync.turn_queue import TurnQueue, Watched

_numbers = count(1)
ENGINE = create_engine("postgresql+psycopg://")


def not_called(*_: Any) -> NoReturn:
    raise AssertionError


def a_mailbox(*, host: str = "one.example", account_id: int | None = None, look_at: float = 0.0) -> Watched:
    number = next(_numbers)
    mailbox = OwnedMailbox(
        id=number,
        fence=1,
        host=host,
        port=993,
        security="tls",
        username=f"user{number}",
        login_method="password",
        secret=b"",
        state="active",
        address="ann@mail.example",
        user_email="ann@snoozer.example",
        account_id=account_id or number,
        is_closed=False,
    )
    return Watched(watch=MailboxWatch(ENGINE, mailbox, open=not_called, session=not_called, poll=60), look_at=look_at)


def planned(queue: TurnQueue, *mailboxes: Watched) -> Iterator[Watched]:
    for mailbox in mailboxes:
        queue.plan(mailbox, now=1.0)
    return queue.start(now=1.0)


def test_what_is_due_goes_before_what_is_looked_at() -> None:
    queue, looked_at, due = TurnQueue(threads=1), a_mailbox(look_at=0.1), a_mailbox(look_at=0.5)
    due.due_at = 0.5
    assert list(planned(queue, looked_at, due)) == [due]
    queue.finish(due, now=1.0)
    assert list(queue.start(now=1.0)) == [looked_at]


def test_what_becomes_due_while_it_waits_for_a_thread_goes_first() -> None:
    queue, first, second, third = TurnQueue(threads=1), a_mailbox(), a_mailbox(), a_mailbox()
    assert list(planned(queue, first, second, third)) == [first]
    third.due_at = 1.0
    queue.plan(third, now=1.0)
    queue.finish(first, now=1.0)
    assert list(queue.start(now=1.0)) == [third]


def test_one_host_leaves_sign_ins_and_threads_to_others() -> None:
    queue, crowd = TurnQueue(threads=100), [a_mailbox() for _ in range(1000)]
    other = a_mailbox(host="two.example", look_at=0.9)
    assert list(planned(queue, *crowd, other)) == [*crowd[:FIRST_SIGN_INS], other]
    queue.finish(crowd[0], now=1.0)
    assert list(queue.start(now=1.0)) == [crowd[FIRST_SIGN_INS]]


def test_one_person_has_two_turns_at_once_and_the_others_later() -> None:
    queue, own = TurnQueue(threads=100), [a_mailbox(host=f"{number}.example", account_id=7) for number in range(4)]
    assert list(planned(queue, *own)) == own[:2]
    assert not list(queue.start(now=1.0))
    queue.finish(own[0], now=1.0)
    assert list(queue.start(now=1.0)) == own[2:3]


def test_a_mailbox_that_is_another_process_s_now_gets_no_turn() -> None:
    queue, lost = TurnQueue(threads=1), a_mailbox()
    queue.plan(lost, now=1.0)
    lost.dropped = True
    assert not list(queue.start(now=1.0))


def test_a_mailbox_that_waits_longer_than_planned_is_not_forgotten() -> None:
    queue, mailbox = TurnQueue(threads=1), a_mailbox(look_at=2.0)
    queue.plan(mailbox, now=1.0)
    mailbox.look_at = 3.0
    assert not list(queue.start(now=2.5))
    assert queue.next_at == 3.0
    assert list(queue.start(now=3.0)) == [mailbox]


def test_sign_ins_at_a_host_grow_while_they_are_quick_and_halve_when_it_refuses() -> None:
    limits = HostLimits()
    for _ in range(200):
        limits.signed_in("one.example", seconds=QUICK_SECONDS)
    assert limits.sign_ins("one.example") == MOST_SIGN_INS
    for expected in (5, 2, 1, 1):
        limits.refused("one.example")
        assert limits.sign_ins("one.example") == expected
    limits.signed_in("one.example", seconds=2 * QUICK_SECONDS)
    assert limits.sign_ins("one.example") == 1
    assert limits.sign_ins("two.example") == FIRST_SIGN_INS
