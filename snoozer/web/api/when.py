"""The route that parses a phrase."""

from flask import Response

from snoozer.db.scopes import Scope
from snoozer.db.statements import database_time
from snoozer.snoozes import chosen_shape
from snoozer.timephrase import zones
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError
from snoozer.web.api.auth import caller
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.idempotency import respond
from snoozer.web.api.models.headers import ReadHeaders
from snoozer.web.api.models.when import Reading, WhenQuery
from snoozer.web.api.openapi import NOT_MODIFIED, operation
from snoozer.web.api.problems import Refused, invalid_fields
from snoozer.web.api.validation import query_of


@blueprint.get("/when")
@operation(
    "readPhrase",
    scope=Scope.SNOOZES_READ,
    query=WhenQuery,
    headers=ReadHeaders,
    returns={
        200: (Reading, "The reading. A phrase that waits for a reply alone is read too, but not snoozed to."),
        304: NOT_MODIFIED,
    },
    refuses=(422,),
)
def read() -> Response:
    """The meaning of a phrase"""
    with caller() as (connection, account):
        now, shape = database_time(connection), chosen_shape.days_for_phrases(connection, account_id=account.id)()
    query = query_of(WhenQuery)
    zone = query.zone or account.zone
    try:
        if query.now is not None:
            now = query.now if query.now.tzinfo else zones.resolve_wall_time(query.now, zones.zone_of(zone))[0]
    except OverflowError:
        raise invalid_fields({"now": "now lies at the end of the calendar."}) from None
    try:
        parsed = parse(query.phrase, now=now, zone=zone, locale=query.locale or account.locale, own=lambda: shape)
    except ParseError as error:
        raise Refused(422, error.code, error.message, **error.as_json()) from None
    return respond(200, Reading.model_validate(parsed.as_json()))
