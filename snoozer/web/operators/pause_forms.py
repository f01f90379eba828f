"""Reads the forms by which operators pause: the scope, and for how long. A person is named by the id of a snooze of
theirs, so that no form or URL contains an address."""

import re
from datetime import timedelta

from flask import request
from sqlalchemy import Connection

from snoozer.db.pauses import CHANNELS, Kind
from snoozer.db.queries import cases
from snoozer.operators.pauses import Scope
from snoozer.web.forms import row_number
from snoozer.web.operators.operation_forms import MAX_DELAY, UNITS, Refused
from snoozer.web.text.redaction import masked

CHANNEL_WORDS = {"mail": "reminders by mail", "push": "notifications on devices", "mailbox": "messages that come back"}

_DOMAIN = re.compile(r"[a-z0-9äöüß]([a-z0-9äöüß.-]{0,251}[a-z0-9äöüß])?")
_PRIORITY = re.compile(r"-?[0-9]{1,4}")


def read_scope(connection: Connection) -> Scope:
    """Returns the scope that the form names. Raises Refused."""
    kind = request.form.get("kind", "")
    match kind:
        case "all":
            return Scope(kind="all")
        case "person":
            return Scope(kind="person", value=_address(connection))
        case "invalid":
            return Scope(kind="invalid", value=_address(connection))
        case "domain":
            domain = request.form.get("domain", "").strip().lower()
            if not _DOMAIN.fullmatch(domain):
                raise Refused("Say a domain, as in example.org.")
            return Scope(kind="domain", value=domain)
        case "channel":
            channel = request.form.get("channel", "")
            if channel not in CHANNELS:
                raise Refused("Pick a channel.")
            return Scope(kind="channel", value=channel)
        case "class":
            priority = request.form.get("priority", "").strip()
            if not _PRIORITY.fullmatch(priority) or not -1000 <= int(priority) <= 1000:
                raise Refused("Say a priority from -1000 to 1000.")
            return Scope(kind="class", value=str(int(priority)))
    raise Refused("Pick what is to be paused.")


def read_span() -> timedelta | None:
    """Returns for how long; None until it is taken back. Raises Refused."""
    amount, unit = request.form.get("span_amount", "").strip(), request.form.get("span_unit", "")
    if not amount:
        return None
    if not (amount.isascii() and amount.isdigit() and len(amount) < 6 and unit in UNITS):
        raise Refused("Say for how long as a number of minutes, hours or days, or nothing.")
    span = timedelta(seconds=int(amount) * UNITS[unit])
    if not timedelta(0) < span <= MAX_DELAY:
        raise Refused("Say a time within a year.")
    return span


def scope_in_words(kind: Kind, value: str) -> str:
    """Returns the scope in words, without any address."""
    match kind:
        case "all":
            return "everything"
        case "person":
            return f"the person {masked(value)}"
        case "invalid":
            return f"mail to {masked(value)}, an address that takes none"
        case "domain":
            return f"people at {value}"
        case "channel":
            return CHANNEL_WORDS[value]
        case "class":
            return f"priority {value}"


def _address(connection: Connection) -> str:
    id = row_number(request.form.get("row", "").strip())
    if id is None:
        raise Refused("Name the person by the number of a snooze or case of theirs.")
    row = cases.one(connection, id=id)
    if row is None:
        raise Refused("There is no such snooze.")
    return str(row.user_email).lower()
