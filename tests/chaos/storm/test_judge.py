"""The judge itself is on trial: each crime is planted once, and must be found."""

import zlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.chaos.storm import history, promises, testimony
from tests.chaos.storm.evidence import Entry, Evidence, Held, Killed, Mail, Outage
from tests.chaos.storm.judge import judge
from tests.chaos.storm.testimony import Notice, Reign, Sent, reigns_of
from tests.chaos.storm.timing import Bounds
from tests.chaos.storm.wishes import GRACE, Answer, Asked, Wish

ANN = "ann@snoozer.example"
DUE = 10.0


def wish(number: int, due: float | None, *, at: float, answer: Answer | None = "done") -> Wish:
    return Wish(number=number, due=due, asked_at=at, answered_at=None if answer is None else at, answer=answer)


def asked(name: str, *more: Wish, acknowledged: bool = True, key: str | None = None, due: float = DUE) -> Asked:
    first = wish(0, due, at=1.0, answer="done" if acknowledged else None)
    return Asked(user_email=ANN, message_id=f"<{name}>", wishes=(first, *more), key=key)


def mail(
    name: str,
    *,
    at: float = 11.0,
    wish: int | None = None,
    sha256: str = "aa",
    message_id: str | None = None,
    date: float | None = None,
) -> Mail:
    return Mail(
        at=at,
        read_at=at,
        rcpt=ANN,
        in_reply_to=f"<{name}>",
        message_id=message_id or f"<reminder-{name}>",
        sha256=sha256,
        wish=wish,
        date=date,
    )


def entry(name: str, *events: str, state: str = "sent", outcome: str | None = "sent", sha256: str = "aa") -> Entry:
    return Entry(
        user_email=ANN,
        message_id=f"<{name}>",
        snooze_id=id_of(name),
        outcome=outcome,
        state=state,
        reminder_message_id=f"<reminder-{name}>",
        bytes_sha256=sha256,
        events=events,
    )


def id_of(name: str) -> int:
    return zlib.crc32(name.encode())


def held(name: str, *, at: float, promised: float = DUE, worker: str | None = "host-7-ab") -> Held:
    return Held(snooze_id=id_of(name), worker=worker, at=at, promised=promised)


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
    verdict = judge(Evidence(asked=[asked("a")], entries=[entry("a", state="failed", outcome=None)]))
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


def test_other_bytes_are_no_crime_where_an_operator_sent_an_edited_note_and_nowhere_else() -> None:
    edited = asked("a", wish(1, DUE, at=12.0))
    copies = [mail("a", wish=0), mail("a", at=15.0, wish=1, sha256="bb")]
    by_operator = entry("a", "uncertain", "retired", "reactivated", sha256="bb")
    assert judge(Evidence(asked=[edited], mails=copies, entries=[by_operator])).keeps_the_promise
    by_itself = replace(by_operator, events=("uncertain", "resent"))
    assert judge(Evidence(asked=[edited], mails=copies, entries=[by_itself])).differing == 1
    same_note = [copies[0], replace(copies[1], wish=0)]
    assert judge(Evidence(asked=[edited], mails=same_note, entries=[by_operator])).differing == 1
    late = replace(by_operator, late_by=timedelta(minutes=6))
    assert judge(Evidence(asked=[edited], mails=same_note, entries=[late])).keeps_the_promise
    late_by_itself = replace(by_itself, late_by=timedelta(minutes=6))
    assert judge(Evidence(asked=[edited], mails=same_note, entries=[late_by_itself])).differing == 1


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


CANCELLED_EARLY, CANCELLED_LATE = wish(1, None, at=5.0), wish(1, None, at=12.0)
CANCELLED_AT_ONCE = wish(1, None, at=DUE)
MOVED = wish(1, 20.0, at=5.0)
ANOTHER_NOTE = wish(1, DUE, at=5.0)


@pytest.mark.parametrize(
    ("wishes", "arrived", "kind"),
    [
        ([], [mail("a", at=9.9)], "early"),
        ([], [mail("a", date=DUE - 5)], "misdated"),
        ([CANCELLED_EARLY], [mail("a")], "withdrawn"),
        ([CANCELLED_AT_ONCE], [mail("a", at=DUE + GRACE + 1)], "withdrawn"),
        ([MOVED], [mail("a"), mail("a", at=21.0, wish=1, message_id="<b>")], "withdrawn"),
        ([MOVED], [mail("a", at=19.0, wish=1)], "early"),
        ([MOVED], [mail("a", at=21.0, wish=1, date=DUE)], "misdated"),
        ([ANOTHER_NOTE], [mail("a"), mail("a", wish=1)], "stale"),
        ([wish(1, None, at=DUE - 0.2)], [mail("a")], "withdrawn"),
        ([wish(1, DUE, at=DUE - 0.2)], [mail("a")], "stale"),
        ([wish(1, 20.0, at=15.0, answer="over")], [mail("a"), mail("a", at=21.0, wish=1)], "stale"),
    ],
)
def test_a_mail_that_was_not_wished_at_that_time_is_found(wishes: list[Wish], arrived: list[Mail], kind: str) -> None:
    verdict = judge(Evidence(asked=[asked("a", *wishes)], mails=arrived))
    assert (verdict.wrong, verdict.named[kind]) == (1, ["<a>"])
    assert not verdict.keeps_the_promise


