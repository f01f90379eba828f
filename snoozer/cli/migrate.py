import sys

import click

from snoozer import settings
from snoozer.postgres import schema
from snoozer.postgres.engine import connect


@click.command("migrate", help="Bring the database's schema up to this version of Snoozer.")
def command() -> None:
    terms = settings.load().need("database_url")
    engine = connect(terms.database_url.get_secret_value(), name="migrate", pool_size=1, pgbouncer=terms.pgbouncer)
    with engine.connect() as connection:
        before, head = schema.versions(connection)
    try:
        schema.upgrade(engine)
    except schema.SchemaRefused as refused:
        click.echo(f"snoozer: {refused}.", err=True)
        sys.exit(2)
    click.echo(
        f"The schema is at {head}." if before == head else f"The schema went from {before or 'nothing'} to {head}."
    )
