"""The doctor's findings in the database: server, schema, running processes, connected mailboxes and the invariants."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from snoozer.cli.audit import check_newest
from snoozer.cli.finding import Finding
from snoozer.cli.server_findings import server_findings
from snoozer.db import definitions, health_checks, overview, schema, timeline
from snoozer.db.health_checks import Defect, Violation
from snoozer.db.queries import delivery, pauses
from snoozer.db.statements import database_time
from snoozer.delivery.chores import chore_runner
from snoozer.notify import push_devices
from snoozer.settings import Settings
from snoozer.timephrase.date_format import DateFormat

MAX_SHOWN = 5
# The record in housekeeping_runs of the last request that the service of SNOOZER_PING_URL took.
PING, PING_MISSED = "ping", timedelta(minutes=5)

# By invariant: the meaning of a violation, and the remedy.
_BROKEN_INVARIANTS = {
    "one_send_per_promise": (
        "Two sends for one promise: a person may have had the same reminder twice.",
        "Find out who wrote to reminder_sends by hand or restored a copy beside the living tables.",
    ),
    "sent_stays_sent": (
        "A send that was sent no longer says so: it could be sent again.",
        "Find out who changed reminder_sends by hand; set its state back to sent.",
    ),
    "finished_has_its_send": (
        "A snooze counts as sent without a send in the ledger: its reminder may never have left.",
        "Put those messages away again, or tell their owners; find out who set the outcome by hand.",
    ),
    "no_second_dot": (
        "A reminder was sent again before anyone had decided about its first, uncertain copy.",
        "Its person may have it twice, as the same mail; please report how that came about.",
    ),
    "due_is_taken": (
        "Snoozes have been due for longer than a failure, a sweep and a retry take together: reminders are late.",
        "Start (more) workers with `snoozer worker`, and look at `snoozer support oldest`.",
    ),
    "the_dead_hold_nothing": (
        "Lost workers still hold snoozes: housekeeping does not take them back, and reminders are late.",
        "Start `snoozer clock`, and look at `snoozer support stuck`.",
    ),
    "messages_return": (
        "Kept messages whose time has come are not back in the inbox.",
        "Start `snoozer clock` or `snoozer worker`: either returns them; see what it logs.",
    ),
}


def database_findings(connection: Connection, settings: Settings) -> Iterator[Finding]:
    """The server, the schema, the running processes, and the invariants. Raises DBAPIError."""
    health_checks.set_thresholds(connection, lease=settings.lease, sweep=settings.sweep, backoff=settings.backoff)
    yield _server(connection)
    status = schema.status(connection)
    if status.where != "at head":
        yield Finding("schema", "wrong", f"{status.message}: nothing more is asked.", sentence(status.do))
        return
    yield Finding("schema", "right", f"{status.message}.")
    yield from _guards(connection)
    yield _timeline(connection, settings)
    yield from _processes(connection, settings)
    workers = health_checks.liveness(connection, dead_after=timedelta(seconds=settings.worker_dead)).workers
    yield from server_findings(connection, settings, workers=workers)
    yield _late_reminders(connection)
    yield _audit(connection)
    yield from _mailboxes(connection)
    yield from _pushes(connection, settings)
    yield from _webhooks(connection)
    yield from _ping(connection, settings)
    for invariant in health_checks.INVARIANTS:
        yield _invariant(invariant, health_checks.violations(connection, invariant))


def first_trouble(connection: Connection, settings: Settings) -> str:
    """The first sentence about what is wrong with processes, mail server and mailboxes; empty if nothing is. It holds
    no text that a person wrote, so it may leave the installation. It costs a few short statements, while the
    doctor's other checks read more."""
    health_checks.set_thresholds(connection, lease=settings.lease, sweep=settings.sweep, backoff=settings.backoff)
    for finding in (
        _timeline(connection, settings),
        *_processes(connection, settings),
        _late_reminders(connection),
        *_mailboxes(connection),
    ):
        if finding.verdict == "wrong":
            # A pause names its reason, which an operator wrote.
            says = "Operators hold reminders back." if finding.check == "pauses" else finding.says
            return f"{finding.check.capitalize()}: {says.partition('. ')[0].rstrip('.')}."
    return ""


def sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _server(connection: Connection) -> Finding:
    server = health_checks.server(connection)
    if server.version_number < 140_000:
        text = f"PostgreSQL {server.version} is older than 14, and Snoozer's statements are not made for it."
        do = "Upgrade the server."
    elif server.encoding != schema.ENCODING:
        text = f"The database's encoding is {server.encoding}, which cannot hold what mails say."
        do = f"Restore into one made by `{schema.CREATE_COMMAND}`."
    elif server.read_only:
        text = "This server only reads: it is a standby, and nothing can be put away or sent."
        do = "Let DATABASE_URL name the primary, with target_session_attrs=read-write."
    elif server.switched_off:
        text = f"{', '.join(server.switched_off)} is off: what the page confirmed can be lost when the server crashes."
        do = "Switch it on in the server's configuration and reload it."
    else:
        return Finding("database", "right", f"PostgreSQL {server.version}; what it confirms is on disk.")
    return Finding("database", "wrong", text, do)


def _guards(connection: Connection) -> Iterator[Finding]:
    """The guards that enforce the invariants, and the indexes without which claims and pages read whole tables."""
    unusable = health_checks.unusable_indexes(connection)
    unique = [index for index in unusable if index.holds_an_invariant]
    others = [index for index in unusable if index not in unique]
    guards = [*health_checks.disabled_guards(connection), *unique]
    if guards:
        text = f"Not in force: {_names(guards)}. Nothing but the programs' own care keeps the promise now."
        do = [one.remedy or f"Make {one.name} as the migrations do (docs/schema.sql)." for one in guards]
        yield Finding("guards", "wrong", text, "\n".join(do))
    else:
        yield Finding("guards", "right", "Constraints and triggers that hold the invariants are in force.")
    if changed := definitions.changed(connection):
        text = f"Not as this release defines them: {', '.join(sorted(changed))}. What they decide may be wrong."
        yield Finding("definitions", "wrong", text, "Run `snoozer migrate`, which makes them again.")
    else:
        yield Finding("definitions", "right", "Functions, triggers and views are those of this release.")
    if others:
        text = f"Not usable: {_names(others)}. Claims or pages read whole tables: with many rows reminders come late."
        yield Finding("indexes", "wrong", text, "\n".join(index.remedy for index in others))
    else:
        yield Finding("indexes", "right", "Every index of claims, ledger and pages is there and valid.")


def _names(defects: Iterable[Defect]) -> str:
    return ", ".join(map(str, defects))


def _timeline(connection: Connection, settings: Settings) -> Finding:
    change = timeline.change(connection)
    if change is None:
        return Finding("timeline", "right", "The database is the one that was accepted.")
    text = f"{sentence(str(change))} What was committed last before that may be forgotten, and sent twice."
    do = (
        "Run `snoozer restored --until …` with the time at which the old place stopped; with --apply it makes cases of "
        "what may go out twice. Where nothing is forgotten: `snoozer restored --accept`."
    )
    if settings.failover == "continue":
        return Finding("timeline", "advice", f"{text} Workers go on (SNOOZER_FAILOVER).", do)
    return Finding("timeline", "wrong", f"{text} Workers claim nothing.", do)


def _chores(connection: Connection, *, runs: bool) -> Iterator[Finding]:
    """Chores that are refused, or that a clock that `runs` has not done for long."""
    clock, now = overview.clock(connection), database_time(connection)
    if clock.refused_since is not None:
        minutes = (now - clock.refused_since).total_seconds() / 60
        text = f"The database has refused for {minutes:,.0f} min: {', '.join(clock.refused)}."
        do = "The log of `snoozer clock` names the error; `snoozer migrate --grant ROLE` gives a missing right."
        yield Finding("chores", "wrong", text, do)
    elif runs and clock.overdue_since is not None:
        minutes = (now - clock.overdue_since).total_seconds() / 60
        text = f"The chore {clock.overdue} was last done {minutes:,.0f} min ago."
        do = "The log of `snoozer clock` says what refuses it; `snoozer migrate --grant ROLE` gives a missing right."
        yield Finding("chores", "wrong", text, do)


