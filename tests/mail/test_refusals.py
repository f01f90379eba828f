"""A server that refuses everybody is distinguished from recipients that are refused one by one."""

from snoozer.mail.smtp.errors import Rejected
from snoozer.mail.smtp.server_limits import (
    ADDRESS_REFUSALS,
    REFUSED_RECIPIENTS,
    TOLERANT_SECONDS,
    Refusals,
    ServerLimits,
)
from snoozer.mail.smtp.transport import Reply


def refused(limits: ServerLimits, number: int, *, reply: str = "554 5.7.1 denied") -> Rejected:
    """The server refuses the message of this recipient."""
    error = Rejected("rcpt", Reply(int(reply[:3]), (reply[4:],)))
    limits.record_rejection(error, recipient=f"p{number}@snoozer.example")
    return error


def count(refusals: Refusals, how_many: int, *, now: float = 0.0, is_about_address: bool = False) -> list[bool]:
    return [
        refusals.add(f"p{number}@{now}.example", is_about_address=is_about_address, now=now)
        for number in range(how_many)
    ]


def test_after_some_recipients_in_a_row_the_server_is_at_fault() -> None:
    limits = ServerLimits(threshold=5)
    errors = [refused(limits, number) for number in range(REFUSED_RECIPIENTS + 2)]
    assert [error.is_server_wide for error in errors] == [False] * (REFUSED_RECIPIENTS - 1) + [True] * 3
    assert [error.permanent for error in errors] == [not error.is_server_wide for error in errors]
    assert limits.is_open
    report = limits.take_report()
    assert (report.failures, report.refuses_everybody) == (7, True)
    assert "it refuses everybody: rcpt: 554 5.7.1 denied" in report.reason


def test_one_recipient_never_opens_the_circuit() -> None:
    limits = ServerLimits(threshold=5)
    assert not any(refused(limits, 1).is_server_wide for _ in range(100))
    assert (limits.is_open, limits.take_report().failures) == (False, 0)


def test_a_success_in_between_ends_the_row_of_refusals() -> None:
    limits = ServerLimits(threshold=5)
    for _ in range(10):
        assert not any(refused(limits, number).is_server_wide for number in range(REFUSED_RECIPIENTS - 1))
        limits.record_success()


def test_temporary_refusals_do_not_count() -> None:
    limits = ServerLimits(threshold=5)
    assert not any(refused(limits, number, reply="450 4.2.0 greylisted").is_server_wide for number in range(100))


def test_replies_that_blame_the_address_weigh_less() -> None:
    enough = REFUSED_RECIPIENTS * ADDRESS_REFUSALS
    limits = ServerLimits(threshold=5)
    errors = [refused(limits, number, reply="550 5.1.1 unknown user") for number in range(enough)]
    assert [error.is_server_wide for error in errors] == [False] * (enough - 1) + [True]


def test_while_the_server_refuses_everybody_no_recipient_of_a_probe_is_at_fault() -> None:
    """Another process may have found it out."""
    limits = ServerLimits(threshold=5)
    limits.reset(max_failures=1, refuses_everybody=True)
    assert not refused(limits, 1, reply="450 4.2.0 greylisted").is_server_wide
    assert limits.take_report().succeeded is False
    assert refused(limits, 2).is_server_wide
    assert limits.is_open
    limits.reset(max_failures=1, refuses_everybody=True)
    limits.record_success()
    assert not refused(limits, 3).is_server_wide


def test_after_a_false_alarm_more_refusals_are_tolerated_for_an_hour() -> None:
    refusals = Refusals()
    assert count(refusals, 5, now=0.0) == [False] * 4 + [True]
    refusals.clear(now=0.0)
    assert count(refusals, 10, now=1.0) == [False] * 9 + [True]
    refusals.clear(now=1.0)
    for _ in range(10):
        count(refusals, 100, now=2.0)
        refusals.clear(now=2.0)
    assert count(refusals, 40, now=3.0) == [False] * 39 + [True]
    refusals.clear(now=3.0)
    assert count(refusals, 5, now=4.0 + TOLERANT_SECONDS) == [False] * 4 + [True]
