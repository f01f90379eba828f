"""`snoozer add MESSAGE --when PHRASE`: a reminder, by the API."""

import click

from snoozer.cli.remote import as_json, connected, in_words


@click.command("add")
@click.argument("message")
@click.option("--when", required=True, metavar="PHRASE", help="When it comes, such as 'fri 9am' or 'every monday 8am'.")
@click.option("--note", help="A note of yours that comes with it.")
@click.option("--key", metavar="KEY", help="With the same key it is added once within a day, however often this runs.")
@click.option("--message-id", metavar="ID", help="What the message is called; one that is snoozed gets the new time.")
@click.option("--only", is_flag=True, help="Put away that message alone, without older ones of its conversation.")
@click.option("--zone", help="The time zone of PHRASE; the account's unless given.")
@click.option("--locale", help="Language and customs of PHRASE; the account's unless given.")
@click.option("--json", "json_wanted", is_flag=True, help="Print one line of JSON.")
def command(
    message: str,
    when: str,
    note: str | None,
    key: str | None,
    message_id: str | None,
    only: bool,
    zone: str | None,
    locale: str | None,
    json_wanted: bool,
) -> None:
    """Be reminded of MESSAGE at PHRASE, at the Snoozer of SNOOZER_URL by your SNOOZER_TOKEN.

    Exits with 2 if it is refused, with 1 if it fails for now and may be tried again.
    """
    with connected() as client:
        added = client.snooze(
            subject=message,
            when=when,
            note=note,
            message_id=message_id,
            zone=zone,
            locale=locale,
            idempotency_key=key,
            conversation=not only,
        )
    click.echo(as_json(added) if json_wanted else in_words(added))
