import sys

import click

from snoozer import settings
from snoozer.db import schema
from snoozer.db.engine import make_engine


@click.command("migrate", help="Bring the database's schema up to this version of Snoozer.")
def command() -> None:
    terms = settings.load().require("database_url")
    engine = make_engine(terms.database_url.get_secret_value(), name="migrate", pool_size=1, pgbouncer=terms.pgbouncer)
    with engine.connect() as connection:
        before, head = schema.versions(connection)
    try:
        schema.upgrade(engine)
    except schema.SchemaError as refused:
        click.echo(f"snoozer: {refused}.", err=True)
        sys.exit(2)
    click.echo(
        f"The schema is at {head}." if before == head else f"The schema went from {before or 'nothing'} to {head}."
    )
