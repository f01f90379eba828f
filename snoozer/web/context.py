"""The context of routes from their app: engine, settings, one transaction per action, messages for the next page, and
whether delivery fails."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from flask import Flask, abort, current_app, g, get_flashed_messages, request
from flask import flash as queue_message
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer import translations
from snoozer.db.engine import limit_transaction
from snoozer.db.errors import DEADLOCK, is_timeout, sqlstate
from snoozer.db.queries import delivery
from snoozer.db.queries.delivery import DeliveryStatus
from snoozer.settings import Settings

if TYPE_CHECKING:
    from snoozer.people.oidc.provider import Provider

T = TypeVar("T")

# A list that is fetched because of a change. It takes no message from the queue: an act's message belongs to the page
# of the act.
REFRESH_HEADER = "Snoozer-Refresh"

# The value of `snooze_events.route` for an action on a page.
ROUTE = "web"

STATUS_SECONDS = 1.0

_KEY = "snoozer"
_OIDC = "snoozer-oidc"
_DELIVERY = "snoozer-delivery"


class FlashMessage(NamedTuple):
    """`undo` is the path that the Undo button posts `fields` to; None for no button."""

    text: str
    undo: str | None
    fields: dict[str, str]


def init_app(app: Flask, *, engine: Engine, settings: Settings) -> None:
    app.extensions[_KEY] = (engine, settings)
    app.extensions[_OIDC] = None
    if settings.oidc is not None:
        # Imported here, because most sites have no provider, and it needs several libraries.
        from snoozer.people.oidc.provider import Provider

        app.extensions[_OIDC] = Provider(settings.oidc)


def settings() -> Settings:
    found: Settings = current_app.extensions[_KEY][1]
    return found


def engine() -> Engine:
    found: Engine = current_app.extensions[_KEY][0]
    return found


def oidc_provider() -> "Provider | None":
    """The organisation's provider, which keeps its document and keys; None if none is configured."""
    found: Provider | None = current_app.extensions[_OIDC]
    return found


@contextmanager
def transaction() -> Iterator[Connection]:
    """One action: at its end, all of it is committed, or none."""
    with engine().begin() as connection:
        yield connection


def use_locale(locale: str) -> None:
    """Writes this response in the language of the locale."""
    g.locale = locale
    translations.speak(translations.language_of(locale))


def retried(act: Callable[[Connection], T]) -> T:
    """One action in its own transaction, repeated once if the database ended a deadlock by aborting it."""
    try:
        with transaction() as connection:
            return act(connection)
    except DBAPIError as error:
        if sqlstate(error) != DEADLOCK:
            raise
    with transaction() as connection:
        return act(connection)


def delivery_status(connection: Connection) -> DeliveryStatus:
    """Returns whether delivery fails, cached within the poll interval."""
    known: tuple[float, DeliveryStatus] | None = current_app.extensions.get(_DELIVERY)
    if known is not None and time.monotonic() - known[0] <= settings().poll:
        return known[1]
    status = _status_in_time(connection) or (known[1] if known else delivery.UNKNOWN)
    current_app.extensions[_DELIVERY] = (time.monotonic(), status)
    return status


def _status_in_time(connection: Connection) -> DeliveryStatus | None:
    """None if the database takes too long: no page waits for this banner. The limit ends with the savepoint, in which
    nothing is written."""
    savepoint = connection.begin_nested()
    try:
        limit_transaction(connection, seconds=STATUS_SECONDS)
        return delivery.status(connection)
    except DBAPIError as error:
        if not is_timeout(error):
            raise
        return None
    finally:
        savepoint.rollback()


def found_or_404(row: T | None) -> T:
    if row is None:
        abort(404)
    return row


def flash(text: str, *, undo: str | None = None, **fields: str) -> None:
    """Queues a message for the next page of this browser."""
    queue_message([text, undo, fields], "toast")  # type: ignore[arg-type]


def flashes() -> list[FlashMessage]:
    """Returns the queued messages and removes them from the queue; none for a list that refreshes itself."""
    if REFRESH_HEADER in request.headers:
        return []
    return [FlashMessage(*message) for message in get_flashed_messages(category_filter=["toast"])]
