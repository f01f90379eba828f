"""`snoozer restored`: after a restore or a failover, lists what may go out twice; --apply makes cases of it."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TextIO

import click
from sqlalchemy import Connection

from snoozer import settings
from snoozer.cli.console import refuse
from snoozer.cli.database_connection import open_engine
from snoozer.db import audit, health_checks, timeline
from snoozer.db.audit import Entry
from snoozer.mail import headers
from snoozer.queue import events, queue
from snoozer.queue.queue import RestoredCase

ROUTE = "restored"
ERROR = "It may have been sent: it was due before the restored place began, and the dump does not know"
BATCH_SIZE = 1_000
_MESSAGE_ID = re.compile(r"<[^<>\s]+@[^<>\s]+>")


@click.command("restored")
@click.option("--until", metavar="ISO", help="When the old place stopped sending, with its offset: …T09:30+00:00.")
@click.option("--apply", is_flag=True, help="Make cases of them, and let workers go on. Without it nothing is written.")
@click.option("--accept", is_flag=True, help="Nothing was forgotten: let workers go on, and make no cases.")
@click.option(
    "--mail-log",
    "mail_logs",
    type=click.File(errors="replace"),
    multiple=True,
    help="List only reminders whose Message-ID is in this log of the mail server; - reads it from standard input.",
)
def command(until: str | None, apply: bool, accept: bool, mail_logs: Sequence[TextIO]) -> None:
    """List the snoozes that were due before the old place stopped: the copy does not know which of them it sent.

    Run it after `snoozer migrate`, before a worker starts, or while all workers wait because the database is on another
    timeline. One line a snooze: its id, what was promised, and the Message-ID by which the mail server's log tells
    whether its reminder left. With --apply they become cases: send them or close them on /admin. Repeating
    snoozes are listed, and are sent.

    With --mail-log (once for each file that covers the time since the copy was made) only reminders that the mail
    server took are listed. The others never left, and are sent.
    """
    if (until is None) != accept or (accept and (apply or mail_logs)):
        refuse("Say when the old place stopped (--until), or that nothing was forgotten (--accept).")
    if until is None:
        config = settings.load()
        with open_engine(config, name=ROUTE).begin() as connection:
            _accept(connection)
        click.echo("Accepted: workers go on with this database.", err=True)
        return
    stopped_at = _instant(until)
    config = settings.load().require("database_url", "mail_from")
    with open_engine(config, name=ROUTE).connect() as connection:
        waiting = config.failover == "wait" and timeline.change(connection) is not None
        dead_after = timedelta(seconds=config.worker_dead)
        if not waiting and health_checks.liveness(connection, dead_after=dead_after).workers:
            refuse("A worker is at work on this database; stop all of them first, or they send what is listed.")
        domain = headers.mail_from_domain(config.mail_from)
        sent = _message_ids(mail_logs, domain=domain) if mail_logs else None
        found = retire(connection, until=stopped_at, domain=domain, sent=sent)
        if apply:
            _accept(connection, [one.id for one in found if not one.repeats])
            connection.commit()
    for one in found:
        repeats = "  repeats" if one.repeats else ""
        click.echo(f"{one.id}  {one.promise.astimezone(UTC).isoformat()}  {one.reminder_message_id}{repeats}")
    click.echo(_summary([one.repeats for one in found], apply=apply), err=True)


def retire(
    connection: Connection, *, until: datetime, domain: str, sent: Collection[str] | None = None
) -> list[RestoredCase]:
    """Retire snoozes that were due before `until` and do not repeat, because they may have been sent after the dump was
    made; also return repeating ones. If the Message-IDs of `sent` are known, only those. Must be called while no worker
    claims rows."""
    cases: list[RestoredCase] = []
    after = 0
    while ids := queue.lock_due_before(connection, until=until, after=after, batch_size=BATCH_SIZE):
        after = max(ids)
        batch = queue.retire_restored(connection, ids=ids, domain=domain, error=ERROR, sent=sent)
        lines = [(case.id, {"error": ERROR}) for case in batch if not case.repeats]
        events.append_many(connection, kind="set aside", actor="operator", route=ROUTE, lines=lines)
        cases += batch
    return cases


def _accept(connection: Connection, retired: Sequence[int] = ()) -> None:
    """Let workers continue, and record that, with the snoozes that became cases."""
    timeline.accept(connection, accepted_by=ROUTE)
    cases = [Entry(snooze_id=id, after={"outcome": "retired"}) for id in retired]
    audit.append(connection, actor="command", act="retire_restored", entries=cases)
    audit.append(connection, actor="command", act="accept_database", entries=[Entry(target="database")])


def _message_ids(logs: Iterable[TextIO], *, domain: str) -> set[str]:
    """The Message-IDs of this place in the logs; every mail server writes them in angle brackets."""
    found = (name for log in logs for line in log for name in _MESSAGE_ID.findall(line))
    return {name for name in found if name.endswith(f"@{domain}>")}


def _instant(until: str) -> datetime:
    try:
        instant = datetime.fromisoformat(until)
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        refuse("--until is a moment with its offset, such as 2027-01-04T09:30+01:00.")
    return instant


def _summary(repeats: Sequence[bool], *, apply: bool) -> str:
    if not repeats:
        return "Nothing that was due by then may have left: no reminder goes out twice."
    cases = len(repeats) - sum(repeats)
    what = "1 snooze" if cases == 1 else f"{cases} snoozes"
    rest = f" {sum(repeats)} more repeat, and are sent: closing them would end them." if any(repeats) else ""
    if apply:
        return f"Made cases of {what}: decide about them on /admin, and start the workers.{rest}"
    return f"{what} may go out twice. Run it again with --apply to make cases of them.{rest}"
