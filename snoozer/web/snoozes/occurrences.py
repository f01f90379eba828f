"""An owner's acts on the page of a snooze: bring it back now, skip a time, pause, resume, give it an end."""

from collections.abc import Callable
from datetime import datetime

from flask import Blueprint, abort, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.people import quotas
from snoozer.snoozes import acts
from snoozer.snoozes.acts import Result
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.parse import parse_end
from snoozer.timephrase.result import ParseError
from snoozer.timephrase.zones import wall_time
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required, time_formatter
from snoozer.web.context import flash
from snoozer.web.snoozes.page import Typed, act_on, back_to, check_form, flash_done, own, snooze_page
from snoozer.web.text.phrase_text import lower_first, recurrence_text
from snoozer.web.text.time_format import parse_instant

blueprint = Blueprint("occurrences", __name__)

Sentence = Callable[[Result, Found], str]


@blueprint.post("/snoozes/<row:id>/back")
@login_required
def bring_back(account: Account, id: int) -> ResponseReturnValue:
    """Brings the message back now."""
    return _act(account, id, acts.Wake(), _is_back, spends=True)


@blueprint.post("/snoozes/<row:id>/skip")
@login_required
def skip(account: Account, id: int) -> ResponseReturnValue:
    """Skips the time that the page showed."""
    what = acts.Skip(promise=_posted_instant("promise"))
    return _act(account, id, what, lambda result, _row: _("Skipped. It comes %(when)s.", when=_when(result)))


@blueprint.post("/snoozes/<row:id>/pause")
@login_required
def pause(account: Account, id: int) -> ResponseReturnValue:
    return _act(account, id, acts.Pause(), lambda _result, _row: _("Paused. Nothing comes until you resume it."))


@blueprint.post("/snoozes/<row:id>/resume")
@login_required
def resume(account: Account, id: int) -> ResponseReturnValue:
    """Resumes with the next time; if there is none in the future, it returns now."""
    return _act(account, id, acts.Resume(), _is_resumed, spends=True)


@blueprint.post("/snoozes/<row:id>/end")
@login_required
def set_end(account: Account, id: int) -> ResponseReturnValue:
    """Sets the end of a series: a typed day or number of times, or never."""
    times, phrase = time_formatter(), request.form.get("end", "")
    with context.transaction() as connection:
        row = own(connection, account, id=id, changing=True)
        zone = row.zone or account.zone
        try:
            check_form(row)
            until, count = None, None
            if request.form.get("act") != "never":
                first = wall_time(row.promise, zone).date()
                until, count = parse_end(
                    phrase, first=first, now=times.now, zone=zone, locale=account.locale, own=times.own
                )
            result = act_on(connection, account, id, acts.End(until=until, times=count))
        except (ParseError, SnoozeError) as error:
            return snooze_page(connection, account, id=id, end=Typed(text=phrase, error=error))
    left = result.terms.recurrence if result.terms else None
    flash_done(f"{recurrence_text(left, times)}." if left else _("The next time is the last one."), result)
    return back_to(id)


def _act(account: Account, id: int, what: acts.Act, sentence: Sentence, *, spends: bool = False) -> ResponseReturnValue:
    """Performs the act. `spends` if it may send a mail at once: then it counts as a snooze."""
    try:
        with context.transaction() as connection:
            row = own(connection, account, id=id, changing=True)
            if spends:
                quotas.spend_snooze(connection, context.settings().limits, user_email=account.email)
            result = act_on(connection, account, id, what)
    except SnoozeError as error:
        flash(error.message)
        return back_to(id)
    flash_done(sentence(result, row), result)
    return back_to(id)


def _when(result: Result) -> str:
    return time_formatter().inline(result.terms.remind_at) if result.terms else ""


def _is_back(result: Result, row: Found) -> str:
    if result.by_mail:
        return _("Its reminder is on its way to you now.")
    if result.terms is not None and result.terms.outcome:
        return _("It is back in your inbox.") if row.kept_id else _("It is on its way back to your mailbox.")
    again = _when(result)
    if row.kept_id:
        return _("It is back in your inbox, and comes again %(when)s.", when=again)
    return _("It is on its way back to your mailbox, and comes again %(when)s.", when=again)


def _is_resumed(result: Result, row: Found) -> str:
    terms = result.terms
    if terms is not None and terms.outcome == "sent":
        return _("Its reminder had reached you before, so it is over.")
    if result.by_mail or (terms is not None and terms.outcome):
        return _("Resumed: its time had passed.") + " " + _is_back(result, row)
    if terms is not None and terms.recurrence:
        repeats = lower_first(recurrence_text(terms.recurrence, time_formatter()))
        return _("Resumed. Asleep until %(when)s, then %(repeats)s.", when=_when(result), repeats=repeats)
    return _("Resumed. Asleep until %(when)s.", when=_when(result))


def _posted_instant(name: str) -> datetime:
    moment = parse_instant(request.form.get(name))
    if moment is None:
        abort(400)
    return moment
