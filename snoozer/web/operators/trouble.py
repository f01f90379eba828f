"""Lists current troubles in sentences, worst first, from the figures of the overview."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from snoozer.db.minutes import MAX_DUE
from snoozer.db.overview import MAX_COUNTED, MAX_WORKERS, SLOW, Worker
from snoozer.db.queries import Found
from snoozer.db.queries.delivery import FORGOTTEN_AFTER
from snoozer.web.operators import stops
from snoozer.web.operators.reading import Reading
from snoozer.web.operators.remedies import Harm, Resume, Trouble, worst_first
from snoozer.web.text.measures import age, nearly_all, seconds
from snoozer.web.text.redaction import without_addresses

# The clock sweeps every few seconds.
MISSED_SWEEPS, LEAST_SILENCE = 4, timedelta(seconds=10)
# Reminders that are later than this are hurt; an idle queue takes less.
HURT = timedelta(seconds=5)
# A longer wait is late for everybody, and not only a matter of order in a crowd.
LATE = timedelta(seconds=30)
# A backlog counts as growing if it is larger than minutes ago, by more than the usual number in delivery.
GROWTH, GROWTH_ROWS = 1.1, 20
# The mail server is slow if a fourth of the rows in delivery were claimed long ago, or its replies take seconds.
SLOW_SHARE, SLOW_REPLY_SECONDS = 0.25, 2.0
_NOTHING_IS_LOST = "nothing is lost"
_SILENT = ("timed out", "no answer", "no reply", "did not answer", "in time", "deadline", "timeout")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of silence from the settings."""

    dead_after: timedelta
    sweep: timedelta

    @property
    def clock(self) -> timedelta:
        """The silence after which the clock counts as dead."""
        return max(MISSED_SWEEPS * self.sweep, LEAST_SILENCE)


def troubles(reading: Reading, *, limits: Limits, time_of: Callable[[datetime], str]) -> list[Trouble]:
    """All troubles, the worst first; empty if all is well. `time_of` returns an instant's hour in words."""
    return worst_first(_Judge(reading, limits=limits, time_of=time_of).all())


def all_is_well(reading: Reading) -> str:
    """The sentence for an overview without troubles."""
    attempts, sent, queue = reading.attempts.value, reading.sent.value, reading.queue.value
    if not attempts or not attempts.sent or sent is None or sent.p99 is None:
        done = "no reminder was due in the last hour"
    else:
        within = nearly_all(sent.rows, sent.p99)
        done = f"{_count(attempts.sent, 'reminder was', 'reminders were')} sent in the last hour, {within}"
    due, retrying = (queue.due, queue.retrying) if queue else (0, 0)
    parts = [f"{_many(due)} {'is' if due == 1 else 'are'} due"] if due else []
    parts += [f"{_many(retrying)} {'waits' if retrying == 1 else 'wait'} for another try"] if retrying else []
    return f"All is well: {done}; {' and '.join(parts) or 'nothing waits'}."


