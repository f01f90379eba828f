"""The shape of a person's day: working days and hours, quiet hours, a vacation; shown before it is saved."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.snoozes import chosen_shape
from snoozer.snoozes.chosen_shape import Preview
from snoozer.snoozes.day_shapes import NO_SHAPE
from snoozer.timephrase.date_format import weekday_names
from snoozer.timephrase.day_shape import DayShape
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required, time_formatter
from snoozer.web.context import flash
from snoozer.web.snoozes.day_shape import forms
from snoozer.web.snoozes.day_shape.forms import DayForm
from snoozer.web.snoozes.day_shape.week_chart import next_days

blueprint = Blueprint("day_shape", __name__, url_prefix="/settings/day")


@blueprint.get("")
@login_required
def show(account: Account) -> ResponseReturnValue:
    times = time_formatter()
    with context.transaction() as connection:
        shape = chosen_shape.find(connection, account_id=account.id) or NO_SHAPE
    return _page(forms.open_form(shape, today=times.local(times.now).date()), shape)


@blueprint.post("")
@login_required
def save(account: Account) -> ResponseReturnValue:
    """Shows what the shape would move; saves it once that was seen."""
    times = time_formatter()
    form, shape = forms.read_submission(request.form, today=times.local(times.now).date())
    with context.transaction() as connection:
        old = chosen_shape.find(connection, account_id=account.id) or NO_SHAPE
        if shape is None:
            return _page(form, old), 422
        if request.form.get("act") != "save" or request.form.get("seen") != form.seen:
            preview = chosen_shape.preview(
                connection, user_email=account.email, zone=account.zone, old=old, new=shape, now=times.now
            )
            return _page(form, shape, preview=preview)
        chosen_shape.choose(connection, account_id=account.id, shape=shape)
    flash(_("Saved. What is asleep comes by this from now on."))
    return redirect(url_for(".show"), code=303)


def _page(form: DayForm, shape: DayShape, *, preview: Preview | None = None) -> str:
    return render_template(
        "snoozes/day_shape/show.html",
        form=form,
        week=next_days(shape, time_formatter()),
        preview=preview,
        seen=form.seen,
        weekdays=weekday_names(),
        gathers_over=shape.gathers_over,
    )
