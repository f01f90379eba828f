"""A person's settings: zone and locale, presets, colours, keyboard shortcuts, and active sessions."""

from collections.abc import Sequence

from flask import Blueprint, abort, make_response, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db import accounts
from snoozer.db.models import Account
from snoozer.db.queries import pauses as queries
from snoozer.notify.services import SERVICES
from snoozer.operators import pauses
from snoozer.people import accounts as sessions
from snoozer.people import addresses
from snoozer.snoozes import day_shapes, zone_change
from snoozer.snoozes.input import clean_phrase
from snoozer.telemetry import security_log
from snoozer.timephrase import zone_search
from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.zone_search import Place
from snoozer.timephrase.zones import zone_in_words, zone_of
from snoozer.translations import N_, ngettext
from snoozer.translations import gettext as _
from snoozer.web import context, language
from snoozer.web.auth import (
    MAX_COOKIE_DAYS,
    delete_cookie,
    get_cookie,
    local_path,
    login_required,
    saved_times,
    set_cookie,
    time_formatter,
    trust_browser,
)
from snoozer.web.context import ROUTE, flash
from snoozer.web.jinja import THEMES
from snoozer.web.language import LOCALES
from snoozer.web.people.settings import presets as preset_form

blueprint = Blueprint("settings", __name__, url_prefix="/settings")

NO_ZONE = N_(
    "There is no zone, city or country of that name. Type a large city near you, or a name such as Europe/Berlin."
)
NO_TOKEN_WORKS = N_("No API token works any more.")
NO_FEED_WORKS = N_("No address of a feed works any more.")
MAIL_PHRASES = ("tomorrow8am", "3d", "monday9am", "next-week", "every-monday")
MANY_ZONES = N_("That may be more than one zone. Choose the one whose clock is yours:")


@blueprint.post("/mail-again")
@login_required
def take_mail(account: Account) -> ResponseReturnValue:
    """Marks the person's address as working again, and brings back the messages that waited for it."""
    with context.transaction() as connection:
        id = queries.invalid(connection, email=account.email)
        if id is not None:
            reason = "Its person says that it takes mail again"
            pauses.resume(connection, id=id, actor=f"user:{account.id}", reason=reason)
    flash(_("Reminders are sent to your address again."))
    return redirect(url_for(".show"), code=303)


@blueprint.get("")
@login_required
def show(account: Account) -> ResponseReturnValue:
    with context.transaction() as connection:
        return _page(connection, account)


@blueprint.post("")
@login_required
def save(account: Account) -> ResponseReturnValue:
    """Zone and locale. With another zone, asks once whether wall-clock snoozes keep their instants or their hours."""
    typed, locale = (request.form.get("place") or request.form.get("zone", "")).strip(), request.form.get("locale", "")
    year, choice = time_formatter().now.year, request.form.get("moving")
    zone = typed if typed == account.zone else zone_search.resolve(typed, year=year)
    if zone is None:
        places = zone_search.search(typed, year=year)
        error = _(MANY_ZONES if places else NO_ZONE)
        with context.transaction() as connection:
            return _page(connection, account, zone=typed, locale=locale, error=error, places=places), 422
    if locale not in LOCALES or choice not in {None, "keep", "follow"}:
        abort(400)
    with context.transaction() as connection:
        now = time_formatter().now
        ahead = zone_change.preview(connection, user_email=account.email, old=account.zone, new=zone, now=now)
        if choice is None and ahead.needs_confirmation:
            return render_template(
                "people/settings/zone.html",
                ahead=ahead,
                old=account.zone,
                new=zone,
                locale=locale,
                morning=WorkingHours().morning,
            )
        moved = 0 if choice == "keep" else zone_change.apply(connection, ahead, old=account.zone, route=ROUTE)
        accounts.set_preferences(connection, id=account.id, zone=zone, locale=locale)
        day_shapes.refresh(connection, account_id=account.id)
    # The message stands on the next page, which is in the new language.
    context.use_locale(locale)
    flash(_saved_text(zone, moved if choice == "follow" else 0))
    return redirect(url_for(".show"), code=303)


