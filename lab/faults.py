"""The faults behind the page's buttons: each with one sentence about what happens next, and the guard that catches it.

A fault that hits a worker also hits one of the naive loop's, so that both queues have the same faults.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random

from sqlalchemy.exc import SQLAlchemyError

from lab import queue_rows as lab_rows
from lab.instance import THINKS_SECONDS, Lab
from lab.orders import POISON
from lab.slots import Slot

SLOW_SECONDS, SLOW_FOR, CUT_FOR, LOCKED_FOR = 3.0, 10.0, 8.0, 6.0
DROPS = 3
MAX_WORKERS = 6
REFUSED = "person-1@lab.example"
QUICK_SECONDS = 0.0
CLOCKS_OFF_BY = "+1h"

_random = Random()  # noqa: S311 - which worker is hit, guards nothing

# Returns one sentence about what it did.
Act = Callable[[Lab, Slot | None], str]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A button. `next` says what happens then, `guard` what catches it; `file` and `test` are where to find the
    guard."""

    name: str
    group: str
    label: str
    next: str
    guard: str
    file: str
    test: str
    act: Act


def busiest(lab: Lab, kind: str = "snoozer") -> Slot | None:
    """A running worker, preferably one with claims."""
    running = [slot for slot in lab.of_kind(kind) if slot.view.state == "running"]
    if kind == "snoozer" and running:
        claims: dict[str, int] = {}
        # While the database is away, choose any worker.
        with suppress(SQLAlchemyError), lab.engine.connect() as connection:
            claims = {row.id: row.claims for row in lab_rows.list_workers(connection)}
        held = {slot: sum(count for id, count in claims.items() if f"-{slot.view.pid}-" in id) for slot in running}
        most = max(held.values())
        running = [slot for slot in running if held[slot] == most]
    return _random.choice(running) if running else None


@cache
def clock_library() -> str | None:
    """The path of libfaketime, which sets the wall clock of one process; None if it is not installed."""
    places = (place for top in ("*", ".") for place in Path("/usr/lib").glob(f"{top}/faketime/libfaketimeMT.so.1"))
    return next(map(str, places), None)


def _on_both(lab: Lab, slot: Slot | None, act: Callable[[Slot], object]) -> Slot | None:
    """Hit this worker, or the busiest and one of the naive loop's. Returns Snoozer's worker, None if none runs."""
    if slot is not None:
        act(slot)
        return slot
    ours, theirs = busiest(lab), busiest(lab, "naive")
    for each in (ours, theirs):
        if each is not None:
            act(each)
    return ours


def _add(count: int, lab: Lab, slot: Slot | None) -> str:
    if count >= 10_000:
        lab.order_mail_server(takes=QUICK_SECONDS)
    lab.add(count)
    many = f"{count:,} messages are" if count > 1 else "One message is"
    return f"{many} snoozed, and due within seconds."


def _start(lab: Lab, slot: Slot | None) -> str:
    stopped = [one for one in lab.of_kind("snoozer") if one.view.state in ("stopped", "ended")]
    if not stopped and len(lab.of_kind("snoozer")) >= MAX_WORKERS:
        return f"There are {MAX_WORKERS} workers already; more would only crowd this machine."
    one = stopped[0] if stopped else lab.add_worker()
    one.start()
    return f"{one.name} starts."


def _kill(lab: Lab, slot: Slot | None) -> str:
    hit = _on_both(lab, slot, Slot.kill)
    return f"{hit.name} was killed." if hit else "No worker runs now."


def _freeze(lab: Lab, slot: Slot | None) -> str:
    hit = _on_both(lab, slot, Slot.freeze)
    return f"{hit.name} stands still, with all that it holds." if hit else "No worker runs now."


def _thaw(lab: Lab, slot: Slot | None) -> str:
    frozen = [slot] if slot is not None else [one for one in lab.slots if one.view.state == "frozen"]
    for one in frozen:
        one.thaw()
    return f"{', '.join(one.name for one in frozen)} goes on." if frozen else "No worker is frozen."


def _die_at(step: str, words: str, lab: Lab, slot: Slot | None) -> str:
    hit = _on_both(lab, slot, lambda one: one.die_at(step))
    return f"{hit.name} will die {words} of its next mail." if hit else "No worker runs now."


def _stop_mail_server(lab: Lab, slot: Slot | None) -> str:
    lab.kill_mail_server()
    return "The mail server is gone; connections are refused."


def _start_mail_server(lab: Lab, slot: Slot | None) -> str:
    lab.start_mail_server()
    return "The mail server listens."


def _slow(lab: Lab, slot: Slot | None) -> str:
    lab.order_mail_server(takes=SLOW_SECONDS)
    lab.after(SLOW_FOR, partial(lab.order_mail_server, takes=THINKS_SECONDS))
    return f"The mail server takes {SLOW_SECONDS:g} seconds for each mail, for {SLOW_FOR:g} seconds."


