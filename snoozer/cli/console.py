"""What commands share: tables, one transaction, and a refusal in one sentence."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection

from snoozer import accounts
from snoozer.db.engine import make_engine
from snoozer.settings import Settings

NO_ACCOUNT = "There is no such account; make one with: snoozer account create EMAIL"


@contextmanager
def transaction(terms: Settings, *, name: str) -> Iterator[Connection]:
    """Committed at the end. What the accounts refuse ends the command with a sentence and code 2."""
    given = terms.require("database_url")
    engine = make_engine(given.database_url.get_secret_value(), name=name, pool_size=1, pgbouncer=given.pgbouncer)
    try:
        with engine.begin() as connection:
            yield connection
    except (accounts.InvalidAddress, accounts.InvalidZone) as bad:
        refuse(str(bad))
    finally:
        engine.dispose()


def refuse(sentence: str) -> NoReturn:
    """The end of the command: one sentence and code 2."""
    click.echo(f"snoozer: {sentence}", err=True)
    sys.exit(2)


def show(*tables: Table) -> None:
    """On a terminal as wide as it is; into a file or a pipe wide enough that nothing is folded away."""
    console = Console() if sys.stdout.isatty() else Console(width=240)
    for table in tables:
        console.print(table)
