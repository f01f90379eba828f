"""A person's stored data, as files to download, and the import of such files."""

from typing import IO

from flask import Blueprint, Response, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.queries import imports
from snoozer.db.queries import personal_data as queries
from snoozer.people import quotas
from snoozer.people.personal_data import import_file, importing, restoring
from snoozer.people.personal_data.files import FILES
from snoozer.people.personal_data.import_file import NotAnExport
from snoozer.telemetry import security_log
from snoozer.translations import gettext as _
from snoozer.translations import ngettext
from snoozer.web import context
from snoozer.web.auth import login_required, time_formatter
from snoozer.web.context import flash
from snoozer.web.mailboxes.mail.untrusted_content import FILE_POLICY

blueprint = Blueprint("personal_data", __name__, url_prefix="/settings/data")


@blueprint.get("")
@login_required
def show(account: Account) -> ResponseReturnValue:
    """A summary of the data, and the files."""
    with context.transaction() as connection:
        return _page(connection, account)


@blueprint.post("/download")
@login_required
def download(account: Account) -> ResponseReturnValue:
    """Downloads a file. By POST, because it is counted, and so that no other site's page can make a browser save it."""
    ending = request.form.get("format", "")
    if ending not in FILES:
        abort(400)
    with context.transaction() as connection:
        quotas.spend_export(connection, context.settings().limits, user_email=account.email)
    now = time_formatter().now
    security_log.record("data_exported", account=account.id, format=ending)
    # Pages of rows are read while the file is written; the request's own transaction has ended.
    file = FILES[ending]
    response = Response(file.write(context.engine(), account, now), content_type=file.mimetype)
    response.headers.set("Content-Disposition", "attachment", filename=f"snoozer-{now:%Y-%m-%d}.{ending}")
    response.headers["Content-Security-Policy"] = FILE_POLICY
    return response


@blueprint.post("/import")
@login_required
def read_file(account: Account) -> ResponseReturnValue:
    """Parses a file and keeps its contents for a preview; the import is confirmed later."""
    file = request.files.get("file")
    if file is None or not file.filename:
        with context.transaction() as connection:
            return _page(connection, account, error=_("Choose a file first: the JSON, CSV or ZIP of an export.")), 422
    settings, now = context.settings(), time_formatter().now
    # An invalid file also costs the time to parse it.
    with context.transaction() as connection:
        quotas.spend_export(connection, settings.limits, user_email=account.email)
    start = file.stream.read(len(restoring.SIGNATURE))
    file.stream.seek(0)
    if start == restoring.SIGNATURE:
        return _restore(account, file.stream)
    try:
        reading = import_file.read(file.stream, now=now, keep_months=settings.keep_months)
    except NotAnExport as error:
        with context.transaction() as connection:
            return _page(connection, account, error=f"{error} " + _("Nothing was saved.")), 422
    with context.transaction() as connection:
        importing.stage(connection, account=account, reading=reading)
    return redirect(url_for(".preview"), code=303)


@blueprint.get("/import")
@login_required
def preview(account: Account) -> ResponseReturnValue:
    """Previews the import."""
    with context.transaction() as connection:
        summary = imports.summary(connection, account_id=account.id)
        if summary is None:
            return redirect(url_for(".show", _anchor="import"), code=303)
        lists = {name: imports.rows(connection, account_id=account.id, verdict=name) for name in ("changed", "refused")}
    return render_template("people/personal_data/import.html", summary=summary, lists=lists)


@blueprint.post("/import/confirm")
@login_required
def confirm(account: Account) -> ResponseReturnValue:
    """Saves new snoozes. Snoozes whose time has passed return now, or become history, as chosen."""
    past = request.form.get("past", "now")
    if past not in {"now", "history"}:
        abort(400)
    with context.transaction() as connection:
        limits = context.settings().limits
        done = importing.confirm(connection, account=account, limits=limits, with_past=past == "now")
    if done is None:
        flash(_("That file is forgotten already. Nothing was changed."))
        return redirect(url_for(".show", _anchor="import"), code=303)
    security_log.record("data_imported", account=account.id, snoozes=done.waiting + done.finished)
    words = ngettext("1 snooze comes back here now.", "%(num)s snoozes come back here now.", done.waiting)
    history = ngettext("1 is in your history.", "%(num)s are in your history.", done.finished)
    flash(f"{words} {history}")
    return redirect(url_for(".show"), code=303)


@blueprint.post("/import/discard")
@login_required
def discard(account: Account) -> ResponseReturnValue:
    """Discards the parsed file."""
    with context.transaction() as connection:
        importing.discard(connection, account=account)
    flash(_("The file is forgotten. Nothing was changed."))
    return redirect(url_for(".show", _anchor="import"), code=303)


def _restore(account: Account, file: IO[bytes]) -> ResponseReturnValue:
    """Stores the messages of a ZIP. There is no preview: a kept message has no effects."""
    settings = context.settings()
    try:
        with context.transaction() as connection:
            done = restoring.restore(
                connection, file, account=account, limits=settings.limits, largest_message=settings.largest_message
            )
    except NotAnExport as error:
        with context.transaction() as connection:
            return _page(connection, account, error=f"{error} " + _("Nothing was saved.")), 422
    security_log.record("data_imported", account=account.id, messages=done.new)
    words = ngettext("1 message is kept here now.", "%(num)s messages are kept here now.", done.new)
    known = ngettext("1 was here already.", "%(num)s were here already.", done.known) if done.known else ""
    left = ngettext("1 file is no message.", "%(num)s files are no messages.", done.refused) if done.refused else ""
    flash(" ".join(filter(None, (words, known, left))))
    return redirect(url_for(".show"), code=303)


def _page(connection: Connection, account: Account, *, error: str | None = None) -> str:
    counts = queries.counts(connection, user_email=account.email)
    pending = imports.summary(connection, account_id=account.id) is not None
    return render_template("people/personal_data/show.html", counts=counts, error=error, pending=pending)
