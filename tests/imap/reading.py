"""A connected mailbox as its owner reads it on pages."""

import contextlib
import os
from collections.abc import Collection, Iterator

from snoozer.mailboxes.read.connected import ConnectedMailbox, open_mailbox
from snoozer.mailboxes.read.connections import ConnectionPool
from snoozer.mailboxes.read.mailbox import Page
from snoozer.mailboxes.registry import Logins
from tests.imap.watched import Place

FULL = os.environ.get("SNOOZER_STORM") == "1"


def logins_of(place: Place) -> Logins:
    return Logins(place.engine, key_ring=place.settings.keys, providers=place.settings.oauth_providers)


@contextlib.contextmanager
def a_pool(place: Place, *, without: Collection[str] = ()) -> Iterator[ConnectionPool]:
    pool = ConnectionPool(logins_of(place), allow_private=True, without=tuple(without))
    try:
        yield pool
    finally:
        pool.close()


def opened(place: Place, pool: ConnectionPool) -> ConnectedMailbox:
    found = open_mailbox(
        place.engine, id=place.mailbox_id, account_id=place.person.id, user_email=place.person.email, pool=pool
    )
    assert found is not None
    return found


@contextlib.contextmanager
def reading(place: Place, *, without: Collection[str] = ()) -> Iterator[ConnectedMailbox]:
    with a_pool(place, without=without) as pool:
        yield opened(place, pool)


def subjects(page: Page) -> list[str | None]:
    return [row.subject for row in page.rows]
