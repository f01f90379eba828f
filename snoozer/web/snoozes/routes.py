"""The list of snoozes, one snooze, its owner's acts, and the preview of a typed phrase."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.models.state import MAX_BACKOFF
from snoozer.db.queries import Cursor, Found, mailboxes
from snoozer.db.queries import snoozes as queries
from snoozer.snoozes import acts, input
from snoozer.snoozes.acts import By
from snoozer.snoozes.input import SnoozeError, clean_note
from snoozer.snoozes.recurrence import is_someday
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required, saved_times, time_formatter
from snoozer.web.context import ROUTE, flash
from snoozer.web.forms import one_line, page_cursor, row_number
from snoozer.web.snoozes import forms, search
from snoozer.web.snoozes.bulk.acts import of_asleep
from snoozer.web.snoozes.forms import SnoozeForm, snooze_form
from snoozer.web.snoozes.page import Typed, act_on, back_to, check_form, flash_done, late_text, own, snooze_page
from snoozer.web.snoozes.search import SearchError
from snoozer.web.text.arrival_text import arrival_of
from snoozer.web.text.history import DayGroup, group_by_day
from snoozer.web.text.phrase_text import asleep_until_text
from snoozer.web.text.status import LATE_AFTER
from snoozer.web.text.time_format import TimeFormatter

blueprint = Blueprint("snoozes", __name__)

RETURNED_FOR = timedelta(days=7)
# The longest backoff is some hours; only the hold of an uncertain send lasts longer.


@blueprint.get("/")
@login_required
def home(account: Account) -> ResponseReturnValue:
    """Everything that has not returned yet; the first page also has recent returns and failures. With `q`, the results
    of a search."""
    after, times = page_cursor("after"), time_formatter()
    if typed := one_line(request.args.get("q"), max_length=search.MAX_LENGTH):
        return _found(account, typed, after=after, times=times)
    email, since = account.email, times.now - RETURNED_FOR
    max_backoff = MAX_BACKOFF + timedelta(seconds=context.settings().uncertain_hold)
    with context.transaction() as connection:
        page = queries.asleep(connection, user_email=email, after=after)
        values = {
            "page": page,
            "sample_mailbox": _sample_mailbox(connection, account),
            "total": queries.count(connection, user_email=email),
            "due": queries.count_due(connection, user_email=email, now=times.now, max_backoff=max_backoff),
            "stuck": [] if after else queries.stuck(connection, user_email=email),
            "came_back": [] if after else queries.came_back(connection, user_email=email, since=since),
            "trouble": queries.trouble(
                connection, user_email=email, now=times.now, tolerance=2 * LATE_AFTER, max_backoff=max_backoff
            ),
        }
    live = (row for row in page.rows if row.state != "paused" and not is_someday(row))
    ahead = (at for row in live if (at := arrival_of(row, times).at) > times.now)
    return render_template(
        "snoozes/list.html",
        form=snooze_form(times, saved_times=saved_times()),
        bulk_acts=of_asleep(),
        first_page=after is None,
        upcoming=None if after else next(ahead, None),
        **values,
    )


def _found(account: Account, typed: str, *, after: Cursor | None, times: TimeFormatter) -> ResponseReturnValue:
    """The page of a search; 422 if it cannot be parsed."""
    values: dict[str, Any] = {
        "typed": typed,
        "examples": search.EXAMPLES,
        "form": snooze_form(times, saved_times=saved_times()),
        "bulk_acts": of_asleep(),
    }
    try:
        filters = search.parse(typed, times=times)
    except SearchError as error:
        return render_template("snoozes/found.html", problem=error.message, **values), 422
    with context.transaction() as connection:
        page = queries.found(connection, user_email=account.email, filters=filters, now=times.now, after=after)
        total = queries.count_found(connection, user_email=account.email, filters=filters, now=times.now)
    groups = [DayGroup(name=_("Stuck"), date="", rows=[*page.rows])] if page.rows and filters.state == "stuck" else None
    return render_template(
        "snoozes/found.html", total=total, page=page, groups=groups or group_by_day(page.rows, times), **values
    )


def _sample_mailbox(connection: Connection, account: Account) -> Found | None:
    """The mailbox that `snoozer up` connected."""
    port = context.settings().sample_imap_port
    return mailboxes.on_this_machine(connection, account_id=account.id, port=port) if port else None


@blueprint.get("/snoozes/<row:id>")
@login_required
def show(account: Account, id: int) -> ResponseReturnValue:
    """One snooze, its times, and its history."""
    with context.transaction() as connection:
        return snooze_page(connection, account, id=id)


@blueprint.post("/snoozes/<row:id>/time")
@login_required
def set_time(account: Account, id: int) -> ResponseReturnValue:
    """Sets another time for a live snooze; if it is over, creates a new snooze of its message."""
    submitted = forms.read_submission(request.form, times=time_formatter(), saved_times=saved_times())
    with context.transaction() as connection:
        row = own(connection, account, id=id, changing=True)
        try:
            check_form(row)
        except SnoozeError as error:
            return snooze_page(connection, account, id=id, form=forms.refused(request.form, row, error))
        if isinstance(submitted, SnoozeForm):
            return snooze_page(connection, account, id=id, form=submitted)
        if row.outcome is not None:
            message = input.Message(message_id=row.message_id, subject=row.subject, sender_email=row.sender_email)
            result = forms.save_submission(connection, account, message, submitted)
        else:
            note = {} if "note" in request.form else {"note": row.note}
            time = replace(submitted.reminder_time, **note)
            try:
                what = acts.Move(time=time, every=submitted.every, reading=submitted.reading)
                result = act_on(connection, account, id, what)
            except SnoozeError as error:
                return snooze_page(connection, account, id=id, form=forms.refused(request.form, row, error))
            forms.save_phrase(connection, account, submitted.typed)
            forms.spend_snooze(connection, account)
    saved = submitted.reminder_time
    if result.terms is not None:
        saved = replace(saved, remind_at=result.terms.remind_at, recurrence=result.terms.recurrence)
    flash_done(asleep_until_text(saved, time_formatter()), result)
    return back_to(result.id)


@blueprint.post("/snoozes/<row:id>/note")
@login_required
def set_note(account: Account, id: int) -> ResponseReturnValue:
    """Changes the note; the time stays as it is."""
    note = request.form.get("note", "")
    with context.transaction() as connection:
        row = own(connection, account, id=id, changing=True)
        try:
            check_form(row)
            clean_note(note)
        except SnoozeError as error:
            return snooze_page(connection, account, id=id, note=Typed(text=note, error=error))
        (result,) = acts.act(connection, [id], acts.Annotate(note=note), By(account.email, ROUTE))
    if result.left is not None:
        flash(_("It is over already, so the note was not changed."))
    else:
        flash_done(_("The note is saved."), result)
    return back_to(id)


@blueprint.post("/snoozes/<row:id>/cancel")
@login_required
def cancel(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        row = own(connection, account, id=id)
        (result,) = acts.act(connection, [id], acts.Cancel(), By(account.email, ROUTE))
    if result.left is not None:
        flash(_("It was over already, so there was nothing to cancel."))
        return back_to(id)
    outcome = _("The message is back in your inbox.") if row.kept_id else _("No reminder will be sent.")
    flash_done(_("Cancelled.") + ("" if result.may_arrive else f" {outcome}"), result)
    return back_to(id)


@blueprint.post("/snoozes/<row:id>/undo")
@login_required
def undo(account: Account, id: int) -> ResponseReturnValue:
    """Undoes the act that `event` records, or the newest one, unless the snooze was changed since."""
    event = request.form.get("event", "")
    if event and (not event.isdecimal() or len(event) > 18):
        abort(400)
    with context.transaction() as connection:
        own(connection, account, id=id)
        done = [int(event)] if event else None
        (result,) = acts.undo(connection, [id], By(account.email, ROUTE), done=done)
    flash(result.left.message if result.left is not None else _undone(result) + late_text(result))
    return back_to(id)


@blueprint.get("/when/preview")
@login_required
def preview(account: Account) -> ResponseReturnValue:
    """The fragment under the form's field: the meaning of `phrase`; with `every`, for each occurrence of that snooze.
    Requested by the script while a person types."""
    form = snooze_form(time_formatter(), phrase=request.args.get("phrase", ""))
    if id := row_number(request.args.get("every", "")):
        with context.transaction() as connection:
            form = forms.with_series(replace(form, every=True), own(connection, account, id=id), time_formatter())
    return render_template("snoozes/reading.html", form=form)


@blueprint.get("/when/offers")
@login_required
def presets(_: Account) -> ResponseReturnValue:
    """The buttons of the presets with their current times, for a form on a page that was open for a while."""
    return render_template("snoozes/presets.html", form=snooze_form(time_formatter(), saved_times=saved_times()))


def _undone(result: acts.Result) -> str:
    before, terms = result.before, result.terms
    if before is None or terms is None:
        return ""
    when = time_formatter().inline(terms.remind_at)
    if terms.outcome is not None:
        return _("Cancelled.")
    if terms.paused:
        return _("Paused, as before.")
    if before.note != terms.note and before.remind_at == terms.remind_at:
        return _("The note is as before.")
    if before.outcome is not None:
        return _("Asleep again until %(when)s.", when=when)
    return _("Asleep until %(when)s, as before.", when=when)
