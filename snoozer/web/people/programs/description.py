"""A page that shows the OpenAPI document, without scripts. Open to everybody, as the document is."""

from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue

from snoozer.web import auth, context
from snoozer.web.api import openapi
from snoozer.web.people.programs import reference

blueprint = Blueprint("api_description", __name__, url_prefix="/docs/api")


@blueprint.get("")
def show() -> ResponseReturnValue:
    """Every operation with its scope, parameters and replies, and every schema."""
    auth.current_account()
    document = openapi.document()
    return render_template(
        "people/programs/description.html",
        about=document["info"]["description"],
        bearer=document["components"]["securitySchemes"]["bearer"]["description"],
        address=context.settings().base_url + openapi.PREFIX,
        file=url_for("api.describe"),
        operations=reference.operations(document),
        schemas=reference.schemas(document),
    )