@pytest.mark.parametrize(
    ("wishes", "arrived"),
    [
        ([CANCELLED_EARLY], []),
        ([CANCELLED_AT_ONCE], []),
        ([CANCELLED_AT_ONCE], [mail("a")]),
        ([wish(1, None, at=12.0, answer="over")], [mail("a")]),
        ([wish(1, None, at=5.0, answer=None)], []),
        ([wish(1, None, at=5.0, answer=None)], [mail("a")]),
        ([MOVED], [mail("a", at=21.0, wish=1, date=20.0)]),
        ([wish(1, 20.0, at=DUE)], [mail("a"), mail("a", at=21.0, wish=1, message_id="<b>")]),
        ([wish(1, 20.0, at=5.0, answer=None)], [mail("a")]),
        ([wish(1, 20.0, at=5.0, answer=None)], [mail("a", at=21.0, wish=1)]),
        ([wish(1, 20.0, at=15.0, answer="anew")], [mail("a"), mail("a", at=21.0, wish=1, message_id="<b>")]),
        ([ANOTHER_NOTE], [mail("a", wish=1)]),
        ([wish(1, DUE, at=DUE)], [mail("a")]),
        # Its dot may have been authorised by then.
        ([wish(1, None, at=DUE - 0.1)], [mail("a")]),
        ([wish(1, DUE, at=DUE - 0.1)], [mail("a")]),
    ],
)
def test_what_was_wished_and_what_may_happen_around_that_moment_is_no_crime(
    wishes: list[Wish], arrived: list[Mail]
) -> None:
    verdict = judge(Evidence(asked=[asked("a", *wishes)], mails=arrived))
    assert verdict.keeps_the_promise, verdict


@pytest.mark.parametrize(
    ("wishes", "arrived"),
    [
        ([wish(1, None, at=12.0, answer="over")], []),
        ([MOVED], []),
        ([wish(1, 20.0, at=5.0, answer=None)], []),
        ([wish(1, 20.0, at=5.0, answer="over")], []),
        ([wish(1, 20.0, at=15.0, answer="anew")], [mail("a", at=21.0, wish=1)]),
        ([wish(1, 20.0, at=15.0, answer="anew")], [mail("a")]),
        ([CANCELLED_EARLY, wish(2, 30.0, at=6.0, answer="anew")], []),
    ],
)
def test_a_loss_after_a_change_of_mind_is_found(wishes: list[Wish], arrived: list[Mail]) -> None:
    assert judge(Evidence(asked=[asked("a", *wishes)], mails=arrived)).lost == 1


def test_a_claim_after_the_answer_to_a_cancellation_is_found_although_no_mail_came() -> None:
    cancelled = Evidence(asked=[asked("a", CANCELLED_LATE)], entries=[entry("a", state="failed")])
    assert judge(replace(cancelled, claims=[held("a", at=11.9)])).wrong == 0
    assert judge(replace(cancelled, claims=[held("a", at=12.1)])).named["claimed_after_withdrawal"] == ["<a>"]


def test_a_claim_belongs_to_the_nearest_promise() -> None:
    moved = Evidence(asked=[asked("a", wish(1, 10.0004, at=5.0))], entries=[entry("a", state="failed")])
    assert judge(replace(moved, claims=[held("a", at=10.1, promised=10.0004)])).wrong == 0
    assert judge(replace(moved, claims=[held("a", at=10.1, promised=10.0)])).wrong == 1


def test_the_copies_of_another_promise_are_not_excused_by_one_uncertain() -> None:
    again = wish(1, 20.0, at=15.0, answer="anew")
    later = replace(entry("a", "uncertain"), reminder_message_id="<b>")
    copies = [mail("a")] * 2 + [mail("a", at=21.0, wish=1, message_id="<b>")] * 2
    verdict = judge(Evidence(asked=[asked("a", again)], mails=copies, entries=[entry("a", "uncertain"), later]))
    assert (verdict.duplicated, verdict.unmarked) == (2, 1)


def test_rows_of_one_key_out_of_their_order_are_found() -> None:
    rows = [asked("a", key="k"), asked("b", key="k", due=DUE + 0.5), asked("c", due=1.0)]
    evidence = Evidence(
        asked=rows,
        mails=[mail("a"), mail("b"), mail("c")],
        entries=[entry("a"), entry("b"), entry("c")],
        claims=[held("a", at=10.6), held("b", at=10.7), held("c", at=9.0)],
    )
    assert judge(evidence).wrong == 0
    overtaken = replace(evidence, claims=[held("a", at=10.8), held("b", at=10.7)])
    assert judge(overtaken).named["disordered"] == ["<b>"]
    committed_late = replace(rows[0], wishes=(wish(0, DUE, at=10.6),))
    assert judge(replace(overtaken, asked=[committed_late, *rows[1:]])).wrong == 0