@blueprint.post("/presets")
@login_required
def save_presets(account: Account) -> ResponseReturnValue:
    """Saves the presets of the form if all of them parse; otherwise none."""
    act = request.form.get("act", "")
    with context.transaction() as connection:
        if act == "reset":
            accounts.clear_presets(connection, account_id=account.id)
            flash(_("The usual times are back."))
            return redirect(url_for(".show", _anchor="presets"), code=303)
        rows = preset_form.read_submission(request.form, times=time_formatter())
        if any(row.error for row in rows):
            return _page(connection, account, presets=rows), 422
        if act == "add":
            return _page(
                connection, account, presets=(*rows, preset_form.PresetRow())[: preset_form.MAX_PRESETS], adding=True
            )
        if not rows:
            return _page(connection, account, presets=(preset_form.PresetRow(),), none_left=True, adding=True), 422
        pairs = tuple((row.label, clean_phrase(row.phrase)) for row in rows)
        accounts.clear_presets(connection, account_id=account.id)
        if pairs != preset_form.default_presets(account.locale):
            accounts.save_presets(connection, account_id=account.id, presets=pairs)
    flash(_("Saved. The sheet offers these times now."))
    return redirect(url_for(".show", _anchor="presets"), code=303)


@blueprint.get("/addresses.vcf")
@login_required
def address_card(account: Account) -> ResponseReturnValue:
    """The addresses at which a mail is snoozed, as a contact."""
    found = _mail_addresses(account)
    if not found:
        abort(404)
    lines = ["BEGIN:VCARD", "VERSION:3.0", "N:Snoozer;;;;", "FN:Snoozer", *(f"EMAIL:{one}" for one in found)]
    response = make_response("\r\n".join([*lines, "END:VCARD", ""]))
    response.content_type = "text/vcard; charset=utf-8"
    response.headers["Content-Disposition"] = 'attachment; filename="snoozer.vcf"'
    return response


@blueprint.post("/addresses")
@login_required
def change_addresses(account: Account) -> ResponseReturnValue:
    """Gives the person new addresses; mail to the former ones is refused."""
    with context.transaction() as connection:
        accounts.change_mail_key(connection, id=account.id)
    flash(_("These are your addresses now. The old ones no longer work."))
    return redirect(url_for(".show", _anchor="addresses"), code=303)


@blueprint.post("/theme")
def choose_theme() -> ResponseReturnValue:
    """Sets the light or dark theme, or the device's; also for people who are not signed in."""
    theme = request.form.get("theme")
    if theme not in THEMES:
        abort(400)
    response = make_response(redirect(local_path(request.form.get("here")), code=303))
    set_cookie(response, "theme", theme, days=MAX_COOKIE_DAYS)
    return response


@blueprint.post("/language")
def choose_language() -> ResponseReturnValue:
    """Sets language and dates of this browser, for people who are not signed in."""
    locale = request.form.get("locale")
    if locale not in LOCALES:
        abort(400)
    response = make_response(redirect(local_path(request.form.get("here")), code=303))
    set_cookie(response, language.COOKIE, locale, days=MAX_COOKIE_DAYS)
    return response


@blueprint.post("/keys")
def choose_keys() -> ResponseReturnValue:
    """Turns the single-letter shortcuts on or off in this browser."""
    keys = request.form.get("keys")
    if keys not in {"on", "off"}:
        abort(400)
    flash(
        _("Single letters act again in this browser.")
        if keys == "on"
        else _("Single letters do nothing now in this browser.")
    )
    response = make_response(redirect(url_for(".show"), code=303))
    set_cookie(response, "keys", keys, days=MAX_COOKIE_DAYS)
    return response


@blueprint.post("/sessions/<row:id>/end")
@login_required
def end_session(account: Account, id: int) -> ResponseReturnValue:
    """Signs one browser out, which may be this one."""
    with context.transaction() as connection:
        ended = sessions.end_session(connection, account_id=account.id, id=id)
    if ended:
        security_log.record("sessions_ended", account=account.id, sessions=1)
    flash(_("That browser is signed out.") if ended else _("That browser was signed out already."))
    return redirect(url_for(".show", _anchor="sessions"), code=303)


