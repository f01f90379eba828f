"""Deleting an account: requested, revocable for a day, then done by the clock (delivery/chores/erasing.py)."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db import deletions
from snoozer.people import accounts

DELAY = timedelta(hours=24)


def request(connection: Connection, *, account_id: int, deliver: bool) -> datetime | None:
    """Request it; with `deliver`, waiting snoozes are delivered first, else they are cancelled. Returns when it is due,
    None if it was already requested. Raises LastAdmin; the caller must then roll the transaction back."""
    with accounts.an_admin_stays(connection):
        return deletions.request(connection, account_id=account_id, delay=DELAY, deliver=deliver)


def withdraw(connection: Connection, *, account_id: int) -> bool:
    """Keep the account. Returns False if no deletion was requested."""
    return deletions.withdraw(connection, account_id=account_id)
