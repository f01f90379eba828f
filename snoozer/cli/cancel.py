"""`snoozer cancel ID`: no reminder after all, by the API."""

import click

from snoozer.cli.remote import as_json, connected, in_words


@click.command("cancel")
@click.argument("number", type=click.IntRange(1, 2**63 - 1), metavar="ID")
@click.option("--json", "json_wanted", is_flag=True, help="Print one line of JSON.")
def command(number: int, json_wanted: bool) -> None:
    """Cancel the snooze with the number ID of `snoozer list`. Exits with 2 if there is none, or if it is over."""
    with connected() as client:
        cancelled = client.cancel(number)
    click.echo(as_json(cancelled) if json_wanted else f"Cancelled: {in_words(cancelled)}")
