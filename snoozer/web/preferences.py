"""What a person sets: their zone, how they write dates, light or dark."""

from zoneinfo import available_timezones

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.postgres import people
from snoozer.postgres.models import Account
from snoozer.web import current, toast
from snoozer.web.rendering import THEMES
from snoozer.web.visitor import clock, local_path, set_cookie, signed_in

blueprint = Blueprint("preferences", __name__, url_prefix="/settings")

LOCALES = {
    "en_GB": "English (United Kingdom) · 27 November, 14:00",
    "en_US": "English (United States) · November 27, 2:00 pm",
    "en_AU": "English (Australia) · 27 November, 2:00 pm",
    "en_IN": "English (India) · 27 November, 2:00 pm",
    "de_DE": "Deutsch (times may be typed in German) · 27 November, 14:00",
}
THEME_DAYS = 400


@blueprint.get("")
@signed_in
def show(account: Account) -> ResponseReturnValue:
    """The settings as they are."""
    return _page(zone=account.zone, locale=account.locale)


@blueprint.post("")
@signed_in
def save(account: Account) -> ResponseReturnValue:
    """Zone and locale. What is asleep keeps its instants; new words are read in the new zone."""
    typed, locale = request.form.get("zone", "").strip(), request.form.get("locale", "")
    zone = _zone(typed)
    if zone is None:
        wrong = "There is no zone of that name. Zones are named like Europe/Berlin or America/New_York."
        return _page(zone=typed, locale=locale, error=wrong), 422
    if locale not in LOCALES:
        abort(400)
    with current.transaction() as connection:
        people.prefer(connection, id=account.id, zone=zone, locale=locale)
    toast.say(f"Saved. Times are shown in {zone.replace('_', ' ')}; what is asleep comes back when it was promised.")
    return redirect(url_for(".show"), code=303)


@blueprint.post("/theme")
def choose_theme() -> ResponseReturnValue:
    """Light, dark, or as the device says."""
    chosen = request.form.get("theme")
    if chosen not in THEMES:
        abort(400)
    response = make_response(redirect(local_path(request.form.get("here")), code=303))
    set_cookie(response, "theme", chosen, days=THEME_DAYS)
    return response


def _zone(typed: str) -> str | None:
    """The IANA name behind what was typed, however its capitals and spaces are."""
    wanted = typed.replace(" ", "_").casefold()
    return next((zone for zone in available_timezones() if zone.casefold() == wanted), None)


def _page(*, zone: str, locale: str, error: str | None = None) -> str:
    return render_template(
        "settings/show.html",
        zone=zone,
        locale=locale,
        locales=LOCALES,
        zones=sorted(name for name in available_timezones() if "/" in name or name == "UTC"),
        error=error,
        now=clock().now,
    )
