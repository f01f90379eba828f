"""What typed words mean, while they are typed. Reads, never writes."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.web.auth import clock, signed_in, usual
from snoozer.web.snoozes.forms import sheet

blueprint = Blueprint("when", __name__)


@blueprint.get("/when/preview")
@signed_in
def preview(_: Account) -> ResponseReturnValue:
    """The reading of `phrase`, as the piece of page that the sheet shows under its field."""
    asked = sheet(clock(), phrase=request.args.get("phrase", ""))
    return render_template("snoozes/reading.html", sheet=asked)


@blueprint.get("/when/offers")
@signed_in
def offers(_: Account) -> ResponseReturnValue:
    """The presets as they stand now, for a sheet on a page that was open for a while."""
    return render_template("snoozes/offers.html", sheet=sheet(clock(), usual=usual()))
