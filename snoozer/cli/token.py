"""`snoozer token`: API tokens of accounts. A secret is printed once, when it is made."""

import click
from rich.table import Table
from rich.text import Text

from snoozer import accounts, api_tokens, security_log
from snoozer.cli import console
from snoozer.cli.console import CLOSED_ACCOUNT, NO_ACCOUNT, refuse, transaction
from snoozer.db import audit
from snoozer.db.api_tokens import Token
from snoozer.db.audit import Entry


@click.group("token", help="Tokens for the API.")
def command() -> None:
    pass


@command.command("create", help="Print a new API token for EMAIL. It is shown this once.")
@click.argument("email")
def create(email: str) -> None:
    with transaction(name="token") as connection:
        token = api_tokens.create(connection, email=email)
        if token is None:
            refuse(CLOSED_ACCOUNT if accounts.is_closed(connection, email=email) else NO_ACCOUNT)
        account = accounts.id_of(connection, email=email)
        entry = Entry(target=f"account:{account}")
        audit.append(connection, actor="command", act="create_token", entries=[entry])
    security_log.record("token_created", account=account)
    click.echo(token.secret)


@command.command("list", help="List the tokens of EMAIL, or everybody's, by number. Secrets are never shown.")
@click.argument("email", required=False)
def show(email: str | None) -> None:
    with transaction(name="token") as connection:
        tokens = api_tokens.list_all(connection, email=email)
    table = Table("number", "account", "made", "now")
    for token in tokens:
        table.add_row(str(token.id), Text(token.email), f"{token.created_at:%Y-%m-%d %H:%M} UTC", _status(token))
    if not tokens:
        table.caption = "No tokens."
    console.show(table)


@command.command("revoke", short_help="Refuse a token from now on.")
@click.argument("which", metavar="WHICH")
def revoke(which: str) -> None:
    """Refuse a token from now on, for good.

    WHICH is its number in `snoozer token list`, or the token itself, or an address for all tokens of that account.
    """
    with transaction(name="token") as connection:
        revoked = api_tokens.revoke(connection, which=which)
        entries = [Entry(target=f"token:{number}") for number, _ in revoked]
        audit.append(connection, actor="command", act="revoke_token", entries=entries)
    if not revoked:
        refuse("There is no such token in force; `snoozer token list` shows them by number.")
    security_log.record("tokens_revoked", tokens=",".join(str(number) for number, _ in revoked))
    for number, email in revoked:
        click.echo(f"Revoked token {number} of {email}.")


def _status(token: Token) -> str:
    if token.revoked_at is not None:
        return f"revoked {token.revoked_at:%Y-%m-%d %H:%M} UTC"
    if token.expired:
        return f"expired {token.expires_at:%Y-%m-%d %H:%M} UTC"
    return "refused: the account is closed" if token.closed else "in force"
