"""What is stored about a person, as files for that person."""

from flask import Blueprint, Response, abort, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import quotas, security_log
from snoozer.db.models import Account
from snoozer.db.queries import personal_data as queries
from snoozer.personal_data.files import FILES
from snoozer.web import context
from snoozer.web.auth import login_required, time_formatter
from snoozer.web.mailbox.files import FILE_POLICY

blueprint = Blueprint("personal_data", __name__, url_prefix="/settings/data")


@blueprint.get("")
@login_required
def show(account: Account) -> ResponseReturnValue:
    """What there is, and the files."""
    with context.transaction() as connection:
        return _page(connection, account)


@blueprint.post("/download")
@login_required
def download(account: Account) -> ResponseReturnValue:
    """One of the files. By POST, because it is counted, and so that no other site's page makes a browser save it."""
    ending = request.form.get("format", "")
    if ending not in FILES:
        abort(400)
    with context.transaction() as connection:
        quotas.spend_export(connection, context.settings().limits, user_email=account.email)
    now = time_formatter().now
    security_log.record("data_exported", account=account.id, format=ending)
    # Pages of rows are read while it is written; the request's own transaction has ended.
    file = FILES[ending]
    response = Response(file.write(context.engine(), account, now), content_type=file.mimetype)
    response.headers.set("Content-Disposition", "attachment", filename=f"snoozer-{now:%Y-%m-%d}.{ending}")
    response.headers["Content-Security-Policy"] = FILE_POLICY
    return response


def _page(connection: Connection, account: Account) -> str:
    counts = queries.counts(connection, user_email=account.email)
    return render_template("personal_data/show.html", counts=counts)