def _drop(lab: Lab, slot: Slot | None) -> str:
    lab.order_mail_server(drop_next=DROPS)
    return f"The mail server will keep the next {DROPS} mails and hang up without a reply."


def _refuse(lab: Lab, slot: Slot | None) -> str:
    lab.order_mail_server(refuse=None if lab.refused else REFUSED)
    return "One recipient is refused for good." if lab.refused else "Every recipient is accepted again."


def _restart_database(lab: Lab, slot: Slot | None) -> str:
    lab.in_background(lab.crash_database)
    return "PostgreSQL is ended as by a power cut, and starts again."


def _lock(lab: Lab, slot: Slot | None) -> str:
    def hold() -> None:
        with lab.engine.begin() as connection:
            if lab_rows.lock_row(connection) is not None:
                lab.stopping.wait(LOCKED_FOR)

    lab.in_background(hold)
    return f"Another session holds the first live row for {LOCKED_FOR:g} seconds."


def _cut(lab: Lab, slot: Slot | None) -> str:
    lab.cut_network(True)
    lab.after(CUT_FOR, partial(lab.cut_network, False))
    return f"No worker reaches the database or the mail server for {CUT_FOR:g} seconds."


def _poison(lab: Lab, slot: Slot | None) -> str:
    lab.add(12, soon=2.0, spread=0.5)
    lab.add(1, word=POISON, soon=2.2)
    return "A message that kills each worker that sends it is due, with twelve others."


