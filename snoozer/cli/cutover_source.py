"""Shared options of `snoozer import` and `snoozer shadow`: the source of jobs, and the mapping of its values."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any

import click
from sqlalchemy import Engine

from snoozer import settings
from snoozer.cli.console import refuse
from snoozer.cli.database_connection import open_engine
from snoozer.operators.cutover import apscheduler_store, celery_beat, databases, files
from snoozer.operators.cutover.jobs import FIELDS, JobReader
from snoozer.operators.cutover.record import Source, SourceError
from snoozer.timephrase import locales
from snoozer.timephrase.zones import canonical

FORMATS = ("csv", "json", "sql", "apscheduler", "celery-beat", "celery-scheduled")
# The place where Celery keeps tasks that no worker has received.
_BROKERS = frozenset({"redis", "rediss", "sentinel", "amqp", "amqps", "pyamqp", "sqs"})
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_CALLED_WITH = ("user_email", "message_id", "subject", "sender_email", "note", "serialization_key", "reference")
# The fields' names in sources that are not plain records.
_COLUMNS = {
    "apscheduler": {"job_id": "id", "remind_at": "next_run_time", "recurrence": "recurrence", "zone": "zone"},
    "celery-beat": {"job_id": "id", "remind_at": "due", "recurrence": "recurrence", "zone": "zone"},
    "celery-scheduled": {"job_id": "id", "remind_at": "eta"},
}


@dataclass(kw_only=True)
class Lines:
    """Prints a limited number of lines, and how many more there were."""

    most: int
    err: bool = True
    count: int = 0

    def add(self, line: str) -> None:
        self.count += 1
        if self.count <= self.most:
            click.echo(printable(line), err=self.err)

    def end(self) -> None:
        if self.count > self.most:
            click.echo(f"… and {self.count - self.most:,} more (--most prints more of them)", err=self.err)


@contextmanager
def engine(name: str) -> Iterator[Engine]:
    """An engine for one command; a source that cannot be read ends the command with a sentence and code 2."""
    opened = open_engine(settings.load(), name=name)
    try:
        yield opened
    except SourceError as error:
        refuse(f"{str(error).rstrip('.')}.")
    finally:
        opened.dispose()


def printable(text: str) -> str:
    """A stranger's text without control characters, so that it is safe for a terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """The source of jobs and how to read it: the options that `source_options` adds to a command."""

    source: str | None
    kind: str | None
    name: str
    query: Path | None
    table: str
    columns: tuple[str, ...]
    values: tuple[str, ...]
    zone: str | None
    locale: str
    overdue_hours: float
    most: int

    def open(self) -> Source:
        """Open SOURCE. An invalid source ends the command with a sentence and code 2."""
        return open_source(self.source, self.kind, query=self.query, table=self.table)

    def reader(self) -> JobReader:
        """The reader for jobs of the source. Invalid options end the command with a sentence and code 2."""
        named = {field: field for field in FIELDS}
        if self.kind in _COLUMNS:
            named = _COLUMNS[self.kind] | {field: f"kwargs.{field}" for field in _CALLED_WITH}
        known_locale = locales.canonical(self.locale)
        if known_locale is None:
            refuse("That locale is not known; use one such as en_GB or de_DE.")
        return JobReader(
            name=checked_name(self.name),
            columns=named | pairs(self.columns, FIELDS, option="--map"),
            values=pairs(self.values, FIELDS, option="--set"),
            zone=checked_zone(self.zone),
            locale=known_locale,
            overdue=timedelta(hours=self.overdue_hours),
        )


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds SOURCE and its options, and calls the command with them as one `SourceOptions`."""

    @wraps(command)
    def called(**given: Any) -> Any:
        own = {field.name: given.pop(field.name) for field in fields(SourceOptions)}
        return command(SourceOptions(**own), **given)

    for option in reversed(
        [
            click.argument("source", required=False),
            click.option("--format", "kind", type=click.Choice(FORMATS), help="What SOURCE is."),
            click.option("--name", required=True, help="A name of yours for the old scheduler, such as crm."),
            click.option("--query", type=click.Path(path_type=Path), help="With sql: a file with the query."),
            click.option("--table", default="apscheduler_jobs", show_default=True, help="With apscheduler: its table."),
            click.option("--map", "columns", multiple=True, metavar="FIELD=COLUMN", help="Where a field is found."),
            click.option("--set", "values", multiple=True, metavar="FIELD=VALUE", help="A field that is always this."),
            click.option("--zone", help="The zone of phrases and of times that have no offset."),
            click.option("--locale", default="en_US", show_default=True, help="Language and customs of phrases."),
            click.option("--overdue-hours", type=click.FloatRange(0, 87_660), default=24, show_default=True,
                         help="Refuse what was due longer ago; the rest is sent at once."),
            click.option("--most", type=click.IntRange(0), default=20, show_default=True, help="Lines of each kind."),
        ]
    ):  # fmt: skip
        called = option(called)
    return called


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        refuse("--name is a short word of small letters, digits and hyphens, such as crm; it names the old scheduler.")
    return name


def open_source(source: str | None, kind: str | None, *, query: Path | None, table: str = "") -> Source:
    """The named source. `@FILE` is a file with a URL in it, because other users can see a command line."""
    if source is None or kind is None:
        refuse("Say what to read and what it is: SOURCE and --format.")
    url = _text(Path(source[1:])).strip() if source.startswith("@") else source
    if url.partition("://")[0] in _BROKERS:
        refuse(
            "Brokers are not read: they have no list of tasks that can be read without taking them. Let Celery's "
            "workers receive the tasks, save what `celery inspect scheduled --json` prints, and read that file with "
            "--format celery-scheduled."
        )
    if kind in {"csv", "json", "celery-scheduled"}:
        readers = {"csv": files.csv_file, "json": files.json_file, "celery-scheduled": files.celery_scheduled_file}
        return readers[kind](Path(source))
    if kind == "apscheduler":
        return apscheduler_store.job_store(url, name=table)
    if kind == "celery-beat":
        return celery_beat.beat_tables(url)
    if query is None:
        refuse("--query is missing: a file with the query whose rows are read.")
    return databases.query(url, _text(query))


def checked_zone(zone: str | None) -> str | None:
    known = None if zone is None else canonical(zone)
    if zone is not None and known is None:
        refuse("That time zone is not known; use a name such as Europe/Berlin or UTC.")
    return known


def pairs(given: tuple[str, ...], fields: tuple[str, ...], *, option: str) -> dict[str, str]:
    """Parse FIELD=VALUE into a dictionary by field."""
    found = {}
    for pair in given:
        field, is_pair, value = pair.partition("=")
        if field not in fields or not is_pair:
            refuse(f"{option} takes FIELD=…, and FIELD is one of: {', '.join(fields)}.")
        found[field] = value
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        refuse(f"{path} cannot be read.")
