"""What its owner does on the page of a snooze: bring it back now, skip a time, pause, resume, give it an end."""

from collections.abc import Callable
from datetime import datetime

from flask import Blueprint, abort, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import occurrences, quotas, timephrase
from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.occurrences import Change
from snoozer.snoozing import SnoozeError
from snoozer.timephrase.zones import wall_time
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required, time_formatter
from snoozer.web.context import ROUTE, flash
from snoozer.web.snoozes.page import EndForm, back_to, own, snooze_page
from snoozer.web.text.phrase_text import lower_first, recurrence_text
from snoozer.web.text.time_format import parse_instant

blueprint = Blueprint("occurrences", __name__)

Act = Callable[[Connection, Found], Change]
Sentence = Callable[[Change, Found], str]


@blueprint.post("/snoozes/<row:id>/back")
@login_required
def bring_back(account: Account, id: int) -> ResponseReturnValue:
    """The message comes back now."""
    return _act(account, id, _do(occurrences.bring_back), _is_back, spends=True)


@blueprint.post("/snoozes/<row:id>/skip")
@login_required
def skip(account: Account, id: int) -> ResponseReturnValue:
    """Leaves out the time that the page showed."""
    promise = _posted_instant("promise")
    return _act(
        account,
        id,
        lambda connection, row: occurrences.skip(
            connection, id=row.id, user_email=row.user_email, promise=promise, route=ROUTE
        ),
        lambda change, row: _("Skipped. It comes %(when)s.", when=time_formatter().inline(change.promise)),
    )


@blueprint.post("/snoozes/<row:id>/pause")
@login_required
def pause(account: Account, id: int) -> ResponseReturnValue:
    return _act(
        account, id, _do(occurrences.pause), lambda change, row: _("Paused. Nothing comes until you resume it.")
    )


@blueprint.post("/snoozes/<row:id>/resume")
@login_required
def resume(account: Account, id: int) -> ResponseReturnValue:
    """Goes on with the next time; without one that is still to come it is back now."""
    return _act(account, id, _do(occurrences.resume), _is_resumed, spends=True)


@blueprint.post("/snoozes/<row:id>/end")
@login_required
def set_end(account: Account, id: int) -> ResponseReturnValue:
    """When what repeats ends: a typed day or number of times, or never."""
    times, phrase = time_formatter(), request.form.get("end", "")
    with context.transaction() as connection:
        row = own(connection, account, id=id, changing=True)
        zone = row.zone or account.zone
        try:
            until, count = None, None
            if request.form.get("act") != "never":
                first = wall_time(row.promise, zone).date()
                until, count = timephrase.parse_end(
                    phrase, first=first, now=times.now, zone=zone, locale=account.locale
                )
            change = occurrences.set_end(
                connection, id=id, user_email=account.email, until=until, times=count, route=ROUTE
            )
        except (timephrase.ParseError, SnoozeError) as error:
            end = EndForm(phrase=phrase, error=error.message, suggestions=error.suggestions)
            return snooze_page(connection, account, id=id, end=end)
    text = f"{recurrence_text(change.recurrence, times)}." if change.recurrence else _("The next time is the last one.")
    flash(text, undo=url_for(".undo", id=id), event=str(change.event))
    return back_to(id)


@blueprint.post("/snoozes/<row:id>/revert")
@login_required
def undo(account: Account, id: int) -> ResponseReturnValue:
    """Undoes what an event records, unless the snooze was changed since."""
    event = request.form.get("event", "")
    if not event.isdecimal() or len(event) > 18:
        abort(400)
    try:
        with context.transaction() as connection:
            own(connection, account, id=id)
            occurrences.undo(connection, id=id, user_email=account.email, event=int(event), route=ROUTE)
            row = own(connection, account, id=id)
    except SnoozeError as error:
        flash(error.message)
        return back_to(id)
    is_paused = row.inactive and row.outcome is None
    flash(
        _("Paused, as before.")
        if is_paused
        else _("Asleep until %(when)s, as before.", when=time_formatter().inline(row.promise))
    )
    return back_to(id)


def _do(act: Callable[..., Change]) -> Act:
    return lambda connection, row: act(connection, id=row.id, user_email=row.user_email, route=ROUTE)


def _act(account: Account, id: int, act: Act, sentence: Sentence, *, spends: bool = False) -> ResponseReturnValue:
    """Does it. `spends` where it may be a mail at once: it counts as a snooze then."""
    try:
        with context.transaction() as connection:
            row = own(connection, account, id=id, changing=True)
            if spends:
                quotas.spend_snooze(connection, context.settings().limits, user_email=account.email)
            change = act(connection, row)
    except SnoozeError as error:
        flash(error.message)
        return back_to(id)
    flash(sentence(change, row), undo=url_for(".undo", id=id), event=str(change.event))
    return back_to(id)


def _is_back(change: Change, row: Found) -> str:
    if change.by_mail:
        return _("Its reminder is on its way to you now.")
    if change.outcome:
        return _("It is back in your inbox.") if row.kept_id else _("It is on its way back to your mailbox.")
    again = time_formatter().inline(change.promise)
    if row.kept_id:
        return _("It is back in your inbox, and comes again %(when)s.", when=again)
    return _("It is on its way back to your mailbox, and comes again %(when)s.", when=again)


def _is_resumed(change: Change, row: Found) -> str:
    if change.outcome or change.by_mail:
        return _("Resumed: its time had passed.") + " " + _is_back(change, row)
    times = time_formatter()
    when = times.inline(change.promise)
    if change.recurrence:
        repeats = lower_first(recurrence_text(change.recurrence, times))
        return _("Resumed. Asleep until %(when)s, then %(repeats)s.", when=when, repeats=repeats)
    return _("Resumed. Asleep until %(when)s.", when=when)


def _posted_instant(name: str) -> datetime:
    moment = parse_instant(request.form.get(name))
    if moment is None:
        abort(400)
    return moment
