"""`snoozer migrate`: bring the database's schema up to this version of Snoozer."""

import click

from snoozer import settings
from snoozer.cli.console import refuse
from snoozer.cli.database import open_engine
from snoozer.db import schema


@click.command("migrate")
@click.option("--grant", "role", metavar="ROLE", help="Also give ROLE the rights of web, workers and clock.")
def command(role: str | None) -> None:
    """Bring the database's schema up to this version of Snoozer.

    It is called as the owner of the database. With --grant, web, workers and clock can use a role that may not change
    the schema, and only append to the audit log; later calls give that role what new tables need, without the option.
    """
    engine = open_engine(settings.load(), name="migrate")
    with engine.connect() as connection:
        before, head = schema.versions(connection)
    try:
        schema.upgrade(engine)
        roles = schema.grant(engine, role=role)
    except schema.SchemaError as error:
        refuse(f"{error}.")
    change = f"is at {head}" if before == head else f"went from {before or 'nothing'} to {head}"
    click.echo(f"The schema {change}.")
    for each in roles:
        click.echo(f"The role {each} has the rights of web, workers and clock.")
