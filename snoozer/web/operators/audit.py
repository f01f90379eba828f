"""The audit log as a page: newest first, by actor, act, snooze and time."""

from collections.abc import Mapping
from datetime import datetime

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import DBAPIError

from snoozer.db.engine import limit_transaction
from snoozer.db.errors import is_transient
from snoozer.db.models import Account
from snoozer.db.queries import audit as queries
from snoozer.db.queries.audit import Filter
from snoozer.timephrase.zones import zone_or_utc
from snoozer.web import context
from snoozer.web.auth import time_formatter, viewer_required
from snoozer.web.forms import one_line, row_number
from snoozer.web.operators import audit_texts
from snoozer.web.text.redaction import without_addresses
from snoozer.web.text.time_format import parse_instant

blueprint = Blueprint("admin_audit", __name__, url_prefix="/admin/audit")

MAX_TEXT_LENGTH = 100
# A slower query is left out, and the page says so.
READ_SECONDS = 2.0
FIELDS = ("actor", "act", "snooze", "since", "until")


@blueprint.get("")
@viewer_required
def show(account: Account) -> ResponseReturnValue:
    """The acts of operators, commands and the clock. An invalid field is marked."""
    given = {name: one_line(request.args.get(name), max_length=MAX_TEXT_LENGTH) or "" for name in FIELDS}
    wanted, problem = _filter(given)
    before, page = _row_id(request.args.get("before")), None
    try:
        with context.transaction() as connection:
            limit_transaction(connection, seconds=READ_SECONDS)
            page = queries.page(connection, wanted, before=before)
    except DBAPIError as error:
        if not is_transient(error):
            raise
    return render_template(
        "operators/audit.html",
        page=page,
        given=given,
        filtered={name: text for name, text in given.items() if text},
        problem=problem,
        acts=audit_texts.ACTS,
        words=audit_texts,
        first_page="before" not in request.args,
        without_addresses=without_addresses,
    ), 422 if problem else 200


def _filter(given: Mapping[str, str]) -> tuple[Filter, str | None]:
    """The filter, and the name of the first invalid field."""
    snooze_id = row_number(given["snooze"]) if given["snooze"] else None
    since, until = _instant(given["since"]), _instant(given["until"])
    bad = [
        name
        for name, value in (("snooze", snooze_id), ("since", since), ("until", until))
        if given[name] and value is None
    ]
    actor = f"operator:{given['actor']}" if given["actor"].isdigit() else given["actor"]
    wanted = Filter(actor=actor or None, act=given["act"] or None, snooze_id=snooze_id, since=since, until=until)
    return wanted, bad[0] if bad else None


def _instant(text: str) -> datetime | None:
    """An instant, or a local time in the reader's zone from a browser's date field."""
    if not text:
        return None
    found = parse_instant(text)
    if found is not None:
        return found
    try:
        return datetime.fromisoformat(text).replace(tzinfo=zone_or_utc(time_formatter().zone))
    except (ValueError, OverflowError):
        return None


def _row_id(text: str | None) -> int | None:
    """404 if it is not an entry's id."""
    return None if text is None else row_number(text) or abort(404)
