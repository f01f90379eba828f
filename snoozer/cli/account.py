import sys

import click

from snoozer import accounts, settings
from snoozer.postgres.engine import connect


@click.group("account", help="Accounts: who may sign in, and as what.")
def command() -> None:
    pass


@command.command("create", help="Create an account for EMAIL, or change its role. You vouch for the address.")
@click.argument("email")
@click.option(
    "--role", type=click.Choice(["user", "operator", "admin"]), help="What the account may do; user by default."
)
@click.option("--zone", default="UTC", show_default=True, help="The person's zone, such as Europe/Berlin.")
def create(email: str, role: str | None, zone: str) -> None:
    terms = settings.load().need("database_url")
    engine = connect(terms.database_url.get_secret_value(), name="account", pool_size=1, pgbouncer=terms.pgbouncer)
    try:
        with engine.begin() as connection:
            account = accounts.create(connection, email=email, role=role, zone=zone)
    except (accounts.BadAddress, accounts.BadZone) as bad:
        click.echo(f"snoozer: {bad}", err=True)
        sys.exit(2)
    what = "Created" if account.created else "There is already"
    click.echo(f"{what} the account {account.email} ({account.role}).")


@command.command("sign-in", help="Print a sign-in link for EMAIL: single use, ten minutes.")
@click.argument("email")
def sign_in(email: str) -> None:
    terms = settings.load().need("database_url")
    engine = connect(terms.database_url.get_secret_value(), name="account", pool_size=1, pgbouncer=terms.pgbouncer)
    try:
        with engine.begin() as connection:
            token = accounts.ask_from_the_console(connection, email=email)
    except accounts.BadAddress as bad:
        click.echo(f"snoozer: {bad}", err=True)
        sys.exit(2)
    if token is None:
        click.echo("snoozer: There is no such account; make one with: snoozer account create EMAIL", err=True)
        sys.exit(2)
    click.echo(f"{terms.base_url}/sign-in/{token}")
