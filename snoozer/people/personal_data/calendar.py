"""The snoozes that have not returned yet as a calendar, for a one-time export."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Engine

from snoozer.db.models import Account
from snoozer.db.queries import personal_data as queries
from snoozer.notify.feeds.calendar import EXPORTED, as_calendar
from snoozer.people.personal_data.pages import snooze_pages


def as_ics(engine: Engine, *, account: Account, at: datetime) -> Iterator[bytes]:
    """The calendar in pieces; `at` is the time of its creation."""
    with engine.connect() as connection:
        zones = queries.zones(connection, user_email=account.email)
    pages = snooze_pages(engine, user_email=account.email, waiting=True, alone=True)
    rows = (row for page in pages for row in page.snoozes if row.outcome is None)
    return as_calendar(rows, zones=zones, year=at.year, shown=EXPORTED, refreshed_after=None)
