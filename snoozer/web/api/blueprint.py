"""The blueprint on which the routes of all nouns are registered."""

from flask import Blueprint, Response, current_app, request

from snoozer.web.api import openapi, problems

ROUTE = "api"

blueprint = Blueprint("api", __name__, url_prefix=openapi.PREFIX)
problems.register(blueprint)


@blueprint.after_request
def _announce_deprecation(response: Response) -> Response:
    """Adds Deprecation (RFC 9745) and Sunset (RFC 8594) to every response of a route that `operation` marks as
    deprecated."""
    deprecation = openapi.deprecation_of(current_app.view_functions.get(request.endpoint or ""))
    if deprecation is not None:
        response.headers.update(deprecation.headers)
    return response
