"""What a person sets: their zone, how they write dates, the times they use, light or dark, single letters or none."""

from collections.abc import Sequence

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer import following
from snoozer.domain.times import zones
from snoozer.postgres import people
from snoozer.postgres.models import Account
from snoozer.web import current, presets, toast
from snoozer.web.presets import Line
from snoozer.web.rendering import THEMES
from snoozer.web.visitor import MOST_DAYS, clock, local_path, set_cookie, signed_in, usual

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
    with current.transaction() as connection:
        ahead = following.foresee(connection, user_email=account.email, old=account.zone, new=zone, now=clock().now)
        if choice is None and ahead.is_a_question:
            return render_template("settings/zone.html", ahead=ahead, old=account.zone, new=zone, locale=locale)
        gone = 0 if choice == "keep" else following.follow(connection, ahead, old=account.zone, route=ROUTE)
        people.prefer(connection, id=account.id, zone=zone, locale=locale)
    toast.say(_saved(zone, gone if choice == "follow" else 0))
    return redirect(url_for(".show"), code=303)


@blueprint.post("/presets")
@signed_in
def save_presets(account: Account) -> ResponseReturnValue:
    """The presets as the form has them, when the grammar takes each of them; nothing otherwise."""
    act = request.form.get("act", "")
    with current.transaction() as connection:
        if act == "reset":
            people.clear_presets(connection, account_id=account.id)
            toast.say("The usual times are back.")
            return redirect(url_for(".show", _anchor="presets"), code=303)
        lines = presets.posted(request.form, clock=clock())
        if any(line.refusal for line in lines):
            return _page(account, lines=lines), 422
        if act == "add":
            return _page(account, lines=(*lines, Line(label="", phrase=""))[: presets.MOST], adding=True)
        if not lines:
            return _page(account, lines=(Line(label="", phrase=""),), none_left=True, adding=True), 422
        pairs = presets.pairs_of(lines)
        people.clear_presets(connection, account_id=account.id)
        if pairs != presets.usual_ones(account.locale):
            people.keep_presets(connection, account_id=account.id, presets=pairs)
    toast.say("Saved. The sheet offers these times now.")
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
    toast.say(f"Single letters {'act again' if chosen == 'on' else 'do nothing now'} in this browser.")
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
        lines = presets.lines_of(own or presets.usual_ones(account.locale), clock=clock())
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
        most=presets.MOST,
        longest_label=presets.LONGEST_LABEL,
    )