def test_two_of_one_key_at_the_mail_server_at_once_are_found() -> None:
    rows = [asked("a", key="k"), asked("b", key="k")]
    apart = [mail("a", at=11.0), replace(mail("b", at=11.5), read_at=11.1)]
    assert judge(Evidence(asked=rows, mails=apart)).wrong == 0
    at_once = [replace(mail("a", at=11.0), read_at=10.8), replace(mail("b", at=11.5), read_at=10.9)]
    assert judge(Evidence(asked=rows, mails=at_once)).named["overlapping"] == ["<b>"]
    without_a_key = replace(rows[1], wishes=(*rows[1].wishes, wish(1, DUE, at=1.0, answer="anew")))
    assert "overlapping" not in judge(Evidence(asked=[rows[0], without_a_key], mails=at_once)).named


def test_silence_counts_while_something_is_due_and_both_servers_are_up() -> None:
    rows = [asked("a"), asked("b", due=20.0), asked("c", due=50.0, acknowledged=False)]
    mails = [mail("a", at=13.0), mail("b", at=28.0), mail("c", at=90.0)]
    evidence = Evidence(asked=rows, mails=mails)
    assert judge(evidence).silence == 8.0
    assert judge(replace(evidence, outages=[Outage(since=21.0, until=26.0)])).silence == 3.0
    assert judge(replace(evidence, mails=[*mails, mail("x", at=24.5)])).silence == 4.5
    cancelled = [asked("a", wish(1, None, at=99.0))]
    assert judge(Evidence(asked=cancelled)).silence == 89.0


def test_bounds_that_were_not_kept_are_named() -> None:
    bounds = Bounds(silence=5.0, kill_to_mail=(5.0, 30.0, 60.0))
    fine = {"p50": 5.0, "p99": 30.0, "max": 60.0}
    assert bounds.exceeded(silence=5.0, kill_to_mail=fine) == []
    assert bounds.exceeded(silence=0.0, kill_to_mail={}) == []
    found = bounds.exceeded(silence=5.1, kill_to_mail=fine | {"max": 61.0})
    assert found == ["silence: 5.1 s", "kill to mail, max: 61.0 s"]


def test_a_killed_workers_reminder_is_measured_to_its_mail_and_no_other() -> None:
    claims = [held("a", at=10.5), held("a", at=12.0, worker=None), held("a", at=13.0, worker="host-8-cd")]
    evidence = Evidence(
        asked=[asked("a")],
        entries=[entry("a")],
        claims=claims,
        killed=[Killed(pid=7, at=11.0)],
        mails=[mail("a", at=14.0)],
    )
    assert judge(evidence).recovery.mailed == {"p50": 3.0, "p99": 3.0, "max": 3.0}
    before = replace(evidence, mails=[mail("a", at=10.9), mail("a", at=14.0)])
    assert judge(before).recovery.mailed == {}, "it had arrived before, so what followed was a copy"
    case = replace(evidence, entries=[entry("a", "retired")])
    assert judge(case).recovery.mailed == {}, "it waited for people"


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


@pytest.mark.parametrize(("undone", "note"), [(False, 2), (True, 2), (True, 1)])
def test_a_mail_of_a_promise_that_holds_again_is_no_copy_of_the_former_one(undone: bool, note: int) -> None:
    def reign(begin: float, promise: float, note: int, who: str = "snoozer-web") -> Reign:
        return Reign(
            snooze_id=1,
            message_id="<a>",
            begin=begin,
            promise=promise,
            is_live=True,
            outcome=None,
            note=f"stormwish{note}",
            was_held=False,
            who=who,
            transaction=str(begin),
        )

    def act(number: int, name: str, at: float) -> Notice:
        return Notice(
            number=number,
            door="page",
            act=name,
            message_id="<a>",
            due=DUE,
            sent_at=at - 0.1,
            answered_at=at + 0.1,
            done=True,
            may_arrive=False,
        )

    changes = [reign(1.0, DUE, 1), reign(2.0, 2.0, 1), *([reign(3.0, DUE, note)] if undone else [])]
    left = Sent(snooze_id=1, promise=DUE, reminder_message_id="<r>", state="sending", dot_at=DUE, at=DUE)
    verdict = promises.judge(
        testimony.Testimony(
            notices=[act(1, "snooze", 1.0), act(3, "wake", 2.0), *([act(4, "undo", 3.0)] if undone else [])],
            mails=[mail("a", at=DUE + 1, message_id="<r>", wish=note)],
            reigns=reigns_of(changes),
            sends=[left],
            now=2.5,
        )
    )
    assert verdict.faults["silent"] == (0 if undone else 1)
