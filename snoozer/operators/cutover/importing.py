"""Imports the jobs of another scheduler: batch by batch, each saved whole, and each job once.

Whatever stops an import, the next one continues: saved jobs are known by their ids and are not saved again.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from snoozer.db import cutover
from snoozer.db.cutover import JobOutcome
from snoozer.db.statements import database_time
from snoozer.operators.cutover.jobs import Job, JobReader, JobRefused
from snoozer.operators.cutover.record import Source, SourceError
from snoozer.queue import changes as db
from snoozer.queue.promise import ReminderTime
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By, Cancel, Snooze
from snoozer.timephrase.zones import wall_time

BATCH_SIZE = 500
_MAX_CONFLICTS = 3
BY = By(None, "import", "command")
_REFUSED = {
    "taken": "its message is snoozed already",
    "readdressed": "it was imported for another address",
    "repeated": "the same job_id stands further up",
}


@dataclass
class Summary:
    """The number of jobs for each verdict: new, same, moved, over, refused; `overdue` counts new jobs that are already
    due, `withdrawn` jobs that the source no longer has."""

    counts: Counter[str] = field(default_factory=Counter)
    overdue: int = 0
    withdrawn: int = 0


@dataclass(frozen=True, kw_only=True)
class JobImport:
    """One run. `on_refused` is called with a place and a reason, `on_new` with each job that is, or
    would be, created."""

    engine: Engine
    reader: JobReader
    source: Source
    on_refused: Callable[[str, str], None]
    on_new: Callable[[Job], None]

    def run(self, *, apply: bool, withdraw_missing: bool = False) -> Summary:
        """Without `apply` no row is written. With `withdraw_missing`, previously imported jobs that the source no
        longer has are cancelled, unless any job was refused: it may be among these. Raises SourceError."""
        summary = Summary()
        with self.engine.connect() as connection:
            began = database_time(connection)
            live = cutover.count_live(connection, source=self.reader.name)
        for batch in self._batches(now=began, summary=summary):
            self._take(batch, now=began, apply=apply, summary=summary)
        if withdraw_missing and live and not summary.counts.total():
            raise SourceError(
                f"the source has no job, and {live} are imported: it may be cut off. Nothing is withdrawn"
            )
        if withdraw_missing and not summary.counts["refused"]:
            known = sum(summary.counts[verdict] for verdict in ("same", "moved"))
            summary.withdrawn = self._withdraw(before=began) if apply else max(live - known, 0)
        return summary

    def _batches(self, *, now: datetime, summary: Summary) -> Iterator[list[tuple[str, Job]]]:
        batch: dict[str, tuple[str, Job]] = {}
        messages: set[tuple[str, str]] = set()
        for record in self.source():
            try:
                job = self.reader.read(record, now=now)
                if job.job_id in batch:
                    raise JobRefused(_REFUSED["repeated"])
                if (job.user_email, job.message_id) in messages:
                    raise JobRefused(_REFUSED["taken"])
            except JobRefused as refused:
                self._refuse(record.place, str(refused), summary)
                continue
            batch[job.job_id] = record.place, job
            messages.add((job.user_email, job.message_id))
            if len(batch) == BATCH_SIZE:
                yield list(batch.values())
                batch, messages = {}, set()
        if batch:
            yield list(batch.values())

    def _take(self, batch: list[tuple[str, Job]], *, now: datetime, apply: bool, summary: Summary) -> None:
        jobs = {job.job_id: (place, job) for place, job in batch}
        for attempt in range(_MAX_CONFLICTS):
            try:
                with self.engine.begin() as connection:
                    verdicts = self._save(connection, [job for _, job in batch], now=now, apply=apply)
                break
            except IntegrityError:
                # A message was snoozed since the check.
                if attempt == _MAX_CONFLICTS - 1:
                    raise
        for job_id, verdict in verdicts.items():
            place, job = jobs[job_id]
            if verdict in _REFUSED:
                self._refuse(place, _REFUSED[verdict], summary)
                continue
            summary.counts[verdict] += 1
            if verdict == "new":
                summary.overdue += job.due_at <= now
                self.on_new(job)

    def _save(self, connection: Connection, jobs: list[Job], *, now: datetime, apply: bool) -> dict[str, str]:
        """Process a batch, and return the verdict on each job by its id."""
        name, by_id = self.reader.name, {job.job_id: job for job in jobs}
        columns = {job.job_id: job.columns for job in jobs}
        judged = cutover.judge(connection, source=name, jobs=list(columns.values()), began=now)
        if apply:
            new = [columns[each.job_id] for each in judged if each.verdict == "new"]
            if new:
                db.import_jobs(connection, source=name, jobs=new)
            seen = []
            for each in judged:
                if each.verdict == "moved" and each.snooze_id is not None:
                    what = Snooze(time=_time_of(by_id[each.job_id]))
                    acts.act(connection, [each.snooze_id], what, BY)
                    seen.append({"job_id": each.job_id, "due_at": columns[each.job_id]["due_at"]})
                elif each.verdict in {"same", "over"}:
                    seen.append({"job_id": each.job_id, "due_at": None})
            cutover.mark_seen(connection, source=name, jobs=seen)
        return {each.job_id: each.verdict for each in judged}

    def _withdraw(self, *, before: datetime) -> int:
        withdrawn = 0
        while True:
            with self.engine.begin() as connection:
                missing = cutover.list_missing(connection, source=self.reader.name, before=before, limit=BATCH_SIZE)
                if not missing:
                    return withdrawn
                results = acts.act(connection, [job.snooze_id for job in missing], Cancel(), BY)
                gone = [job.job_id for job, one in zip(missing, results, strict=True) if one.left is None]
                cutover.withdraw(connection, source=self.reader.name, job_ids=gone)
                withdrawn += len(gone)

    def _refuse(self, place: str, reason: str, summary: Summary) -> None:
        summary.counts["refused"] += 1
        self.on_refused(place, reason)


def outcomes(engine: Engine, *, name: str) -> Iterator[JobOutcome]:
    """The result of each imported job, in the order of their ids."""
    after = ""
    while True:
        with engine.connect() as connection:
            page = cutover.outcomes(connection, source=name, after=after, limit=BATCH_SIZE)
        if not page:
            return
        yield from page
        after = page[-1].job_id


def _time_of(job: Job) -> ReminderTime:
    recurs = job.recurrence is not None
    return ReminderTime(
        remind_at=job.due_at,
        note=job.note,
        wall_time=wall_time(job.due_at, job.zone or "UTC") if recurs else None,
        zone=job.zone,
        time_kind="wall" if recurs else None,
        recurrence=job.recurrence,
    )
