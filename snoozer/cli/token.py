"""`snoozer token`: API tokens of accounts. A secret is printed once, when it is made."""

from datetime import datetime

import click
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from snoozer.cli import console
from snoozer.cli.console import CLOSED_ACCOUNT, NO_ACCOUNT, refuse
from snoozer.cli.database_connection import transaction
from snoozer.db import audit
from snoozer.db.api_tokens import Token
from snoozer.db.audit import Entry
from snoozer.db.scopes import ALL_SCOPES, Scope
from snoozer.db.statements import database_time
from snoozer.people import accounts, api_tokens
from snoozer.snoozes import chosen_shape
from snoozer.telemetry import security_log
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError


@click.group("token")
def command() -> None:
    pass


@command.command("create", help="Print a new API token for EMAIL. It is shown this once.")
@click.argument("email")
@click.option("--name", default="", help="What it is for, as its owner sees it in Settings, Programs.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="One that it has; all without.",
)
@click.option("--expires", metavar="PHRASE", help='When it stops: "in 90 days", "2030-01-31"; never without.')
def create(email: str, name: str, scopes: tuple[str, ...], expires: str | None) -> None:
    with transaction(name="token") as connection:
        end = None if expires is None else _end(connection, email=email, phrase=expires)
        wanted = [Scope(scope) for scope in scopes] or ALL_SCOPES
        token = api_tokens.create(connection, email=email, name=name, scopes=wanted, expires_at=end)
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
    table = Table("number", "account", "name", "may", "made", "used", "now")
    for token in tokens:
        may = "everything" if set(token.scopes) >= set(ALL_SCOPES) else " ".join(token.scopes)
        texts = (Text(token.email), Text(token.name), Text(may))
        table.add_row(str(token.id), *texts, _time(token.created_at), _time(token.last_used_at), _status(token))
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


def _end(connection: Connection, *, email: str, phrase: str) -> datetime:
    """The instant of a phrase in the zone of the account."""
    account, now = accounts.find(connection, email=email), database_time(connection)
    if account is None:
        refuse(NO_ACCOUNT)
    try:
        own = chosen_shape.days_for_phrases(connection, account_id=account.id)
        parsed = parse(phrase, now=now, zone=account.zone, locale="en_GB", own=own)
    except ParseError as error:
        refuse(error.message)
    if parsed.at is None or parsed.recurrence is not None:
        refuse("A token expires once: name one day or instant.")
    return parsed.at


def _time(instant: datetime | None) -> str:
    return "" if instant is None else f"{instant:%Y-%m-%d %H:%M} UTC"


def _status(token: Token) -> str:
    if token.revoked_at is not None:
        return f"revoked {_time(token.revoked_at)}"
    if token.closed:
        return "refused: the account is closed"
    if token.expired:
        return f"expired {_time(token.expires_at)}"
    return "in force" if token.expires_at is None else f"in force until {_time(token.expires_at)}"
