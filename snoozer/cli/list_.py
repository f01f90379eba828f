"""`snoozer list`: what is snoozed, by the API."""

from itertools import islice
from typing import get_args

import click
from rich.table import Table
from rich.text import Text

from snoozer.cli import console
from snoozer.cli.remote import as_json, connected, printable
from snoozer.db.state_words import State

MOST_OF_A_PAGE = 200


@click.command("list")
@click.option("--state", type=click.Choice(get_args(State)), help="Only these.")
@click.option("--message-id", "message_ids", multiple=True, help="Only the live or newest one of this message.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many, the newest.")
@click.option("--json", "json_wanted", is_flag=True, help="Print a line of JSON for each.")
def command(state: str | None, message_ids: tuple[str, ...], limit: int, json_wanted: bool) -> None:
    """List your snoozes, the newest first, at the Snoozer of SNOOZER_URL by your SNOOZER_TOKEN."""
    # The API takes no page size with messages.
    page_size = None if message_ids else min(limit, MOST_OF_A_PAGE)
    with connected() as client:
        snoozes = list(islice(client.list(state=state, message_id=message_ids or None, page_size=page_size), limit))
    if json_wanted:
        for snooze in snoozes:
            click.echo(as_json(snooze))
        return
    table = Table("number", "state", "when", "subject")
    for snooze in snoozes:
        subject = Text(printable(snooze.subject or "No subject"))
        table.add_row(str(snooze.id), snooze.state, Text(printable(snooze.reading)), subject)
    if not snoozes:
        table.caption = "Nothing."
    console.show(table)
