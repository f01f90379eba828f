"""The response to an act on many messages: the list with the result, or the form that asks for a time."""

from collections.abc import Callable
from dataclasses import replace

from flask import render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.people import quotas
from snoozer.queue.limits import MAX_CHOSEN
from snoozer.snoozes import bulk
from snoozer.snoozes.bulk import Done
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import saved_times, time_formatter
from snoozer.web.context import flash
from snoozer.web.forms import back
from snoozer.web.snoozes.bulk.choice import Choice
from snoozer.web.snoozes.forms import SnoozeForm, Submitted, save_phrase, snooze_form
from snoozer.web.text.bulk_text import result_text


def perform(
    account: Account, choice: Choice, prepare: Callable[[], Callable[[Connection], Done]]
) -> ResponseReturnValue:
    """Performs the act once, in one transaction; the list then shows the result, with one Undo for all of it. `prepare`
    is called before the transaction, and only if the act was not done yet; it returns the act."""
    with context.transaction() as connection:
        result = bulk.result_of(connection, account_id=account.id, id=choice.id)
    if result is None:
        work = prepare()
        result = context.retried(
            lambda connection: bulk.once(connection, account_id=account.id, id=choice.id, act=lambda: work(connection))
        )
    undo = url_for("bulk.undo", id=choice.id) if result.done else None
    flash(result_text(result, time_formatter()), undo=undo)
    return back(url_for("snoozes.home"))


def first_ones(done: Done, *, of: int) -> Done:
    """Adds a note if more were chosen than one act may change."""
    return done._replace(summary=replace(done.summary, more=of > MAX_CHOSEN))


def counted(
    connection: Connection, account: Account, act: Callable[[], Done], *, submitted: Submitted | None = None
) -> Done:
    """Performs an act that snoozes or brings back; it is counted for the quotas, and a typed phrase is saved. Raises
    QuotaReached."""
    if submitted is not None:
        save_phrase(connection, account, submitted.typed)
    done = act()
    if done.summary.done:
        quotas.spend_snoozes(connection, context.settings().limits, user_email=account.email, count=done.summary.done)
    return done


def nothing_chosen() -> ResponseReturnValue:
    flash(_("Nothing was done: choose messages first, by the boxes before them."))
    return back(url_for("snoozes.home"))


def time_page(choice: Choice, form: SnoozeForm) -> ResponseReturnValue:
    """The snooze form as a separate page: when it opens, or with the reading to confirm or the error."""
    opens = not ({"phrase", "preset", "at", "suggestion"} & set(request.form))
    shown = snooze_form(time_formatter(), saved_times=saved_times()) if opens else form
    count = None if choice.everything else len(set(choice.rows))
    page = render_template("snoozes/bulk/time.html", form=shown, choice=choice, count=count, action=request.path)
    return page, 200 if opens else shown.status
