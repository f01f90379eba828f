"""`snoozer shadow`: runs next to another scheduler, without sending: when would a worker send each job, and when did
the old scheduler send it?"""

import logging
import sys
from datetime import timedelta
from pathlib import Path
from threading import Event

import click

from snoozer import settings
from snoozer.cli.cutover_source import (
    Lines,
    SourceOptions,
    checked_name,
    checked_zone,
    engine,
    open_source,
    pairs,
    source_options,
)
from snoozer.db.cutover import Compared
from snoozer.operators.cutover import shadowing
from snoozer.operators.cutover.jobs import SEND_FIELDS
from snoozer.operators.cutover.shadowing import Report, SendReader, Shadow
from snoozer.runtime.signals import on_stop_signal
from snoozer.telemetry import log_format

log = logging.getLogger(__name__)


@click.group("shadow")
def command() -> None:
    pass


@command.command("watch", short_help="Note when a worker would send each job, until it is stopped.")
@source_options
@click.option("--every", type=click.FloatRange(0.1, 3600), default=10, show_default=True, help="Seconds between reads.")
@click.option("--once", is_flag=True, help="Read the jobs once, and end.")
def watch(options: SourceOptions, every: float, once: bool) -> None:
    """Read the jobs of SOURCE again and again, and note when a worker would claim each: by priority, by time, and of
    one serialization key one at a time. Nothing is sent, and nothing is written to the old scheduler's place.

    A job that is made and run between two reads is not seen; the report calls its send unknown.
    """
    reader, opened = options.reader(), options.open()
    stopping, refused = Event(), Lines(most=options.most)
    log_format.configure(settings.load().log_format, process="shadow")
    with engine("shadow") as database:
        shadow = Shadow(
            engine=database,
            reader=reader,
            source=opened,
            on_refused=lambda place, reason: refused.add(f"{place}: refused, because {reason}"),
        )
        if once:
            jobs, left_out = shadow.observe()
            refused.end()
            click.echo(f"{jobs:,} jobs; refused: {left_out:,}.", err=True)
            return
        on_stop_signal(stopping.set)
        shadow.watch(
            every=every,
            stopping=stopping,
            on_pass=lambda jobs, left_out: log.info("%d jobs, %d refused", jobs, left_out),
        )


@command.command("report", short_help="Compare with what the old scheduler sent, by its own log.")
@click.argument("sends", metavar="SENDS")
@click.option("--format", "kind", type=click.Choice(("csv", "json", "sql")), required=True, help="What SENDS is.")
@click.option("--name", required=True, help="The name that `snoozer shadow watch` was given.")
@click.option("--query", type=click.Path(path_type=Path), help="With sql: a file with the query.")
@click.option("--map", "columns", multiple=True, metavar="FIELD=COLUMN", help="Where job_id and sent_at are found.")
@click.option("--zone", help="The zone of times that have no offset.")
@click.option("--tolerance", type=click.FloatRange(0, 86_400), default=60, show_default=True, help="In seconds.")
@click.option("--most", type=click.IntRange(0), default=1000, show_default=True, help="Differences that are printed.")
def report(
    sends: str,
    kind: str,
    name: str,
    query: Path | None,
    columns: tuple[str, ...],
    zone: str | None,
    tolerance: float,
    most: int,
) -> None:
    """Print each difference, a line each: missed, early, late or twice, when the job was due, when it was sent, its
    id; and sends of jobs that the shadow does not know.

    SENDS is a log with a line for each send: the job's id and the time. It is read from its start each time. Exits
    with 0 without a difference, with 1 otherwise, and 2 where SENDS cannot be read.
    """
    found, refused = Lines(most=most, err=False), Lines(most=20)
    named = {field: field for field in SEND_FIELDS} | pairs(columns, SEND_FIELDS, option="--map")
    with engine("shadow") as database:
        result = shadowing.report(
            database,
            name=checked_name(name),
            sends=open_source(sends, kind, query=query),
            reader=SendReader(columns=named, zone=checked_zone(zone)),
            tolerance=timedelta(seconds=tolerance),
            on_difference=lambda job: found.add(_line(job)),
            on_unknown=lambda send: found.add(f"unknown  -  {send.sent_at.isoformat()}  {send.job_id}"),
            on_refused=lambda place, reason: refused.add(f"{place}: not read, because {reason}"),
        )
    found.end()
    refused.end()
    for line in _sentences(result):
        click.echo(line, err=True)
    sys.exit(1 if result.differences or result.refused else 0)


@command.command("forget", help="Forget all that the shadow of --name knows.")
@click.option("--name", required=True)
def forget(name: str) -> None:
    with engine("shadow") as database:
        forgotten = shadowing.forget(database, name=checked_name(name))
    click.echo(f"Forgot {forgotten:,}.", err=True)


def _line(job: Compared) -> str:
    sent = " ".join(at.isoformat() for at in job.sent_at) or "-"
    return f"{job.kind}  {job.due_at.isoformat()}  {sent}  {job.job_id}"


def _sentences(result: Report) -> list[str]:
    counts = result.counts
    lines = [
        f"{result.differences:,} differences: missed {counts['missed']:,}, early {counts['early']:,}, "
        f"late {counts['late']:,}, twice {counts['twice']:,}, unknown {result.unknown:,}.",
        f"The same: {counts['same']:,}. Withdrawn before their time: {counts['withdrawn']:,}. "
        f"Too soon to say: {counts['pending']:,}.",
        f"A worker would have claimed {result.slow:,} later than the tolerance, the last one "
        f"{result.slowest.total_seconds():.1f} s after its time.",
    ]
    if result.refused:
        lines.append(f"{result.refused:,} lines of the log were not read: the report is not complete.")
    return lines