def _processes(connection: Connection, settings: Settings) -> Iterator[Finding]:
    dead_after = timedelta(seconds=settings.worker_dead)
    alive = health_checks.liveness(connection, dead_after=dead_after)
    since = "never swept" if alive.swept_ago is None else f"last swept {float(alive.swept_ago):.0f} s ago"
    runs = alive.swept_ago is not None and alive.swept_ago <= 3 * settings.sweep + 10
    if not runs:
        text = f"Housekeeping has {since}: what lost workers hold is not taken back."
        yield Finding("clock", "wrong", text, "Start `snoozer clock`; one is enough, more do no harm.")
    else:
        yield Finding("clock", "right", f"Housekeeping {since}.")
    yield from _chores(connection, runs=runs)
    if alive.swept_ago is not None and (alive.prepared_ago is None or alive.prepared_ago > 26 * 3600):
        text = (
            "No partitions of the archive were made for more than a day, so what is over stays in the queue's tables."
        )
        do = "Look at what `snoozer clock` says; its role must be allowed to create tables."
        yield Finding("archive", "wrong", text, do)
    if settings.cutover == "shadow":
        text = "SNOOZER_CUTOVER is shadow here: another scheduler sends, and workers with this setting claim nothing."
        do = "When the old scheduler has stopped, set it to on for all workers, as docs/guide/cut-over.md says."
        yield Finding("cut-over", "advice", text, do)
    missed = [one for one in overview.workers(connection, dead_after=dead_after) if one.is_missed]
    if not alive.workers:
        yield Finding("workers", "wrong", "No worker is alive: no reminder goes out.", "Start `snoozer worker`.")
    elif missed:
        names = ", ".join(f"{one.id} at {_hour(one.heartbeat_at)}" for one in missed[:MAX_SHOWN])
        text = (
            f"{alive.workers} alive. In the last hour {len(missed)} stopped answering and were not replaced: {names}."
        )
        yield Finding("workers", "advice", text, "See what they logged last, and start others.")
    else:
        yield Finding("workers", "right", f"{alive.workers} alive.")
    if alive.deferred:
        text = (
            f"{alive.deferred} due snoozes were written by a newer release, in a form that this one does not know, and "
            "no worker that is alive has taken them."
        )
        yield Finding("newer rows", "wrong", text, "Start workers of that release; older ones leave such rows alone.")
    status = delivery.status(connection)
    for pause in pauses.active(connection, kinds=pauses.BROAD):
        what = f"{pause.kind} {pause.value}".rstrip()
        yield _stopped("pauses", f"paused {what} at {_hour(pause.since)} ({pause.reason})", by=pause.actor)
    if invalid := pauses.count_invalid(connection):
        text = (
            f"Addresses that take no mail: {invalid}. Reminders to them came back or were reported as spam, and wait."
        )
        do = "See them on /admin/pauses. Their people, or an operator there, say that they take mail again."
        yield Finding("addresses", "advice", text, do)
    if status.stopped_since is not None:
        yield _stopped("breaker", f"stopped sending by the mail server at {_hour(status.stopped_since)}")
    elif alive.open_breakers:
        text = (
            "The breaker is open: the mail server takes no mail, and is asked again after the cooldown. Nothing is "
            "lost: reminders are kept, and messages return to the inbox at their time."
        )
        yield Finding("breaker", "wrong", text, "Look at the check of the mail server and at /admin.")
    elif status.away_since is not None:
        text = "The mail server failed when it was last tried, and reminders wait for their next try."
        yield Finding(
            "breaker", "wrong", text, "Look at the check of the mail server, and at `snoozer support mail_servers`."
        )
    if alive.cases:
        yield Finding("cases", "advice", f"{alive.cases} wait for a decision.", "Reactivate or dismiss them on /admin.")
    if alive.long_uncertain:
        text = f"{alive.long_uncertain} reminders have been uncertain for more than a day: unknown if they left."
        do = "Decide about them on /admin; `snoozer support uncertain` lists them."
        yield Finding("uncertain", "wrong", text, do)
    else:
        yield Finding("uncertain", "right", "No reminder has been uncertain for more than a day.")


def _stopped(check: str, did: str, *, by: str = "operator") -> Finding:
    text = f"{by.replace(':', ' ').capitalize()} {did}. What is due waits, and nothing is lost."
    return Finding(check, "wrong", text, "Resume it on /admin when its reason is over.")


def _hour(moment: datetime) -> str:
    return f"{DateFormat.of('en_GB').instant(moment.astimezone(UTC))} UTC"


def _late_reminders(connection: Connection) -> Finding:
    overdue = health_checks.late(connection)
    if not overdue.late or overdue.oldest is None:
        return Finding("late reminders", "right", "No reminder is late.")
    number = "1,000 or more" if overdue.late >= 1000 else str(overdue.late)
    text = f"{number} overdue, the oldest since {_hour(overdue.oldest)}. They are kept."
    return Finding("late reminders", "wrong", text, "`snoozer support failures` says why; see also the breaker.")


def _audit(connection: Connection) -> Finding:
    found = check_newest(connection)
    if found.broken_at is not None:
        text = f"Entry {found.broken_at} of the audit log does not fit the one before it: the log was changed there."
        return Finding("audit", "wrong", text, "Find out who changed audit_log by hand; compare it with a dump.")
    older = f" Those before {found.first_id:,}: `snoozer audit`." if found.first_id > 1 else ""
    return Finding("audit", "right", f"{found.checked:,} entries fit, each the one before it.{older}")


