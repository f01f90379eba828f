"""`snoozer audit`: checks that the audit log is unchanged, and prints a mark to compare it with later."""

import re
from dataclasses import dataclass

import click
from sqlalchemy import Connection

from snoozer.cli.console import refuse
from snoozer.cli.database_connection import transaction
from snoozer.db import audit

# The number of entries that the doctor checks each time; the command checks all.
NEWEST = 100_000

_MARK = re.compile(r"([1-9][0-9]{0,18}):([0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class Check:
    """How many entries were compared, the first of them, and the first broken one; None if all are intact."""

    checked: int
    first_id: int
    broken_at: int | None


def check_newest(connection: Connection, *, newest: int | None = NEWEST) -> Check:
    """Compare the newest entries, or with None all, with their hashes and with the entries before them."""
    head = audit.head(connection)
    after = 0 if head is None or newest is None else max(head.id - newest, 0)
    first, checked = after + 1, 0
    while True:
        links = audit.check_links(connection, after_id=after)
        checked += links.checked
        if links.broken_at is not None or links.last_id is None:
            return Check(checked=checked, first_id=first, broken_at=links.broken_at)
        after = links.last_id


@click.command("audit")
@click.option("--mark", help="A mark that was printed before: that entry and all before it must still be the same.")
def command(mark: str | None) -> None:
    known = _MARK.fullmatch(mark or "")
    if mark is not None and (known is None or int(known[1]) >= 2**63):
        refuse("That is no mark of this command; it looks like 120:9f86d0…, with 64 digits.")
    with transaction(name="audit") as connection:
        found, head = check_newest(connection, newest=None), audit.head(connection)
        same = known is None or (audit.hash_of(connection, id=int(known[1])) or b"").hex() == known[2]
    if found.broken_at is not None:
        click.echo(f"Entry {found.broken_at} does not fit the one before it: the log was changed there.")
    if not same and known is not None:
        click.echo(f"Entry {known[1]} is not the one of the mark: the log was changed there, or before.")
    if found.broken_at is not None or not same:
        raise SystemExit(1)
    if head is None:
        click.echo("The audit log is empty.")
        return
    click.echo(f"{found.checked:,} {'entry fits' if found.checked == 1 else 'entries fit'}. The mark of the newest:")
    click.echo(f"{head.id}:{head.hash.hex()}")
