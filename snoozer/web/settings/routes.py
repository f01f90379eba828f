"""What a person sets: their zone, how they write dates, the times they use, light or dark, single letters or none."""

from collections.abc import Sequence

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer import zone_change
from snoozer.db import accounts
from snoozer.db.models import Account
from snoozer.timephrase import zones
from snoozer.web import context, flash
from snoozer.web.auth import MOST_DAYS, clock, local_path, set_cookie, signed_in, usual
from snoozer.web.jinja import THEMES
from snoozer.web.settings import forms
from snoozer.web.settings.forms import Line

blueprint = Blueprint("preferences", __name__, url_prefix="/settings")

LOCALES = {
    "en_GB": "English (United Kingdom) · 27 November, 14:00",
    "en_US": "English (United States) · November 27, 2:00 pm",
    "en_AU": "English (Australia) · 27 November, 2:00 pm",
    "en_IN": "English (India) · 27 November, 2:00 pm",
    "de_DE": "Deutsch (times may be typed in German) · 27 November, 14:00",
}
ROUTE = "web"


@blueprint.get("")
@signed_in
def show(account: Account) -> ResponseReturnValue:
    """The settings as they are."""
    return _page(account)


@blueprint.post("")
@signed_in
def save(account: Account) -> ResponseReturnValue:
    """Zone and locale. With another zone, times on the clock keep their instants or go along; that is asked once."""
    typed, locale = request.form.get("zone", "").strip(), request.form.get("locale", "")
    zone, choice = _zone(typed), request.form.get("moving")
    if zone is None:
        wrong = "There is no zone of that name. Zones are named like Europe/Berlin or America/New_York."
        return _page(account, zone=typed, locale=locale, error=wrong), 422
    if locale not in LOCALES or choice not in {None, "keep", "follow"}:
        abort(400)
    with context.transaction() as connection:
        ahead = zone_change.preview(connection, user_email=account.email, old=account.zone, new=zone, now=clock().now)
        if choice is None and ahead.needs_confirmation:
            return render_template("settings/zone.html", ahead=ahead, old=account.zone, new=zone, locale=locale)
        gone = 0 if choice == "keep" else zone_change.apply(connection, ahead, old=account.zone, route=ROUTE)
        accounts.set_preferences(connection, id=account.id, zone=zone, locale=locale)
    flash.say(_saved(zone, gone if choice == "follow" else 0))
    return redirect(url_for(".show"), code=303)


@blueprint.post("/presets")
@signed_in
def save_presets(account: Account) -> ResponseReturnValue:
    """The presets as the form has them, when the grammar takes each of them; nothing otherwise."""
    act = request.form.get("act", "")
    with context.transaction() as connection:
        if act == "reset":
            accounts.clear_presets(connection, account_id=account.id)
            flash.say("The usual times are back.")
            return redirect(url_for(".show", _anchor="presets"), code=303)
        lines = forms.posted(request.form, clock=clock())
        if any(line.refusal for line in lines):
            return _page(account, lines=lines), 422
        if act == "add":
            return _page(account, lines=(*lines, Line(label="", phrase=""))[: forms.MOST], adding=True)
        if not lines:
            return _page(account, lines=(Line(label="", phrase=""),), none_left=True, adding=True), 422
        pairs = forms.pairs_of(lines)
        accounts.clear_presets(connection, account_id=account.id)
        if pairs != forms.usual_ones(account.locale):
            accounts.save_presets(connection, account_id=account.id, presets=pairs)
    flash.say("Saved. The sheet offers these times now.")
    return redirect(url_for(".show", _anchor="presets"), code=303)


@blueprint.post("/theme")
def choose_theme() -> ResponseReturnValue:
    """Light, dark, or as the device says."""
    chosen = request.form.get("theme")
    if chosen not in THEMES:
        abort(400)
    response = make_response(redirect(local_path(request.form.get("here")), code=303))
    set_cookie(response, "theme", chosen, days=MOST_DAYS)
    return response


@blueprint.post("/keys")
def choose_keys() -> ResponseReturnValue:
    """Whether single letters act, in this browser."""
    chosen = request.form.get("keys")
    if chosen not in {"on", "off"}:
        abort(400)
    flash.say(f"Single letters {'act again' if chosen == 'on' else 'do nothing now'} in this browser.")
    response = make_response(redirect(url_for(".show"), code=303))
    set_cookie(response, "keys", chosen, days=MOST_DAYS)
    return response


def _zone(typed: str) -> str | None:
    """The IANA name behind what was typed, however its capitals and spaces are."""
    return zones.canonical(typed.replace(" ", "_"))


def _saved(zone: str, gone: int) -> str:
    shown = f"Saved. Times are shown in {zone.replace('_', ' ')}"
    if not gone:
        return f"{shown}; what is asleep comes back when it was promised."
    return f"{shown}, and {gone} {'snooze keeps its' if gone == 1 else 'snoozes keep their'} hour there."


def _page(
    account: Account,
    *,
    zone: str | None = None,
    locale: str | None = None,
    error: str | None = None,
    lines: Sequence[Line] | None = None,
    adding: bool = False,
    none_left: bool = False,
) -> str:
    own = usual().presets
    if lines is None:
        lines = forms.lines_of(own or forms.usual_ones(account.locale), clock=clock())
    return render_template(
        "settings/show.html",
        zone=account.zone if zone is None else zone,
        locale=account.locale if locale is None else locale,
        locales=LOCALES,
        zones=sorted(name for name in zones.NAMES.values() if "/" in name or name == "UTC"),
        error=error,
        now=clock().now,
        lines=lines,
        own=own is not None,
        adding=adding,
        none_left=none_left,
        most=forms.MOST,
        longest_label=forms.LONGEST_LABEL,
    )
