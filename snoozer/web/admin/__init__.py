"""Triage: how the queue stands, what became a case, and what operators do about it. For operators only, and masked:
they see that something failed and why, never whose mail it is or what it says."""

from flask import Blueprint

from snoozer.web.admin import actions, routes

blueprint = Blueprint("admin", __name__, url_prefix="/admin")

blueprint.add_url_rule("", view_func=routes.overview, methods=["GET"])
blueprint.add_url_rule("/cases/<row:id>", view_func=routes.show, methods=["GET"])
blueprint.add_url_rule("/cases/preview", view_func=actions.preview, methods=["POST"])
blueprint.add_url_rule("/cases/act", view_func=actions.act, methods=["POST"])
