"""The API: every route under /api/v1 in one table. Bearer token, JSON, RFC 9457 problem details for every refusal."""

from flask import Blueprint

from snoozer.web.api import openapi, problems, snoozes, when
from snoozer.web.api.problems import problem_of

__all__ = ["blueprint", "problem_of"]

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")

blueprint.add_url_rule("/snoozes", view_func=snoozes.create, methods=["POST"])
blueprint.add_url_rule("/snoozes", view_func=snoozes.browse, methods=["GET"])
blueprint.add_url_rule("/snoozes/<row:id>", view_func=snoozes.show, methods=["GET"])
blueprint.add_url_rule("/snoozes/<row:id>", view_func=snoozes.change, methods=["PATCH"])
blueprint.add_url_rule("/snoozes/<row:id>", view_func=snoozes.cancel, methods=["DELETE"])
blueprint.add_url_rule("/when", view_func=when.read, methods=["GET"])
blueprint.add_url_rule("/openapi.json", view_func=openapi.describe, methods=["GET"])

problems.guard(blueprint)
