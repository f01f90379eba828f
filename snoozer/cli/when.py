"""`snoozer when PHRASE`: what a typed time means, without a database and without settings."""

import json
import sys
from datetime import UTC, date, datetime

import click

from snoozer.timephrase import locales
from snoozer.timephrase.context import OwnDays
from snoozer.timephrase.day_shape import DayShape
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime, ParseError
from snoozer.timephrase.zones import canonical, zone_of


@click.command("when", context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="PHRASE")
@click.option("--now", metavar="ISO", help="The present moment; without an offset it is wall time in the zone.")
@click.option("--zone", default="UTC", show_default=True, help="A time zone such as Europe/Berlin.")
@click.option("--locale", default="en_US", show_default=True, help="Language and customs, such as de_DE or en_GB.")
@click.option("--back", metavar="DATE", help="The day on which you are back from a vacation, for 'when I am back'.")
@click.option("--review", type=click.IntRange(1, 7), default=5, help="The weekday of 'someday', 1 is Monday.")
@click.option("--folder", is_flag=True, help="PHRASE is the name of a folder below Snooze; the usual times are known.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    words: tuple[str, ...],
    now: str | None,
    zone: str,
    locale: str,
    back: str | None,
    review: int,
    folder: bool,
    as_json: bool,
) -> None:
    """Say when PHRASE is: the instant and its flags, then the sentence to check it by.

    Exits with 2 and the error code when the phrase is refused. With --folder it is read as the name of a folder in a
    connected mailbox: when would a message come back that is moved there?
    """
    if "-h" in words:  # Not an option of its own: click would find it in a phrase such as "-half an hour".
        context = click.get_current_context()
        click.echo(context.get_help())
        context.exit()
    try:
        present, shape, name = _present(now, zone), _shape(back, review), locales.canonical(locale)
        if name is None:
            raise ParseError("unknown_locale", "That locale is not known; use one such as en_GB or de_DE.")
        read = _in_folder if folder else parse
        parsed = read(" ".join(words), now=present, zone=zone, locale=name, own=lambda: shape)
    except ParseError as error:
        if as_json:
            click.echo(json.dumps(error.as_json()))
        else:
            click.echo(f"{error.code}: {error.message}", err=True)
            if folder:
                click.echo("A message in a folder of this name goes back to the inbox, with a notice.", err=True)
            if error.suggestions:
                click.echo("Try: " + " · ".join(error.suggestions), err=True)
        sys.exit(2)
    if as_json:
        click.echo(json.dumps(parsed.as_json()))
        return
    click.echo(" ".join([parsed.at.isoformat() if parsed.at else "none", *parsed.flags]))
    click.echo(parsed.sentence)


def _in_folder(name: str, *, now: datetime, zone: str, locale: str, own: OwnDays) -> ParsedTime:
    """The time that this folder means to the process that watches mailboxes. Raises ParseError."""
    from snoozer.mailboxes import folder_times
    from snoozer.snoozes.input import SnoozeError

    times = folder_times.PersonalTimes(zone, locale, folder_times.usual_times(locale), own())
    try:
        return folder_times.read_folder(folder_times.named(name), times, now=now)
    except SnoozeError as error:
        raise ParseError(error.code, error.message, error.suggestions) from None


def _present(now: str | None, zone: str) -> datetime:
    """The value of --now, or the present time to the second."""
    if now is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        present = datetime.fromisoformat(now)
    except ValueError:
        message = "The value of --now cannot be read; give a date and time such as 2026-03-05T10:20:00."
        raise ParseError("invalid_time", message) from None
    name = canonical(zone)
    return present if present.tzinfo or name is None else present.replace(tzinfo=zone_of(name))


def _shape(back: str | None, review: int) -> DayShape:
    """The shape of the day by the values of --back and --review."""
    try:
        return DayShape(back_on=None if back is None else date.fromisoformat(back), review_on=review)
    except ValueError:
        message = "The value of --back cannot be read; give a date such as 2026-12-07."
        raise ParseError("invalid_time", message) from None
