import sys

import click

from snoozer import accounts, settings
from snoozer.postgres.engine import connect


@click.group("token", help="Tokens for the API.")
def command() -> None:
    pass


@command.command("create", help="Print a new API token for EMAIL. It is shown this once.")
@click.argument("email")
def create(email: str) -> None:
    terms = settings.load().need("database_url")
    engine = connect(terms.database_url.get_secret_value(), name="token", pool_size=1, pgbouncer=terms.pgbouncer)
    try:
        with engine.begin() as connection:
            token = accounts.create_token(connection, email=email)
    except accounts.BadAddress as bad:
        click.echo(f"snoozer: {bad}", err=True)
        sys.exit(2)
    if token is None:
        click.echo("snoozer: There is no such account; make one with: snoozer account create EMAIL", err=True)
        sys.exit(2)
    click.echo(token)
