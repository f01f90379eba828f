"""A person makes the address of a feed, sees when it was last used, and revokes it; the address gives access to that
feed only."""

import secrets
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Connection

from snoozer.db import feeds, mailboxes
from snoozer.db.feeds import Feed
from snoozer.runtime.secret_keys import digest

Kind = Literal["calendar", "returned"]

MAX_FEEDS = 20
MAX_NAME_LENGTH = 60


@dataclass(frozen=True, kw_only=True)
class NewFeed:
    """A new feed; its secret is known only now."""

    id: int
    secret: str


def create(connection: Connection, *, account_id: int, kind: Kind, name: str, shows_subject: bool) -> NewFeed | None:
    """Make a feed of this person's; None if the account has MAX_FEEDS, or was closed in the meantime."""
    if kind not in get_args(Kind):
        raise ValueError(f"there is no feed of the kind {kind!r}")
    secret = secrets.token_urlsafe(32)
    if not mailboxes.lock_owner(connection, account_id=account_id):
        return None
    id = feeds.create(
        connection,
        account_id=account_id,
        kind=kind,
        label=name,
        shows_subject=shows_subject,
        secret_hash=digest(secret),
        most=MAX_FEEDS,
    )
    return None if id is None else NewFeed(id=id, secret=secret)


def open_feed(connection: Connection, *, secret: str, kind: Kind) -> Feed | None:
    """The feed of this secret, whose use is recorded; None if there is none of that kind."""
    feed = feeds.find(connection, secret_hash=digest(secret), kind=kind)
    if feed is not None:
        feeds.touch(connection, id=feed.id)
    return feed
