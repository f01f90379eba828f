"""The shadow of another scheduler: it reads the same jobs, records when a worker would claim each of them, sends
nothing, and compares these times with the old scheduler's own log of sends."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from threading import Event

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import cutover
from snoozer.db.cutover import Compared, ForeignSend
from snoozer.db.errors import error_text
from snoozer.db.statements import database_time
from snoozer.operators.cutover.jobs import JobReader, JobRefused, read_job_id, read_time
from snoozer.operators.cutover.record import Record, Source, SourceError

log = logging.getLogger(__name__)

BATCH_SIZE = 500
# Rows that a worker claims at once.
CLAIM_SIZE = 50
MAX_SLEEP = 1.0
# Allowed difference between clocks: a job that vanishes this shortly before its time was sent, not cancelled.
CLOCK_MARGIN = timedelta(seconds=5)


@dataclass
class Shadow:
    """Reads the jobs at regular intervals, and in between records which would be sent when due."""

    engine: Engine
    reader: JobReader
    source: Source
    on_refused: Callable[[str, str], None]

    def watch(self, *, every: float, stopping: Event, on_pass: Callable[[int, int], None]) -> None:
        """Run until `stopping` is set. `on_pass` is called after each reading with the number of jobs, and of refused
        ones. If a source cannot be read, it is tried again."""
        while not stopping.is_set():
            try:
                on_pass(*self.observe())
            except SourceError as error:
                log.warning("the jobs cannot be read now: %s", error)
            except SQLAlchemyError as error:
                log.warning("the jobs cannot be noted now: %s", error_text(error))
            waited = 0.0
            while waited < every and not stopping.is_set():
                pause = min(self._claim_due(), every - waited)
                stopping.wait(pause)
                waited += pause

    def _claim_due(self) -> float:
        """Record due jobs; return the seconds until the next check. If the database cannot write now, for example
        because a report holds its rows, they are recorded at the next check, with that time."""
        try:
            self.claim_due()
            with self.engine.connect() as connection:
                due = cutover.next_due(connection, source=self.reader.name)
        except SQLAlchemyError as error:
            log.warning("what is due cannot be noted now: %s", error_text(error))
            return MAX_SLEEP
        return min(MAX_SLEEP, max(due if due is not None else MAX_SLEEP, 0.01))

    def observe(self) -> tuple[int, int]:
        """Read the jobs once; return the number of jobs, and of refused ones. Raises SourceError."""
        with self.engine.connect() as connection:
            began = database_time(connection)
        seen = refused = 0
        for records in _batches(self.source()):
            jobs = {}
            for record in records:
                try:
                    job = self.reader.read(record, now=began)
                except JobRefused as error:
                    refused += 1
                    self.on_refused(record.place, str(error))
                    continue
                jobs[job.job_id, job.due_at] = job.columns
            with self.engine.begin() as connection:
                cutover.observe(connection, source=self.reader.name, jobs=list(jobs.values()))
            seen += len(jobs)
            self.claim_due()
        with self.engine.begin() as connection:
            cutover.mark_gone(connection, source=self.reader.name, before=began, margin=CLOCK_MARGIN)
        return seen, refused

    def claim_due(self) -> None:
        """Record due jobs as sent in the shadow, in the order of claims."""
        claimed = 1
        while claimed:
            with self.engine.begin() as connection:
                claimed = cutover.send_in_shadow(connection, source=self.reader.name, batch_size=CLAIM_SIZE)


@dataclass
class Report:
    """The number of times of each kind, and the sends of jobs that the shadow does not know. `slow` counts jobs that a
    worker would have claimed later than the tolerance, `slowest` is the largest delay."""

    counts: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    refused: int = 0
    slow: int = 0
    slowest: timedelta = timedelta(0)

    @property
    def differences(self) -> int:
        return sum(self.counts[kind] for kind in ("missed", "early", "late", "twice")) + self.unknown


@dataclass(frozen=True, kw_only=True)
class SendReader:
    """Reads sends of the old scheduler: `columns` maps job_id and sent_at to the log's names."""

    columns: dict[str, str]
    zone: str | None = None

    def read(self, record: Record) -> ForeignSend:
        """Raises JobRefused."""
        if record.values is None:
            raise JobRefused(record.reason or "it cannot be read")
        sent_at = read_time(record.values.get(self.columns["sent_at"]), name="sent_at", zone=self.zone)
        return ForeignSend(job_id=read_job_id(record.values.get(self.columns["job_id"])), sent_at=sent_at)


def report(
    engine: Engine,
    *,
    name: str,
    sends: Source,
    reader: SendReader,
    tolerance: timedelta,
    on_difference: Callable[[Compared], None],
    on_unknown: Callable[[ForeignSend], None],
    on_refused: Callable[[str, str], None],
) -> Report:
    """Read the old scheduler's log from its start and compare. Raises SourceError, in which case no row has changed."""
    result = Report()
    with engine.begin() as connection:
        # Later sends of the old scheduler may be missing in the log.
        until: datetime = database_time(connection)
        cutover.forget_sends(connection, source=name)
        for records in _batches(sends()):
            read = []
            for record in records:
                try:
                    read.append(reader.read(record))
                except JobRefused as error:
                    result.refused += 1
                    on_refused(record.place, str(error))
            for send in cutover.record_sends(connection, source=name, sends=read):
                result.unknown += 1
                on_unknown(send)
        for job in cutover.compare(connection, source=name, tolerance=tolerance, until=until):
            result.counts[job.kind] += 1
            if job.shadow_delay is not None:
                result.slow += job.shadow_delay > tolerance
                result.slowest = max(result.slowest, job.shadow_delay)
            if job.kind in {"missed", "early", "late", "twice"}:
                on_difference(job)
    return result


def forget(engine: Engine, *, name: str) -> int:
    """Delete all that the shadow recorded; return how many times of jobs that were."""
    forgotten = 0
    while True:
        with engine.begin() as connection:
            batch = cutover.forget(connection, source=name, batch_size=BATCH_SIZE * 10)
        if not batch:
            return forgotten
        forgotten += batch


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    while batch := list(islice(records, BATCH_SIZE)):
        yield batch
