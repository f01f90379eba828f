"""`snoozer times-moved`: lists the reminders that a newer tz database moves; --apply moves them."""

from zoneinfo import ZoneInfo

import click

from snoozer import settings
from snoozer.cli.database_connection import open_engine
from snoozer.db import statements
from snoozer.snoozes import zone_change

ROUTE = "times-moved"


@click.command("times-moved")
@click.option("--apply", is_flag=True, help="Move them. Without it nothing is written.")
def command(apply: bool) -> None:
    """List the snoozes that the present rules of their zones put at another instant than the promised one.

    A snooze for a time on the clock keeps its hour when a country changes its rules: update the tz database (or the
    package tzdata), then run this. One line a snooze: its id, the old instant, the new one, the zone.
    """
    engine = open_engine(settings.load(), name=ROUTE)
    count = 0
    after: int | None = 0
    while after is not None:
        with engine.begin() as connection:
            now = statements.database_time(connection)
            moves, unknown, after = zone_change.find_outdated(connection, now=now, after=after)
            moved = list(zone_change.apply_corrections(connection, moves, route=ROUTE)) if apply else moves
        for move in moved:
            old, new = (at.astimezone(ZoneInfo(move.zone)).isoformat() for at in (move.promised, move.remind_at))
            click.echo(f"{move.id}  {old} → {new}  {move.zone}")
        for id in unknown:
            click.echo(f"{id}  its zone or its repetition is not known here; it stays as promised", err=True)
        count += len(moved)
    click.echo(_summary(count, apply=apply), err=True)


def _summary(count: int, *, apply: bool) -> str:
    if not count:
        return "Every snooze is at the time that the rules of its zone give. Nothing to move."
    what = f"{count} {'snooze' if count == 1 else 'snoozes'}"
    return f"Moved {what}." if apply else f"{what} would move. Run it again with --apply to move them."