def _mailboxes(connection: Connection) -> Iterator[Finding]:
    check, found = "mailboxes", health_checks.mailboxes(connection)
    if not found.connected:
        return
    if found.left_alone:
        text = (
            f"No process watches {found.unwatched} of {found.connected} connected mailboxes, so nothing returns there."
        )
        yield Finding(check, "wrong", text, "Start `snoozer mailbox`; more than one share the mailboxes.")
    if found.late and found.oldest is not None:
        text = (
            f"{found.overdue} messages whose time has come are not back in their mailboxes, the oldest since "
            f"{_hour(found.oldest)}. They are kept."
        )
        do = "Their mailboxes cannot be used, or `snoozer mailbox` logs why."
        yield Finding(check, "wrong", text, do)
    if found.silent_since is not None:
        since = _hour(found.silent_since)
        text = f"{found.silent} of {found.connected} mailboxes have had no answer of their server since {since}."
        yield Finding(check, "advice", text, "Look at the way to it; `snoozer mailbox` tries again.")
    elif found.failing:
        text = f"{found.failing} of {found.connected} mailboxes cannot be used for minutes; their owners see why."
        yield Finding(check, "advice", text, "Where it is one server, look at the way to it.")
    if not found.left_alone and not found.late and not found.failing and not found.silent:
        yield Finding(check, "right", f"{found.connected} connected and watched.")


def _pushes(connection: Connection, settings: Settings) -> Iterator[Finding]:
    check, found = "push", health_checks.push(connection)
    if not found.devices:
        return
    if not push_devices.key_opens(connection, key_ring=settings.keys):
        text = "No key of SECRET_KEY opens the key that signs pushes: no device takes a push any more."
        do = "Add the key that SECRET_KEY had before, behind the new one; or people switch their devices on again."
        yield Finding(check, "wrong", text, do)
    elif found.overdue:
        text = f"{found.overdue} pushes have been due for minutes. They are given up four hours after the return."
        yield Finding(check, "wrong", text, "Start `snoozer worker`, or see what it logs.")
    else:
        text = (
            f"{found.devices} devices; in the last day {found.sent} pushes sent, {found.failed} failed, "
            f"{found.uncertain} uncertain."
        )
        yield Finding(check, "right", text)
    if found.refused:
        text = f"The push services of {found.refused} devices refuse what comes from here; their owners see it."
        yield Finding(check, "advice", text, "Where it is all of them: see whether BASE_URL is this site's address.")


def _webhooks(connection: Connection) -> Iterator[Finding]:
    check, found = "webhooks", health_checks.webhooks(connection)
    if not found.endpoints:
        return
    if found.overdue:
        text = f"{found.overdue} webhooks have been due for minutes. They are kept."
        yield Finding(check, "wrong", text, "Start `snoozer worker`, or see what it logs.")
    else:
        text = (
            f"{found.endpoints} endpoints, {found.failing} of them fail now; in the last day {found.delivered} "
            f"webhooks delivered, {found.failed} failed."
        )
        yield Finding(check, "right", text)
    if found.unreadable:
        text = f"No key of SECRET_KEY opens the secrets of {found.unreadable} endpoints: they are switched off."
        do = "Add the key that SECRET_KEY had before, behind the new one; their owners switch them on again."
        yield Finding(check, "advice", text, do)
    elif found.switched_off:
        text = f"{found.switched_off} endpoints were switched off, since they took nothing; their owners see it."
        yield Finding(check, "advice", text, "Where it is all of them: see whether workers have a way out to port 443.")


def _ping(connection: Connection, settings: Settings) -> Iterator[Finding]:
    if not settings.ping_url.get_secret_value():
        return
    if chore_runner.was_done(connection, PING, within=PING_MISSED):
        yield Finding("ping", "right", "The service of SNOOZER_PING_URL takes what the clock tells it.")
    else:
        text = "The service of SNOOZER_PING_URL has taken nothing from a clock for five minutes."
        do = "See what `snoozer clock` logs, and that it has this setting; look at the URL and the way to its host."
        yield Finding("ping", "wrong", text, do)


def _invariant(name: str, rows: list[Violation]) -> Finding:
    check = f"invariant {name.replace('_', ' ')}"
    if not rows:
        return Finding(check, "right", "Holds.")
    meaning, do = _BROKEN_INVARIANTS[name]
    shown = "; ".join(
        f"snooze {row.snooze_id}{f', send {row.send_id}' if row.send_id else ''}: {row.what}"
        for row in rows[:MAX_SHOWN]
    )
    more = f"; and more in the view invariant_{name}" if len(rows) > MAX_SHOWN else ""
    return Finding(check, "wrong", f"{meaning} {shown}{more}.", do)
