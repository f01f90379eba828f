"""The judge itself is on trial: each crime is planted once, and must be found."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.storm import history
from tests.chaos.storm.evidence import Asked, Entry, Evidence, Held, Killed, Mail
from tests.chaos.storm.judge import judge

ANN = "ann@snoozer.example"


def asked(name: str, *, acknowledged: bool = True) -> Asked:
    return Asked(user_email=ANN, message_id=f"<{name}>", acknowledged=acknowledged)


def mail(name: str, *, sha256: str = "aa", message_id: str | None = None) -> Mail:
    return Mail(at=1.0, rcpt=ANN, in_reply_to=f"<{name}>", message_id=message_id or f"<reminder-{name}>", sha256=sha256)


def entry(name: str, *events: str, state: str = "sent", outcome: str | None = "sent", sha256: str = "aa") -> Entry:
    return Entry(
        user_email=ANN,
        message_id=f"<{name}>",
        outcome=outcome,
        state=state,
        reminder_message_id=f"<reminder-{name}>",
        bytes_sha256=sha256,
        events=events,
    )


def test_a_clean_run_is_clean() -> None:
    verdict = judge(
        Evidence(asked=[asked("a"), asked("b")], mails=[mail("a"), mail("b")], entries=[entry("a"), entry("b")])
    )
    assert verdict.keeps_the_promise
    assert (verdict.attempted, verdict.acked, verdict.delivered) == (2, 2, 2)
    assert (verdict.lost, verdict.duplicated, verdict.unexpected, verdict.uncertain) == (0, 0, 0, 0)


def test_a_planted_loss_is_found() -> None:
    verdict = judge(Evidence(asked=[asked("a"), asked("b")], mails=[mail("a")], entries=[entry("a")]))
    assert (verdict.lost, verdict.named["lost"]) == (1, ["<b>"])
    assert not verdict.keeps_the_promise


def test_a_loss_that_the_ledger_calls_sent_is_found() -> None:
    verdict = judge(Evidence(asked=[asked("a")], entries=[entry("a")]))
    assert (verdict.lost, verdict.forged) == (1, 1)


def test_a_row_that_is_still_waiting_at_the_end_is_lost() -> None:
    verdict = judge(Evidence(asked=[asked("a")], entries=[entry("a", state="reserved", outcome=None)]))
    assert (verdict.lost, verdict.cases) == (1, 0)


def test_a_case_that_people_see_is_no_loss_and_is_counted() -> None:
    verdict = judge(Evidence(asked=[asked("a")], entries=[entry("a", state="failed", outcome="retired")]))
    assert (verdict.lost, verdict.cases) == (0, 1)


def test_a_snooze_that_was_never_acknowledged_may_arrive_or_not() -> None:
    both = [asked("a", acknowledged=False), asked("b", acknowledged=False)]
    verdict = judge(Evidence(asked=both, mails=[mail("a")], entries=[entry("a")]))
    assert verdict.keeps_the_promise
    assert (verdict.acked, verdict.recovered, verdict.lost) == (0, 1, 0)


def test_a_planted_unmarked_duplicate_is_found() -> None:
    verdict = judge(Evidence(asked=[asked("a")], mails=[mail("a"), mail("a")], entries=[entry("a", "failed")]))
    assert (verdict.duplicated, verdict.unmarked) == (1, 1)
    assert not verdict.keeps_the_promise


def test_a_marked_duplicate_keeps_the_promise() -> None:
    verdict = judge(Evidence(asked=[asked("a")], mails=[mail("a")] * 2, entries=[entry("a", "uncertain", "resent")]))
    assert (verdict.duplicated, verdict.copies, verdict.unmarked, verdict.uncertain) == (1, 1, 0, 1)
    assert verdict.keeps_the_promise


def test_one_uncertain_does_not_excuse_two_copies() -> None:
    verdict = judge(Evidence(asked=[asked("a")], mails=[mail("a")] * 3, entries=[entry("a", "uncertain")]))
    assert (verdict.copies, verdict.unmarked) == (2, 1)


@pytest.mark.parametrize("other", [mail("a", sha256="ab"), mail("a", message_id="<another>")])
def test_a_copy_that_differs_in_a_byte_or_an_id_is_found_although_it_was_marked(other: Mail) -> None:
    verdict = judge(Evidence(asked=[asked("a")], mails=[mail("a"), other], entries=[entry("a", "uncertain")]))
    assert (verdict.differing, verdict.unmarked) == (1, 1)
    assert not verdict.keeps_the_promise


def test_equal_copies_that_are_not_the_ledgers_bytes_are_unmarked() -> None:
    verdict = judge(Evidence(asked=[asked("a")], mails=[mail("a")] * 2, entries=[entry("a", "uncertain", sha256="zz")]))
    assert verdict.unmarked == 1


@pytest.mark.parametrize(
    "stranger",
    [
        mail("never-asked"),
        replace(mail("a"), rcpt="eve@snoozer.example"),
        replace(mail("a"), in_reply_to=None),
    ],
)
def test_an_unexpected_mail_is_found(stranger: Mail) -> None:
    verdict = judge(Evidence(asked=[asked("a")], mails=[mail("a"), stranger], entries=[entry("a")]))
    assert verdict.unexpected == 1
    assert not verdict.keeps_the_promise


def test_recovery_is_measured_from_the_death_to_the_next_holder() -> None:
    claims = [
        Held(snooze_id=1, worker="host-7-ab", at=10.0),
        Held(snooze_id=1, worker=None, at=12.5),
        Held(snooze_id=1, worker="host-8-cd", at=13.0),
        Held(snooze_id=2, worker="host-7-ab", at=9.0),
        Held(snooze_id=2, worker=None, at=9.5),
    ]
    recovery = judge(Evidence(claims=claims, killed=[Killed(pid=7, at=11.0)])).recovery
    assert recovery.claims == 1, "the claim that was settled before the death was not lost"
    assert recovery.freed == {"p50": 1.5, "p99": 1.5, "max": 1.5}
    assert recovery.reclaimed == {"p50": 2.0, "p99": 2.0, "max": 2.0}


def test_half_a_line_is_no_fact(tmp_path: Path) -> None:
    path = tmp_path / "accepted.jsonl"
    path.write_text('{"at": 1}\n{"at": 2')
    assert history.read(path) == [{"at": 1}]
