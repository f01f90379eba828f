"""Feeds: a calendar of snoozed messages, and a feed of returned ones, each at an address with a secret that its owner
makes and revokes. Reading a feed changes only the hour of its last use."""

import hashlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NoReturn

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import __version__, translations
from snoozer.db import feeds
from snoozer.db.feeds import Feed
from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries import feeds as queries
from snoozer.db.statements import database_time
from snoozer.notify.feeds.access import MAX_FEEDS, MAX_NAME_LENGTH, Kind, NewFeed, create, open_feed
from snoozer.notify.feeds.atom import as_atom
from snoozer.notify.feeds.calendar import Shown, as_calendar, one_line
from snoozer.people import quotas
from snoozer.telemetry import security_log
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required
from snoozer.web.context import flash
from snoozer.web.network import network_id

blueprint = Blueprint("feeds", __name__)

# The largest number of entries in a calendar and in a feed.
CALENDAR_SIZE = 1_000
RETURNED_SIZE = 50
REFRESHED_AFTER = timedelta(hours=1)
# A copy is for its reader alone, and is revalidated each time: most responses are 304.
CACHE_CONTROL = "private, no-cache"

ENDPOINTS: dict[Kind, str] = {"calendar": "feeds.calendar", "returned": "feeds.returned"}


@blueprint.get("/feeds/<secret>.ics")
def calendar(secret: str) -> ResponseReturnValue:
    """Snoozed messages, as a calendar with alarms."""
    with context.transaction() as connection:
        feed = open_feed(connection, secret=secret, kind="calendar")
        rows = () if feed is None else queries.waiting(connection, user_email=feed.email, size=CALENDAR_SIZE)
        year = database_time(connection).year
    if feed is None:
        _refuse()

    def write(feed: Feed) -> bytes:
        shown = Shown(texts=feed.shows_subject, sender=False, alarm=True, pages=_pages())
        zones = {row.zone for row in rows}
        return b"".join(as_calendar(rows, zones=zones, year=year, shown=shown, refreshed_after=REFRESHED_AFTER))

    return _respond(feed, rows, str(year), mimetype="text/calendar", write=write)


@blueprint.get("/feeds/<secret>.atom")
def returned(secret: str) -> ResponseReturnValue:
    """Returned messages, newest first."""
    with context.transaction() as connection:
        feed = open_feed(connection, secret=secret, kind="returned")
        rows = () if feed is None else queries.returned(connection, user_email=feed.email, size=RETURNED_SIZE)
    if feed is None:
        _refuse()

    def write(feed: Feed) -> bytes:
        return as_atom(rows, feed=feed, pages=_pages(), language=translations.language_of(feed.locale))

    return _respond(feed, rows, mimetype="application/atom+xml", write=write)


@blueprint.get("/settings/feeds")
@login_required
def index(account: Account) -> ResponseReturnValue:
    """The feeds, without their addresses, and a form for a new one."""
    with context.transaction() as connection:
        return _page(connection, account)


@blueprint.post("/settings/feeds")
@login_required
def make(account: Account) -> ResponseReturnValue:
    """Makes a feed and shows its address once: it is not stored, so no redirect can show it."""
    kind = request.form.get("kind")
    if kind not in ENDPOINTS:
        abort(400)
    name = one_line(request.form.get("name"))[:MAX_NAME_LENGTH]
    shows_subject = request.form.get("subject") == "on"
    with context.transaction() as connection:
        made = create(connection, account_id=account.id, kind=kind, name=name, shows_subject=shows_subject)
        if made is None:
            error = _("You have %(most)s feeds, which is the limit. Revoke one first.", most=MAX_FEEDS)
            return _page(connection, account, error=error), 422
        page = _page(connection, account, made=made, address=_address(kind, made))
    security_log.record("feed_created", account=account.id)
    return page


@blueprint.post("/settings/feeds/<row:id>/revoke")
@login_required
def revoke(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        revoked = feeds.revoke(connection, id=id, account_id=account.id)
    if revoked:
        security_log.record("feed_revoked", account=account.id)
    flash(_("That address no longer works.") if revoked else _("That feed was revoked already."))
    return redirect(url_for(".index"), code=303)


def _respond(
    feed: Feed, rows: Sequence[Found], *more: str, mimetype: str, write: Callable[[Feed], bytes]
) -> ResponseReturnValue:
    """The feed, or 304 if the reader has it: it is rendered only if its data has changed."""
    made_of = repr((__version__, _pages(), feed, more, [tuple(row) for row in rows]))
    tag = hashlib.sha256(made_of.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    response = make_response()
    response.set_etag(tag)
    response.headers["Cache-Control"] = CACHE_CONTROL
    response.content_type = f"{mimetype}; charset=utf-8"
    if not request.if_none_match.contains(tag):
        context.use_locale(feed.locale)
        response.set_data(write(feed))
    return response.make_conditional(request)


def _refuse() -> NoReturn:
    """404, or 429 for a network with many such requests."""
    network = network_id()
    security_log.record("feed_refused", network=network)
    with context.transaction() as connection:
        quotas.spend_failed_token(connection, context.settings().limits, network=network)
    abort(404)


def _pages() -> str:
    return f"{context.settings().base_url}/snoozes"


def _address(kind: Kind, made: NewFeed) -> str:
    return context.settings().base_url + url_for(ENDPOINTS[kind], secret=made.secret)


def _page(
    connection: Connection,
    account: Account,
    *,
    made: NewFeed | None = None,
    address: str | None = None,
    error: str | None = None,
) -> str:
    rows = queries.of_account(connection, account_id=account.id)
    return render_template(
        "notify/feeds/list.html",
        feeds=rows,
        made=made,
        address=address,
        error=error,
        most=MAX_FEEDS,
        max_name_length=MAX_NAME_LENGTH,
    )
