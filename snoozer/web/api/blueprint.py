"""What the routes of all nouns are registered with."""

from flask import Blueprint

from snoozer.web.api import openapi, problems

ROUTE = "api"

blueprint = Blueprint("api", __name__, url_prefix=openapi.PREFIX)
problems.register(blueprint)
