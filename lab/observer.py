"""The data that the page shows, read from the tables, the mail server's file and the processes, some times a second."""

import threading
import time
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError

from lab import naive
from lab import queue_rows as lab_rows
from lab.instance import Lab, News
from lab.judge import Verdict
from lab.queue_rows import BreakerState, PlacedRow, WorkerRow
from lab.slots import SlotView
from lab.tour import Tour, TourView
from snoozer.db.engine import limit_transaction

STAGES = (
    ("asleep", "Asleep"),
    ("due", "Due"),
    ("claimed", "Claimed"),
    ("dot", "Before the dot"),
    ("sent", "Sent"),
    ("back", "Back in the inbox"),
)
SHOWN_ROWS = 5
SHOWN_NEWS = 5
LOOK_SECONDS, IDLE_SECONDS = 0.3, 1.0
QUERY_SECONDS = 5.0
# If a look takes long, look less often, so that looking uses at most a tenth of a core.
LOOK_SHARE = 10


@dataclass(frozen=True, kw_only=True)
class WorkerView:
    """A worker's process, and its row in the registry."""

    slot: SlotView
    row: WorkerRow | None

    @property
    def lease_percent(self) -> int:
        """How much of its lease is left, of six seconds."""
        left = self.row.lease_left if self.row else None
        return 0 if left is None else round(100 * min(1.0, max(0.0, left / 6)))


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One look. `database_is_up` is False if the database did not answer: the rows are from the look before."""

    number: int = 0
    database_is_up: bool = True
    rows: dict[str, list[PlacedRow]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    workers: list[WorkerView] = field(default_factory=list)
    naive_workers: list[SlotView] = field(default_factory=list)
    naive_states: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    breaker: BreakerState | None = None
    ours: Verdict = field(default_factory=Verdict)
    naive: Verdict = field(default_factory=Verdict)
    mail_server_is_up: bool = True
    thinks: float = 0.0
    refused: bool = False
    is_cut: bool = False
    news: list[News] = field(default_factory=list)
    tour: TourView = field(default_factory=TourView)


class Observer:
    """Looks in a thread, and keeps the last look for every page that is open."""

    def __init__(self, lab: Lab, tour: Tour) -> None:
        self._lab, self._tour = lab, tour
        self._changed = threading.Condition()
        self._snapshot = Snapshot()
        self._stopping = threading.Event()
        self._watched_until = 0.0
        self._thread = threading.Thread(target=self._run, name="observer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def after(self, number: int, *, seconds: float) -> Snapshot:
        """The first look after this number, or the latest after `seconds`."""
        self._watched_until = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._snapshot.number > number or self._stopping.is_set(), timeout=seconds)
            return self._snapshot

    def look(self) -> Snapshot:
        """Look now."""
        known = self._snapshot
        try:
            with self._lab.engine.connect() as opened:
                # Read all data as of one moment.
                connection = opened.execution_options(isolation_level="REPEATABLE READ")
                limit_transaction(connection, seconds=QUERY_SECONDS)
                found = lab_rows.list_rows(connection, most=SHOWN_ROWS)
                registry = lab_rows.list_workers(connection)
                breaker = lab_rows.read_breaker(connection)
                states = naive.count_states(connection)
                ours, theirs = self._lab.judge.count(connection)
        except SQLAlchemyError:
            return self._assembled(known, is_up=False)
        rows: dict[str, list[PlacedRow]] = {}
        for row in found:
            rows.setdefault(row.stage, []).append(row)
        counts = {stage: placed[0].in_stage for stage, placed in rows.items()}
        workers = [
            WorkerView(slot=slot.view, row=_row_of(slot.view, registry)) for slot in self._lab.of_kind("snoozer")
        ]
        seen = Snapshot(
            rows=rows,
            counts=counts,
            workers=workers,
            names={each.row.id: each.slot.name for each in workers if each.row is not None},
            naive_states=states,
            breaker=breaker,
            ours=ours,
            naive=theirs,
        )
        return self._assembled(seen, is_up=True)

    def _assembled(self, seen: Snapshot, *, is_up: bool) -> Snapshot:
        lab = self._lab
        workers = seen.workers
        if not is_up:
            by_name = {view.slot.name: view.row for view in seen.workers}
            slots = [slot.view for slot in lab.of_kind("snoozer")]
            workers = [WorkerView(slot=slot, row=by_name.get(slot.name)) for slot in slots]
        return Snapshot(
            number=self._snapshot.number + 1,
            database_is_up=is_up,
            rows=seen.rows,
            counts=seen.counts,
            workers=workers,
            naive_workers=[slot.view for slot in lab.of_kind("naive")],
            names=seen.names,
            naive_states=seen.naive_states,
            breaker=seen.breaker,
            ours=seen.ours,
            naive=seen.naive,
            mail_server_is_up=lab.mail_server_is_up,
            thinks=lab.thinks,
            refused=lab.refused,
            is_cut=lab.is_cut,
            news=list(lab.news)[-SHOWN_NEWS:][::-1],
            tour=self._tour.view,
        )

    def _run(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            snapshot = self.look()
            with self._changed:
                self._snapshot = snapshot
                self._changed.notify_all()
            took = time.monotonic() - began
            usual = LOOK_SECONDS if began < self._watched_until else IDLE_SECONDS
            self._stopping.wait(max(usual, took * LOOK_SHARE / 2))


def _row_of(slot: SlotView, registry: list[WorkerRow]) -> WorkerRow | None:
    """The registry names a worker by its host, its process and its own number."""
    if slot.pid is None:
        return None
    return next((row for row in registry if f"-{slot.pid}-" in row.id), None)