class _Judge:
    def __init__(self, reading: Reading, *, limits: Limits, time_of: Callable[[datetime], str]) -> None:
        self._reading, self._limits, self._time_of = reading, limits, time_of
        self._is_locked = False

    def all(self) -> Iterator[Trouble]:
        locked = list(self._locks())
        self._is_locked = bool(locked)
        yield from stops.paused(
            self._reading.pauses.value or (),
            time_of=self._time_of,
            with_waiting=self._with_waiting,
            is_late=self._harm() == "now",
        )
        yield from locked
        yield from self._no_workers()
        yield from self._mail_servers()
        yield from self._lost_workers()
        yield from self._clock()
        yield from self._slow_server()
        yield from self._backlog()
        yield from self._mailboxes()
        yield from self._unread()
        yield from self._stopped_servers()
        yield from self._uncertain()
        yield from self._addresses()
        yield from self._cases()

    def _locks(self) -> Iterator[Trouble]:
        locks = self._reading.locks.value
        if locks is None or not self._reading.locks.in_time:
            return
        is_late = self._oldest_due() > LEAST_SILENCE or not self._reading.queue.in_time
        if not locks.waiting and not (locks.holder is not None and is_late):
            return
        parts = []
        if locks.waiting and locks.waiting_since:
            waiting = _count(locks.waiting, "session has", "sessions have")
            parts.append(f"{waiting} waited for locks since {self._time_of(locks.waiting_since)}")
        if locks.holder is not None and locks.held_since is not None:
            program = without_addresses(locks.program or "another program")
            since = self._time_of(locks.held_since)
            parts.append(f"process {locks.holder} ({program}) has held some of the queue since {since}")
        text = f"The database is full of locks, and reminders are not claimed: {'; '.join(parts)}"
        yield Trouble(kind="locks", text=self._with_waiting(text), harm="now")

    def _no_workers(self) -> Iterator[Trouble]:
        working, lost = self._workers()
        if working or self._reading.workers.value is None:
            return
        text = "No worker runs (start one with: snoozer worker)"
        if lost:
            who = "The only worker" if len(lost) == 1 else f"All {_limited(len(lost))} workers"
            text = f"{who} stopped answering at {self._time_of(max(one.heartbeat_at for one in lost))}"
        yield Trouble(kind="no workers", text=self._with_waiting(text), harm=self._harm())

    def _lost_workers(self) -> Iterator[Trouble]:
        working, lost = self._workers()
        if not working or not lost:
            return
        names = ", ".join(f"{one.id} at {self._time_of(one.heartbeat_at)}" for one in lost[:2])
        names += f" and {len(lost) - 2} more" if len(lost) > 2 else ""
        who = f"{len(lost)} of {_limited(len(lost) + len(working))} workers"
        if len(lost) > MAX_WORKERS:
            who = f"More than {MAX_WORKERS} workers"
        held = self._held_by([one.id for one in lost])
        they = "it" if len(lost) == 1 else "they"
        rest = f"{_count(held, 'reminder')} {they} held {'is' if held == 1 else 'are'} taken back by the clock"
        text = f"{who} stopped answering ({names}); {rest if held else f'{they} held nothing'}."
        yield Trouble(kind="workers lost", text=text, harm="now" if held else "notice")

    def _workers(self) -> tuple[list[Worker], list[Worker]]:
        """Live workers, and missed ones: lost and not replaced."""
        known = self._reading.workers.value or []
        return [one for one in known if not one.is_lost and one.state == "alive"], [
            one for one in known if one.is_missed
        ]

    def _mail_servers(self) -> Iterator[Trouble]:
        now = self._reading.at
        for breaker in self._reading.breakers.value or ():
            if breaker.state == "closed":
                yield from self._failing(breaker)
                continue
            server, since = breaker.server, breaker.away_since or breaker.opened_at or breaker.updated_at
            if breaker.updated_at < now - FORGOTTEN_AFTER:
                continue
            if breaker.tripped_at is not None:
                text = stops.tripped_text(breaker, time_of=self._time_of)
                yield self._of_server("mail server tripped", text, resume=stops.reset(server))
                continue
            kind, what = _of_failure(breaker)
            yield self._of_server(kind, f"The mail server {server} {what} since {self._time_of(since)}")

    def _failing(self, breaker: Found) -> Iterator[Trouble]:
        """A server that failed at its last attempt, until it takes a mail: while few reminders are due, its breaker
        stays closed."""
        failed = breaker.last_failure_at
        if self._is_failing(breaker):
            kind, _ = _of_failure(breaker)
            did = "did not answer" if kind == "mail server frozen" else "refused"
            text = f"The mail server {breaker.server} {did} when it was last tried at {self._time_of(failed)}"
            yield self._of_server(kind, text)

    def _is_failing(self, breaker: Found) -> bool:
        worked, failed = breaker.last_success_at, breaker.last_failure_at
        if not breaker.failures or failed is None or failed < self._reading.at - FORGOTTEN_AFTER:
            return False
        return worked is None or bool(worked < failed)

    def _of_server(self, kind: str, text: str, *, resume: Resume | None = None) -> Trouble:
        text, is_stop = self._with_waiting(text), resume is not None
        return Trouble(kind=kind, text=text, harm=self._harm(), resume=resume, explains_rest=is_stop)

    def _clock(self) -> Iterator[Trouble]:
        clock, locks = self._reading.clock.value, self._reading.locks.value
        if clock is None or not self._reading.clock.in_time:
            return
        # Its sweep waits for the same locks.
        if self._is_locked and locks is not None and locks.clock_is_busy:
            return
        does = "lost workers are not noticed and nothing is tidied up"
        is_silent = clock.swept_at is None or self._reading.at - self._heard(clock.swept_at) > self._limits.clock
        # A refused sweep looks like a clock that does not run.
        if (since := clock.refused_since) is not None and ("sweep" in clock.refused or not is_silent):
            chores = "”, “".join(clock.refused)
            what = f"its {'chore' if len(clock.refused) == 1 else 'chores'} “{chores}” since {self._time_of(since)}"
            text = f"The database refuses the clock {what}: its log names the error."
            yield Trouble(kind="chore", text=text, harm="risk")
        elif clock.swept_at is None:
            text = f"The clock has never run (start it with: snoozer clock); {does}."
            yield Trouble(kind="clock", text=text, harm="risk")
        elif is_silent:
            silent = age(self._reading.at - clock.swept_at)
            text = f"The clock has been silent since {self._time_of(clock.swept_at)}, for {silent}; {does}."
            yield Trouble(kind="clock", text=text, harm="risk")
        elif (since := clock.overdue_since) is not None and self._reading.at - self._heard(since) > clock.may_take:
            undone = f"its chore “{clock.overdue}” was last done at {self._time_of(since)}"
            yield Trouble(
                kind="chore", text=f"The clock runs, and {undone}: its log says what refuses it.", harm="risk"
            )

    def _heard(self, at: datetime) -> datetime:
        """When something was heard: while the database was away, nothing could be."""
        return max(at, self._reading.answers_since or at)

    def _slow_server(self) -> Iterator[Trouble]:
        """Detects slow servers from the number of claims held, long before a worker gives up."""
        attempts, workers = self._reading.attempts.value, self._reading.workers.value
        if self._is_locked or attempts is None or workers is None or not self._reading.held.in_time:
            return
        # Replies could not be recorded while the database was away.
        if self._heard(self._reading.at - SLOW) > self._reading.at - SLOW:
            return
        breakers = [
            one for one in self._reading.breakers.value or () if one.updated_at > self._reading.at - FORGOTTEN_AFTER
        ]
        if any(one.state != "closed" or self._is_failing(one) for one in breakers):
            return
        heard = self._reading.at - self._limits.dead_after / 2
        answering = {one.id for one in workers if not one.is_lost and one.heartbeat_at > heard}
        held = [one for one in (self._reading.held.value or {}).values() if one.worker in answering]
        rows, slow = sum(one.rows for one in held), sum(one.slow for one in held)
        server = f"The mail server {breakers[0].server}" if len(breakers) == 1 else "The mail server"
        # A server that takes nothing is not judged by its share: new claims would hide it for seconds.
        if slow and (slow >= SLOW_SHARE * rows or not attempts.just_sent):
            oldest = min(one.oldest for one in held)
            waits = f"{_count(slow, 'reminder is', 'reminders are')} in delivery since {self._time_of(oldest)} or later"
            if attempts.just_sent:
                text = self._with_waiting(f"{server} is slow: {waits}")
                yield Trouble(kind="mail server slow", text=text, harm="now")
            else:
                text = f"{server} has not answered for {age(self._reading.at - oldest)}: {waits}"
                yield Trouble(kind="mail server frozen", text=self._with_waiting(text), harm="now")
        elif attempts.reply_seconds is not None and attempts.reply_seconds >= SLOW_REPLY_SECONDS:
            text = f"{server} is slow: it takes {seconds(attempts.reply_seconds)} to accept a reminder"
            yield self._of_server("mail server slow", text)

    def _backlog(self) -> Iterator[Trouble]:
        queue, minutes = self._reading.queue.value, self._reading.backlog.value
        is_stopped = any(stops.is_stopped(one, now=self._reading.at) for one in self._reading.breakers.value or ())
        if queue is None or self._oldest_due() <= LATE or is_stopped:
            return
        verb = "is" if queue.due == 1 else "are"
        latest, before = (minutes.latest, minutes.before) if minutes else (None, None)
        many, due = _many(queue.due), latest if queue.due > MAX_COUNTED else queue.due
        if due is not None and due > MAX_COUNTED:
            many = f"{due:,}{' or more' if due >= MAX_DUE else ''}"
        late = f"{many} {verb} due, the oldest for {age(self._oldest_due())}"
        # The page stops counting long before the recorded minutes do.
        if due is not None and before is not None and due > before * GROWTH + GROWTH_ROWS:
            text = f"The backlog grows: {late}; some minutes ago {before:,} were."
        else:
            text = f"Reminders go out late: {late}."
        yield Trouble(kind="backlog", text=text, harm="now")

    def _mailboxes(self) -> Iterator[Trouble]:
        health = self._reading.mailboxes.value
        if health is not None and health.silent_since is not None:
            have, since = "has" if health.silent == 1 else "have", self._time_of(health.silent_since)
            mailboxes = f"{health.silent:,} of {_count(health.connected, 'mailbox', 'mailboxes')}"
            text = (
                f"{mailboxes} {have} had no answer of {'its' if health.silent == 1 else 'their'} server since {since}"
            )
            text = f"{text}; what is due there waits, and {_NOTHING_IS_LOST}."
            yield Trouble(kind="mailboxes", text=text, harm=_harm(now=health.late))
        if health is None or not (health.left_alone or health.late):
            return
        parts = []
        if health.left_alone:
            verb = "is" if health.unwatched == 1 else "are"
            parts.append(f"{health.unwatched:,} of {health.connected:,} mailboxes {verb} watched by no process")
        if health.late and health.oldest is not None:
            since = self._time_of(health.oldest)
            parts.append(f"{_count(health.overdue, 'message is', 'messages are')} not back in the inbox, since {since}")
        text = "; ".join(parts)
        start = " (start one with: snoozer mailbox)" if health.left_alone else ""
        kind, harm = "mailboxes unwatched" if health.left_alone else "mailboxes", _harm(now=health.late)
        yield Trouble(kind=kind, text=f"{text[0].upper()}{text[1:]}{start}.", harm=harm)

    def _unread(self) -> Iterator[Trouble]:
        if missing := self._reading.missing:
            text = (
                f"The database answers slowly: {_count(len(missing), 'figure was', 'figures were')} not read in time."
            )
            yield Trouble(kind="unread", text=text, harm="risk")

    def _stopped_servers(self) -> Iterator[Trouble]:
        for breaker in self._reading.breakers.value or ():
            if breaker.tripped_at is not None and breaker.updated_at < self._reading.at - FORGOTTEN_AFTER:
                by, hour = breaker.tripped_by.replace(":", " "), self._time_of(breaker.tripped_at)
                text = f"{breaker.server} is not used since {by} stopped it at {hour}, and nothing waits for it."
                yield Trouble(kind="mail server stopped", text=text, harm="notice", resume=stops.reset(breaker.server))

    def _uncertain(self) -> Iterator[Trouble]:
        queue, sends = self._reading.queue.value, self._reading.uncertain.value
        if queue is not None and queue.uncertain:
            since = f", the first since {self._time_of(sends[0].uncertain_at)}" if sends else ""
            text = f"{_many(queue.uncertain, 'reminder')} may have been sent, and it is not known{since}."
            yield Trouble(kind="uncertain", text=text, harm="notice")
        if queue is not None and queue.deferred:
            verb = "is" if queue.deferred == 1 else "are"
            text = f"{_many(queue.deferred)} {verb} due that only a newer release can send."
            yield Trouble(kind="deferred", text=text, harm=self._harm())

    def _addresses(self) -> Iterator[Trouble]:
        if count := self._reading.addresses.value:
            what, them = _count(count, "address takes", "addresses take"), "it" if count == 1 else "them"
            text = f"{what} no mail, so reminders to {them} are kept."
            yield Trouble(kind="addresses", text=text, harm="notice")

    def _cases(self) -> Iterator[Trouble]:
        queue, new = self._reading.queue.value, self._reading.new_cases.value
        if queue is None or not queue.cases:
            return
        lately = f", {_many(new, None)} of them in the last hour" if new else ""
        verb = "waits" if queue.cases == 1 else "wait"
        kind = "cases new" if new else "cases"
        yield Trouble(kind=kind, text=f"{_many(queue.cases, 'case')} {verb} for a decision{lately}.", harm="notice")

    def _harm(self) -> Harm:
        """The harm of an outage that delays every reminder."""
        is_unknown = not self._reading.waiting.in_time
        return _harm(now=self._oldest_late() > HURT or (is_unknown and self._unsent() > 0))

    def _with_waiting(self, text: str) -> str:
        """The sentence, followed by how many reminders of how many people wait, since when, and the assurance that they
        are kept."""
        late, queue = self._reading.waiting, self._reading.queue
        if late.value is not None and late.in_time and late.value.rows:
            number, people = late.value.rows, _count(late.value.people, "person", "people")
            many = f"{_count(number, 'reminder')}{' or more' if late.value.is_partial else ''} of {people}"
            waits = "waits" if number == 1 else "wait, the oldest"
            since = self._time_of(self._reading.at - self._oldest_late())
            return f"{text}; {many} {waits} since {since}; {_NOTHING_IS_LOST}."
        if queue.value is None or not queue.in_time:
            return f"{text}; {_NOTHING_IS_LOST}."
        waiting = self._unsent()
        waits = f"{_many(waiting)} {'waits' if waiting == 1 else 'wait'}" if waiting else "nothing waits"
        return f"{text}; {waits}; {_NOTHING_IS_LOST}."

    def _unsent(self) -> int:
        queue = self._reading.queue.value
        return queue.unsent if queue else 0

    def _oldest_late(self) -> timedelta:
        late = self._reading.waiting
        return timedelta(seconds=late.value.longest or 0.0) if late.value and late.in_time else timedelta(0)

    def _oldest_due(self) -> timedelta:
        queue = self._reading.queue.value
        return queue.at - queue.oldest_due if queue and queue.oldest_due else timedelta(0)

    def _held_by(self, ids: list[str]) -> int:
        held = self._reading.held.value or {}
        return sum(held[id].rows for id in ids if id in held)


def _harm(*, now: bool) -> Harm:
    return "now" if now else "risk"


def _of_failure(breaker: Found) -> tuple[str, str]:
    """The kind of a mail server's trouble, and its behaviour in words."""
    why = (breaker.last_failure or "").lower()
    if breaker.refuses_everybody:
        return "mail server refusing", "refuses every reminder"
    if any(word in why for word in _SILENT):
        return "mail server frozen", "does not answer"
    return "mail server refusing", "is refusing"


def _limited(workers: int) -> str:
    """A number of workers; beyond MAX_WORKERS it is only a lower bound."""
    return str(workers) if workers <= MAX_WORKERS else f"more than {MAX_WORKERS}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _many(number: int, one: str | None = "reminder") -> str:
    """A count that stops at MAX_COUNTED."""
    if number > MAX_COUNTED:
        return f"{MAX_COUNTED:,} or more{f' {one}s' if one else ''}"
    return _count(number, one) if one else f"{number:,}"
