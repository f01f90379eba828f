"""Time that passes for snoozes: another next try, and the promise stays."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Engine, text

SECOND = timedelta(seconds=1)


def set_next_try(at: Connection | Engine, wait: timedelta, where: str = "TRUE", **values: Any) -> None:
    """These snoozes are tried when `wait` has passed from now on; a program that sets `remind_at` promises a new time
    instead."""
    statement = f"UPDATE email_snoozes SET remind_at = now() + :wait WHERE ({where}) AND snooze_keeps('promise')"  # noqa: S608
    if isinstance(at, Connection):
        at.execute(text(statement), {"wait": wait, **values})
        return
    with at.begin() as connection:
        connection.execute(text(statement), {"wait": wait, **values})
