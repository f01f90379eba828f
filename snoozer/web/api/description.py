"""The route of the API's description."""

from flask import Response

from snoozer.web.api import openapi, serializers
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.idempotency import respond
from snoozer.web.api.models.document import Document
from snoozer.web.api.models.headers import ReadHeaders
from snoozer.web.api.openapi import NOT_MODIFIED, operation


@blueprint.get("/openapi.json")
@operation("describe", headers=ReadHeaders, returns={200: (Document, "OpenAPI 3.1."), 304: NOT_MODIFIED}, scope=None)
def describe() -> Response:
    """This description"""
    servers = {"servers": [{"url": serializers.absolute(openapi.PREFIX)}]}
    return respond(200, Document(openapi.document() | servers))