def _skew(lab: Lab, slot: Slot | None) -> str:
    library = clock_library()
    if library is None:
        return "libfaketime is not installed here (Debian: apt install faketime)."
    clock = {"LD_PRELOAD": library, "FAKETIME": CLOCKS_OFF_BY, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    hit = _on_both(lab, slot, lambda one: one.set_clock({} if one.view.clock else clock))
    return f"{hit.name} starts again, with its clock changed." if hit else "No worker runs now."


def _heal(lab: Lab, slot: Slot | None) -> str:
    lab.heal()
    return "Everything runs as at the beginning."


FAULTS = (
    Fault(
        name="add-1",
        group="Messages",
        label="Add 1",
        next="It sleeps, becomes due, is claimed and sent, and is back in the inbox.",
        guard="A row is committed before anything says “snoozed”.",
        file="snoozer/db/sql/queue/enqueue_many.sql",
        test="tests/db/test_queue.py",
        act=partial(_add, 1),
    ),
    Fault(
        name="add-100",
        group="Messages",
        label="Add 100",
        next="They become due within a few seconds, and all workers share them.",
        guard="A claim takes rows that no other worker has locked.",
        file="snoozer/db/sql/queue/claim.sql",
        test="tests/db/test_claiming.py",
        act=partial(_add, 100),
    ),
    Fault(
        name="add-10000",
        group="Messages",
        label="Add 10,000",
        next="They become due within ten seconds; the mail server then answers at once, and they drain as fast as this "
        "machine can.",
        guard="Each person gets a fair share of every batch.",
        file="snoozer/delivery/claiming.py",
        test="tests/db/test_scheduling.py",
        act=partial(_add, 10_000),
    ),
    Fault(
        name="poison",
        group="Messages",
        label="A poison row",
        next="It kills a worker, then another; the twelve beside it are sent all the same, and after five workers "
        "it is a case for people.",
        guard="A row that lost two workers is delivered alone.",
        file="snoozer/db/sql/queue/peek.sql",
        test="tests/process/test_poison_rows.py",
        act=_poison,
    ),
    Fault(
        name="start",
        group="Workers",
        label="Start a worker",
        next="It registers, and takes over its share of people from the others.",
        guard="Shares are an order of preference and never a lock.",
        file="snoozer/delivery/bucket_assignment.py",
        test="tests/unit/test_bucket_assignment.py",
        act=_start,
    ),
    Fault(
        name="kill",
        group="Workers",
        label="kill -9 a worker",
        next="What it held stays claimed until its heartbeat is missed for three seconds; then others send it.",
        guard="A claim is a lease, and the clock recovers it.",
        file="snoozer/db/sql/queue/recover.sql",
        test="tests/process/test_worker_dies.py",
        act=_kill,
    ),
    Fault(
        name="freeze",
        group="Workers",
        label="Freeze a worker",
        next="It is declared dead after three seconds, and others send what it held.",
        guard="It authorises no dot once its own heartbeat is too old.",
        file="snoozer/delivery/heartbeat.py",
        test="tests/db/test_heartbeat.py",
        act=_freeze,
    ),
    Fault(
        name="thaw",
        group="Workers",
        label="Thaw it",
        next="It goes on where it was, finds that its claims are others' by now, changes nothing, and ends.",
        guard="Each claim has a token, and a stale one matches no row.",
        file="snoozer/db/sql/queue/finalize.sql",
        test="tests/db/test_queue_claims.py",
        act=_thaw,
    ),
    Fault(
        name="before-dot",
        group="Workers",
        label="Die before the dot",
        next="The mark is committed and no mail left; it counts as uncertain, waits two seconds, and is sent once.",
        guard="The mark is durable before the last line of the mail.",
        file="snoozer/db/sql/queue/ledger/authorise.sql",
        test="tests/process/test_worker_dies.py",
        act=partial(_die_at, "marked", "before the dot"),
    ),
    Fault(
        name="after-dot",
        group="Workers",
        label="Die after the dot",
        next="The mail server has it and the reply is lost with the worker: a second copy leaves, with the same id "
        "and the same bytes, and the ledger says so.",
        guard="The one window that SMTP leaves open is marked.",
        file="snoozer/db/sql/queue/ledger/mark_uncertain.sql",
        test="tests/process/test_worker_dies.py",
        act=partial(_die_at, "replied", "after the dot"),
    ),
    Fault(
        name="clock",
        group="Workers",
        label="Skew a worker's clock",
        next="A worker starts again with a clock that is an hour ahead, and nothing is early; once more sets it right.",
        guard="Only the database's clock decides what is due.",
        file="snoozer/db/sql/queue/claim.sql",
        test="tests/chaos/storm/test_wall_clocks.py",
        act=_skew,
    ),
    Fault(
        name="stop-mail",
        group="Mail server",
        label="Stop it",
        next="After three refused connections no worker tries any longer; no message spends an attempt.",
        guard="One breaker in the database, shared by all workers.",
        file="snoozer/db/sql/queue/breaker.sql",
        test="tests/process/test_mail_outage.py",
        act=_stop_mail_server,
    ),
    Fault(
        name="start-mail",
        group="Mail server",
        label="Start it",
        next="Within two seconds one worker sends one probe; it is accepted, and everything that waited goes out.",
        guard="One probe at a time closes the breaker.",
        file="snoozer/db/sql/queue/breaker/permit.sql",
        test="tests/db/test_breaker.py",
        act=_start_mail_server,
    ),
    Fault(
        name="slow",
        group="Mail server",
        label="Make it slow",
        next="Mails wait three seconds for their reply, and their leases are extended meanwhile.",
        guard="A slow reply takes no turn from others.",
        file="snoozer/delivery/pipeline.py",
        test="tests/process/test_a_slow_recipient.py",
        act=_slow,
    ),
    Fault(
        name="drop",
        group="Mail server",
        label="Drop the line after the dot",
        next="Three mails are accepted without a reply: each is uncertain, and is sent once more with the same bytes.",
        guard="It is known on which side of the dot a session failed.",
        file="snoozer/mail/smtp/session.py",
        test="tests/process/test_lost_replies.py",
        act=_drop,
    ),
    Fault(
        name="refuse",
        group="Mail server",
        label="Refuse one recipient",
        next="That person's reminders become cases at once, the message is back in the inbox all the same, and others "
        "notice nothing; press again to accept.",
        guard="A refusal counts for its row alone.",
        file="snoozer/mail/smtp/errors.py",
        test="tests/mail/test_refusals.py",
        act=_refuse,
    ),
    Fault(
        name="restart-postgres",
        group="Database and network",
        label="Crash Postgres",
        next="Workers lose their connections; what the mail server replied is kept in a file until it can be recorded.",
        guard="A reply is a fact, and is written down until it is.",
        file="snoozer/queue/fact_journal.py",
        test="tests/db/test_journal.py",
        act=_restart_database,
    ),
    Fault(
        name="lock",
        group="Database and network",
        label="Lock a row",
        next="That message waits for the lock to end; no other does.",
        guard="Claims and marks leave locked rows out.",
        file="snoozer/db/sql/queue/ledger/authorise.sql",
        test="tests/db/test_locked_rows.py",
        act=_lock,
    ),
    Fault(
        name="cut",
        group="Database and network",
        label="Cut the workers' network",
        next="No worker can renew its lease, so none authorises a dot; they are declared dead, and start anew.",
        guard="Without a fresh heartbeat a worker assumes the worst.",
        file="snoozer/delivery/heartbeat.py",
        test="tests/process/test_a_hanging_database.py",
        act=_cut,
    ),
    Fault(
        name="heal",
        group="Database and network",
        label="Put everything right",
        next="The mail server runs at its usual pace, the network is whole, and every worker runs with a right clock.",
        guard="Nothing has to be repaired by hand.",
        file="docs/guarantees.md",
        test="tests/chaos/storm/test_storm.py",
        act=_heal,
    ),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
GROUPS = tuple(dict.fromkeys(fault.group for fault in FAULTS))
