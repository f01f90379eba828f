"""`/api/v1/when`: what a phrase means, before anything is put away."""

from datetime import datetime
from typing import Any

from flask import Response

from snoozer import timephrase
from snoozer.db.statements import database_time
from snoozer.timephrase import zones
from snoozer.web import context
from snoozer.web.api import validation
from snoozer.web.api.auth import caller
from snoozer.web.api.idempotency import answer
from snoozer.web.api.problems import Refused, fields_refused


def read() -> Response:
    """GET: the reading of `phrase`, also of one that waits for a reply, which cannot be snoozed to yet."""
    with context.transaction() as connection:
        account = caller(connection)
        now = database_time(connection)
    asked = validation.of_query({"phrase", "zone", "locale", "now"})
    phrase = asked.get("phrase")
    if phrase is None:
        raise fields_refused({"phrase": "phrase is missing: say a time, such as tomorrow 8am."})
    zone = validation.zone_of(asked.get("zone"), default=account.zone)
    locale = validation.locale_of(asked.get("locale"), default=account.locale)
    given = asked.get("now")
    if given is not None:
        now = _moment(given, zone=zone)
    try:
        return answer(200, timephrase.parse(phrase, now=now, zone=zone, locale=locale).as_json())
    except timephrase.ParseError as refused:
        members: dict[str, Any] = refused.as_json()
        raise Refused(422, refused.code, refused.message, **members) from None


def _moment(now: str, *, zone: str) -> datetime:
    """The instant that `now` names; without an offset it is wall time in the zone."""
    moment = validation.instant_of(now, field="now")
    try:
        return moment if moment.tzinfo else zones.resolve_wall_time(moment, zones.zone_of(zone))[0]
    except OverflowError:
        raise fields_refused({"now": "now lies at the end of the calendar."}) from None
