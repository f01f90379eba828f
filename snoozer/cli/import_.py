"""`snoozer import`: the jobs of another scheduler as snoozes; without --apply it only prints what would be done."""

import csv
import sys

import click

from snoozer.cli.cutover_source import Lines, SourceOptions, checked_name, engine, source_options
from snoozer.operators.cutover import importing
from snoozer.operators.cutover.importing import JobImport, Summary
from snoozer.operators.cutover.jobs import Job


@click.command("import")
@source_options
@click.option("--apply", is_flag=True, help="Import. Without it nothing is written.")
@click.option("--withdraw-missing", is_flag=True, help="Cancel what was imported and SOURCE no longer has.")
@click.option("--outcomes", is_flag=True, help="Print what became of the imported jobs, as CSV; reads no SOURCE.")
def command(options: SourceOptions, apply: bool, withdraw_missing: bool, outcomes: bool) -> None:
    """Read the jobs of SOURCE and enter each job once, whatever became of it. A second import adds only new jobs.

    SOURCE is a file, a database URL, or @FILE with the URL in it. Exits with 1 if a job was refused, and 2 if
    SOURCE cannot be read. Jobs saved before an error stay, and the same command continues.
    """
    if outcomes:
        _print_outcomes(checked_name(options.name))
        return
    reader, opened = options.reader(), options.open()
    refused, new = Lines(most=options.most), Lines(most=options.most, err=False)
    with engine("import") as database:
        job_import = JobImport(
            engine=database,
            reader=reader,
            source=opened,
            on_refused=lambda place, reason: refused.add(f"{place}: refused, because {reason}"),
            on_new=lambda job: new.add(_line(job)),
        )
        summary = job_import.run(apply=apply, withdraw_missing=withdraw_missing)
    new.end()
    refused.end()
    for line in _sentences(summary, apply=apply, withdraw_missing=withdraw_missing):
        click.echo(line, err=True)
    sys.exit(1 if summary.counts["refused"] else 0)


def _line(job: Job) -> str:
    repeats = "  repeats" if job.recurrence is not None else ""
    return f"{job.due_at.isoformat(timespec='seconds')}  {job.user_email}  {job.job_id}{repeats}"


def _sentences(summary: Summary, *, apply: bool, withdraw_missing: bool) -> list[str]:
    counts = summary.counts
    lines = [
        f"{'Imported' if apply else 'Would import'} {counts['new']:,}"
        f"{f', of which {summary.overdue:,} are due by now' if summary.overdue else ''}. "
        f"{'Moved' if apply else 'Would move'} {counts['moved']:,}. "
        f"Here already: {counts['same']:,}; over: {counts['over']:,}. Refused: {counts['refused']:,}."
    ]
    if withdraw_missing and counts["refused"]:
        lines.append("Nothing is withdrawn while a job is refused: it may be one that was imported.")
    elif withdraw_missing:
        lines.append(f"{'Withdrew' if apply else 'Would withdraw'} {summary.withdrawn:,} that are no longer there.")
    if not apply:
        lines.append("Nothing was written; run it again with --apply.")
    return lines


def _print_outcomes(name: str) -> None:
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(("job_id", "outcome", "due_at"))
    with engine("import") as database:
        for job in importing.outcomes(database, name=name):
            table.writerow((job.job_id, job.outcome, job.due_at.isoformat()))
