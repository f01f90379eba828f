"""The nine scenes of the tour: claim, lease, token, ledger, mark, dot, recovery, breaker, isolation.

A scene tells what it does, does it, and returns whether it ended as it should, by the mail server's file and the
tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lab import naive
from lab import queue_rows as lab_rows
from lab.faults import busiest
from lab.instance import Lab
from lab.orders import POISON
from lab.queue_rows import FoundRow
from lab.slots import Slot

# A loaded machine takes long; this timeout judges nothing.
LONG = 120.0
SLOW = 2.0
WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six")


class Ended(Exception):
    """The tour was ended."""


class Stage(Protocol):
    """Where a scene plays."""

    lab: Lab
    tell: Callable[[str], None]

    def until(self, come: Callable[[], bool], *, seconds: float) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class Scene:
    """`question` is what it answers, `guard` the mechanism that answers it; `file` and `test` are where to find
    that."""

    name: str
    title: str
    question: str
    guard: str
    file: str
    test: str
    play: Callable[[Stage], bool]


def _claim(stage: Stage) -> bool:
    lab, claimers = stage.lab, set[str]()
    stage.tell("Twelve messages are snoozed until the same second. Then three workers ask for work at once.")
    ids = lab.add(12, spread=0.0)

    def come() -> bool:
        with lab.engine.connect() as connection:
            claimers.update(row.claimed_by for row in lab_rows.list_rows(connection, most=50) if row.claimed_by)
        return _all_sent(lab, ids)

    whole = stage.until(come, seconds=LONG)
    copies = sum(lab.judge.mails_of(id) for id in ids)
    stage.tell(
        f"The mail server has {copies} mails for 12 promises. {len(claimers) or 'Several'} workers shared them, and "
        "none took a row that another one had: SKIP LOCKED steps over it."
    )
    return whole and copies == len(ids)


def _lease(stage: Stage) -> bool:
    lab = stage.lab
    hit, ids = _held_up(stage, 9)
    if hit is None:
        return False
    hit.kill()
    _naive(lab, Slot.kill)
    stage.tell(f"{hit.name} is killed while it holds rows. They are claimed still, by a worker that no longer lives.")
    stage.tell("Its heartbeat is missed for three seconds. Then the clock declares it dead and gives its rows back.")
    lab.order_mail_server(takes=0.25)
    whole = stage.until(lambda: _all_sent(lab, ids), seconds=LONG)
    stage.tell("Others sent what it held. A claim is a lease: it ends by itself." if whole else _late(lab, ids))
    return whole


def _token(stage: Stage) -> bool:
    lab = stage.lab
    hit, ids = _held_up(stage, 9)
    if hit is None:
        return False
    ends = hit.view.ends
    hit.freeze()
    _naive(lab, Slot.freeze)
    stage.tell(f"{hit.name} is frozen in the middle of its work. It does not know that time goes on.")
    lab.order_mail_server(takes=0.25)
    # If it had sent what it held, nothing else would keep it frozen until it is declared dead.
    given_up = stage.until(lambda: _is_declared_dead(lab, hit), seconds=LONG)
    whole = stage.until(lambda: _all_sent(lab, ids), seconds=LONG) and given_up
    stage.tell("It was declared dead, and others have sent its rows. Now it goes on as if nothing had happened.")
    hit.thaw()
    _naive_all(lab, Slot.thaw)
    ended = stage.until(lambda: hit.view.ends > ends, seconds=LONG)
    if ended:
        stage.tell("Its token matched no row any more: it changed nothing, found itself declared dead, and ended.")
    return whole and ended


def _ledger(stage: Stage) -> bool:
    lab = stage.lab
    stage.tell("The mail server will say “later” to the next mails. A retry moves the time of the next try.")
    lab.order_mail_server(fault=["rcpt", "451 4.3.0 Later", 6])
    ids = lab.add(3, spread=0.0)
    whole = stage.until(lambda: _all_sent(lab, ids), seconds=LONG)
    rows = [_row(lab, id) for id in ids]
    entries = sum(row.entries for row in rows if row)
    stage.tell(
        f"Three promises, {entries} entries in the ledger. Its key is the time that was promised, and no retry moves "
        "that: the same promise can never be entered twice."
    )
    stage.tell("The naive loop keys its ledger by the time that each retry moves, so that it protects nothing.")
    return whole and entries == len(ids)


def _mark(stage: Stage) -> bool:
    lab = stage.lab
    stage.tell("Each worker commits a mark before the last line of a mail. The next one dies right behind that mark.")
    [id] = _one_that_dies(stage, "marked")
    stage.tell("The mark is there and no mail left. That looks like a send, so it is uncertain, and held.")
    whole = stage.until(lambda: _all_sent(lab, [id]), seconds=LONG)
    row, copies = _row(lab, id), lab.judge.mails_of(id)
    stage.tell(f"After the hold it was sent: {copies} mail, and {row.uncertain if row else 0} uncertain in the ledger.")
    return whole and copies == 1


def _dot(stage: Stage) -> bool:
    lab = stage.lab
    stage.tell("The next worker dies after the dot: the mail server has the mail, and its reply reaches no table.")
    [id] = _one_that_dies(stage, "replied", with_naive=True)
    stage.tell("This is the one window that SMTP leaves open. The mark says that a copy may be out there.")
    twice = stage.until(lambda: lab.judge.mails_of(id) > 1, seconds=LONG)
    theirs = stage.until(lambda: lab.judge.naive_mails_of(id) > 1, seconds=30)
    with lab.engine.connect() as connection:
        ours, _ = lab.judge.count(connection)
    stage.tell("A second copy left, with the same id and the same bytes, and the ledger had recorded that it may.")
    if theirs:
        stage.tell("The naive loop sent a second mail as well. It has another id, and nothing recorded it.")
    return twice and ours.unmarked == 0


def _recovery(stage: Stage) -> bool:
    lab = stage.lab
    stage.tell("Thirty messages are on their way when PostgreSQL ends, as by a power cut.")
    ids = lab.add(30, spread=2.0)
    stage.until(lambda: sum(lab.judge.mails_of(id) > 0 for id in ids) >= 8, seconds=LONG)
    lab.crash_database()
    stage.tell("It is back, and everything that was confirmed is in it. Leases count from the time of its start.")
    stage.tell("What the mail server replied meanwhile was kept in a file, and is recorded now.")
    whole = stage.until(lambda: _all_sent(lab, ids), seconds=LONG)
    stage.tell("All thirty arrived." if whole else _late(lab, ids))
    return whole


def _breaker(stage: Stage) -> bool:
    lab = stage.lab
    stage.tell("The mail server is gone, and twenty messages become due.")
    lab.kill_mail_server()
    ids = lab.add(20, spread=0.5)

    def is_open() -> bool:
        with lab.engine.connect() as connection:
            breaker = lab_rows.read_breaker(connection)
        return breaker is not None and breaker.state != "closed"

    opened = stage.until(is_open, seconds=LONG)
    stage.tell("After three refused connections the breaker is open, for all workers. They wait, and nothing is spent.")

    def gave_up() -> bool:
        with lab.engine.connect() as connection:
            return naive.count_states(connection).get("dead", 0) > 0

    lost = stage.until(gave_up, seconds=40)
    if lost:
        stage.tell("Meanwhile the naive loop has spent its five attempts. Those messages will never come.")
    lab.start_mail_server()
    stage.tell("The mail server listens again. One worker sends one probe, and then everything goes out.")
    whole = stage.until(lambda: _all_sent(lab, ids), seconds=LONG)
    spent = sum(row.attempts for id in ids if (row := _row(lab, id)))
    stage.tell(f"All twenty arrived, with {spent} attempts spent." if whole else _late(lab, ids))
    return opened and whole and spent == 0


def _isolation(stage: Stage) -> bool:
    lab = stage.lab
    stage.tell("One message kills each worker that sends it. Twelve others are due with it.")
    ids = lab.add(12, soon=2.0, spread=0.5)
    [poison] = lab.add(1, word=POISON, soon=2.2)
    whole = stage.until(lambda: _all_sent(lab, ids), seconds=LONG)
    stage.tell("The twelve arrived. A row that lost two workers is delivered alone, so that it takes no other with it.")
    retired = stage.until(lambda: (row := _row(lab, poison)) is not None and row.outcome == "retired", seconds=LONG)
    lost = row.crash_count if (row := _row(lab, poison)) else 0
    stage.tell(
        f"{WORDS[min(lost, 6)]} workers were lost to it. Now it is a case: nothing tries it again until a person "
        "decides."
    )
    return whole and retired


def _held_up(stage: Stage, count: int) -> tuple[Slot | None, list[str]]:
    """Messages that the mail server takes its time for, and a worker that holds some of them."""
    lab = stage.lab
    lab.order_mail_server(takes=SLOW)
    stage.tell(f"{count} messages become due, and the mail server takes {SLOW:g} seconds for each.")
    ids = lab.add(count, spread=0.0)

    def is_held() -> bool:
        with lab.engine.connect() as connection:
            return any(row.claims for row in lab_rows.list_workers(connection))

    held = stage.until(is_held, seconds=LONG)
    return busiest(lab) if held else None, ids


def _one_that_dies(stage: Stage, step: str, *, with_naive: bool = False) -> Sequence[str]:
    """A message whose first worker dies at this step, and no other."""
    lab = stage.lab
    ours, theirs = lab.of_kind("snoozer"), lab.of_kind("naive") if with_naive else []
    before = {slot.name: slot.view.ends for slot in (*ours, *theirs)}
    for slot in (*ours, *theirs):
        slot.die_at(step)
    ids = lab.add(1)
    for slots in (ours, theirs):
        if slots:
            stage.until(lambda all=slots: any(one.view.ends > before[one.name] for one in all), seconds=LONG)  # type: ignore[misc]
            for slot in slots:
                slot.die_at(None)
    return ids


def _all_sent(lab: Lab, ids: Sequence[str]) -> bool:
    return all(lab.judge.mails_of(id) > 0 for id in ids)


def _is_declared_dead(lab: Lab, slot: Slot) -> bool:
    with lab.engine.connect() as connection:
        known = lab_rows.list_workers(connection)
    return any(row.state == "dead" for row in known if f"-{slot.view.pid}-" in row.id)


def _late(lab: Lab, ids: Sequence[str]) -> str:
    missing = sum(lab.judge.mails_of(id) == 0 for id in ids)
    return f"{missing} of {len(ids)} are late. This machine is slow now, or something is wrong: play it again."


def _row(lab: Lab, message_id: str) -> FoundRow | None:
    with lab.engine.connect() as connection:
        return lab_rows.find_row(connection, message_id=message_id)


def _naive(lab: Lab, act: Callable[[Slot], object]) -> None:
    if (slot := busiest(lab, "naive")) is not None:
        act(slot)


def _naive_all(lab: Lab, act: Callable[[Slot], object]) -> None:
    for slot in lab.of_kind("naive"):
        act(slot)


SCENES = (
    Scene(
        name="claim",
        title="Claim",
        question="How do several workers share one table?",
        guard="FOR NO KEY UPDATE SKIP LOCKED",
        file="snoozer/db/sql/queue/claim.sql",
        test="tests/db/test_claiming.py",
        play=_claim,
    ),
    Scene(
        name="lease",
        title="Lease",
        question="What becomes of the rows of a worker that is killed?",
        guard="The heartbeat, the lease, and the clock",
        file="snoozer/db/sql/queue/recover.sql",
        test="tests/process/test_worker_dies.py",
        play=_lease,
    ),
    Scene(
        name="token",
        title="Token",
        question="What if a worker that was given up wakes up again?",
        guard="The claim token in each decision",
        file="snoozer/db/sql/queue/finalize.sql",
        test="tests/db/test_queue_claims.py",
        play=_token,
    ),
    Scene(
        name="ledger",
        title="Ledger",
        question="Why is a retry no second reminder?",
        guard="UNIQUE (user_email, message_id, scheduled_for, channel)",
        file="snoozer/db/sql/queue/ledger/authorise.sql",
        test="tests/db/test_ledger.py",
        play=_ledger,
    ),
    Scene(
        name="mark",
        title="Mark",
        question="What if a worker dies just before the mail leaves?",
        guard="The mark, committed before the dot",
        file="snoozer/db/sql/queue/ledger/authorise.sql",
        test="tests/process/test_worker_dies.py",
        play=_mark,
    ),
    Scene(
        name="dot",
        title="Dot",
        question="And if it dies just after?",
        guard="Uncertain, on record, and the same bytes again",
        file="snoozer/db/sql/queue/ledger/mark_uncertain.sql",
        test="tests/process/test_worker_dies.py",
        play=_dot,
    ),
    Scene(
        name="recovery",
        title="Recovery",
        question="What if the database itself crashes?",
        guard="Commits that wait for the disk, facts that wait for the database",
        file="snoozer/queue/fact_journal.py",
        test="tests/db/test_journal.py",
        play=_recovery,
    ),
    Scene(
        name="breaker",
        title="Breaker",
        question="What if no mail can be sent for a while?",
        guard="One breaker for all workers, and a probe",
        file="snoozer/db/sql/queue/breaker/permit.sql",
        test="tests/process/test_mail_outage.py",
        play=_breaker,
    ),
    Scene(
        name="isolation",
        title="Isolation",
        question="What if one message kills each worker that sends it?",
        guard="A row that lost workers is delivered alone, and ends as a case",
        file="snoozer/db/sql/queue/peek.sql",
        test="tests/process/test_poison_rows.py",
        play=_isolation,
    ),
)
