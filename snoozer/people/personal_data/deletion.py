"""Deleting an account: asked for, taken back within a day, then done by the clock (housekeeping/erasing.py)."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db import deletions
from snoozer.people import accounts

DELAY = timedelta(hours=24)


def request(connection: Connection, *, account_id: int, deliver: bool) -> datetime | None:
    """Ask for it; with `deliver` what is still to come back is delivered first, else it is cancelled. Returns when it
    is due, None where that was asked for before. Raises LastAdmin, whereupon the transaction is to be rolled back."""
    with accounts.an_admin_stays(connection):
        return deletions.request(connection, account_id=account_id, delay=DELAY, deliver=deliver)


def withdraw(connection: Connection, *, account_id: int) -> bool:
    """Keep the account. Returns False where nothing was asked for."""
    return deletions.withdraw(connection, account_id=account_id)
