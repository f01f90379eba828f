"""Reads all rows of a person page by page: each transaction is as short as a page, and only one page is in memory.

The ids are read at the start; rows created later are not included, and a row that changes is read in its later state.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries import personal_data as queries
from snoozer.db.queries.personal_data import Section

PAGE_SIZE = 200


@dataclass(frozen=True, kw_only=True)
class SnoozePage:
    """Some snoozes with their sends and events."""

    snoozes: Sequence[Found]
    sends: Sequence[Found]
    events: Sequence[Found]


def snooze_pages(
    engine: Engine, *, user_email: str, waiting: bool = False, alone: bool = False
) -> Iterator[SnoozePage]:
    """A person's snoozes, live and archived; with `waiting` only snoozes that have not returned yet, with `alone`
    without their sends and events."""
    with engine.connect() as connection:
        ids = queries.snooze_ids(connection, user_email=user_email, waiting=waiting)
    for page in _pages(ids):
        with engine.connect() as connection:
            found = SnoozePage(
                snoozes=queries.snoozes(connection, ids=page, user_email=user_email),
                sends=[] if alone else queries.sends(connection, ids=page, user_email=user_email),
                events=[] if alone else queries.events(connection, ids=page),
            )
        # No transaction is open while the page is written: its reader may pause.
        yield found


def section_rows(engine: Engine, section: Section, *, account: Account) -> Iterator[Found]:
    """A person's rows of one table."""
    person = {"account_id": account.id, "user_email": account.email}
    with engine.connect() as connection:
        ids = queries.section_ids(connection, section, account_id=account.id, user_email=account.email)
        has_ids = hasattr(section.model, "id")
    for page in _pages(ids) if has_ids else [ids]:
        with engine.connect() as connection:
            rows = queries.section_rows(connection, section, ids=page, **person)  # type: ignore[arg-type]
        yield from rows


def _pages(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), PAGE_SIZE):
        yield ids[start : start + PAGE_SIZE]
