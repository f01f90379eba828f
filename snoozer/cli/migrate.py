"""`snoozer migrate`: bring the database's schema up to this version of Snoozer."""

import click

from snoozer import settings
from snoozer.cli.console import open_engine, refuse
from snoozer.db import schema


@click.command("migrate", help="Bring the database's schema up to this version of Snoozer.")
def command() -> None:
    engine = open_engine(settings.load(), name="migrate")
    with engine.connect() as connection:
        before, head = schema.versions(connection)
    try:
        schema.upgrade(engine)
    except schema.SchemaError as error:
        refuse(f"{error}.")
    change = f"is at {head}" if before == head else f"went from {before or 'nothing'} to {head}"
    click.echo(f"The schema {change}.")