@blueprint.post("/sessions/end")
@login_required
def end_sessions(account: Account) -> ResponseReturnValue:
    """Signs all other browsers out, or with `here` this one, too, and cancels pending sign-ins; with `tokens` it also
    revokes the API tokens, with `feeds` the addresses of feeds."""
    here = request.form.get("where") == "here too"
    if here:
        # The message stands on the page of a stranger.
        language.use_requested()
    tokens, feeds = (request.form.get(name) == "too" for name in ("tokens", "feeds"))
    also = [_(words) for words, chosen in ((NO_TOKEN_WORKS, tokens), (NO_FEED_WORKS, feeds)) if chosen]
    with context.transaction() as connection:
        ended = sessions.end_everywhere(
            connection,
            account_id=account.id,
            kept=None if here else get_cookie("session"),
            tokens=tokens,
            feeds=feeds,
        )
        forgotten = sessions.browsers_forgotten(connection, email=account.email)
    security_log.record(
        "sessions_ended",
        account=account.id,
        sessions=ended,
        tokens="revoked" if tokens else None,
        feeds="revoked" if feeds else None,
    )
    if here:
        session.clear()
        flash(" ".join([_("You are signed out everywhere."), *also]))
        response = make_response(redirect(url_for("sign_in.request_page"), code=303))
        delete_cookie(response, "session")
        delete_cookie(response, "known")
        return response
    if ended:
        text = ngettext("1 other browser is signed out.", "%(num)s other browsers are signed out.", ended)
    else:
        text = _("No other browser was signed in.")
    flash(" ".join([text, *also]))
    response = make_response(redirect(url_for(".show", _anchor="sessions"), code=303))
    trust_browser(response, email=account.email, forgotten=forgotten)
    return response


def _saved_text(zone: str, moved: int) -> str:
    place = zone_in_words(zone)
    if not moved:
        return _("Saved. Times are shown in %(zone)s; what is asleep comes back when it was promised.", zone=place)
    return ngettext(
        "Saved. Times are shown in %(zone)s, and 1 snooze keeps its hour there.",
        "Saved. Times are shown in %(zone)s, and %(num)s snoozes keep their hour there.",
        moved,
        zone=place,
    )


def _mail_addresses(account: Account) -> list[str]:
    """Some of the addresses at which the person's mail is snoozed; none without a domain."""
    domain = context.settings().inbound_domain
    return [f"{phrase}+{account.mail_key}@{domain}" for phrase in MAIL_PHRASES] if domain else []


def _page(
    connection: Connection,
    account: Account,
    *,
    zone: str | None = None,
    locale: str | None = None,
    error: str | None = None,
    places: Sequence[Place] = (),
    presets: Sequence[preset_form.PresetRow] | None = None,
    adding: bool = False,
    none_left: bool = False,
) -> str:
    own, times = saved_times().presets, time_formatter()
    if presets is None:
        presets = preset_form.preset_rows(own or preset_form.default_presets(account.locale), times=times)
    return render_template(
        "people/settings/show.html",
        zone=account.zone if zone is None else zone,
        locale=account.locale if locale is None else locale,
        locales=LOCALES,
        zones=zone_search.places(times.now.year),
        error=error,
        places=[(place, times.now.astimezone(zone_of(place.zone))) for place in places],
        now=times.now,
        presets=presets,
        own=own is not None,
        adding=adding,
        none_left=none_left,
        addresses=_mail_addresses(account),
        goes_to=next(own.email for own in addresses.list_all(connection, account_id=account.id) if own.gets_mail),
        sessions=sessions.list_sessions(connection, account_id=account.id, session=get_cookie("session") or ""),
        services=", ".join(SERVICES[name].label for name in context.settings().channels),
        max_presets=preset_form.MAX_PRESETS,
        max_label_length=preset_form.MAX_LABEL_LENGTH,
    )
