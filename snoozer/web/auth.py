"""Authentication: the account behind a request, the cookies that identify it, and who may open a page."""

import json
import secrets
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypedDict
from urllib.parse import urlsplit

from flask import Response, abort, current_app, g, redirect, request, session, url_for
from flask.typing import ResponseReturnValue
from itsdangerous import Signer
from sqlalchemy import Connection
from werkzeug.wrappers import Response as AnyResponse

from snoozer.db import list_changes, roles
from snoozer.db.models import Account
from snoozer.db.queries import accounts as queries
from snoozer.db.queries import deletions, mailboxes, pauses, webhooks
from snoozer.db.queries.delivery import DeliveryStatus
from snoozer.db.roles import Role
from snoozer.people import accounts
from snoozer.settings import Settings
from snoozer.snoozes import chosen_shape
from snoozer.telemetry import security_log
from snoozer.translations import speaking
from snoozer.web import context
from snoozer.web.text.browser_name import browser_name
from snoozer.web.text.time_format import TimeFormatter

P = ParamSpec("P")
Page = Callable[Concatenate[Account, P], ResponseReturnValue]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
DEFAULT_PORT = 8000
# Browsers keep no cookie longer.
MAX_COOKIE_DAYS = 400
# The path is kept in a cookie, and browsers drop cookies of more than 4096 bytes.
MAX_PATH_BYTES = 1_000
KEPT_ACT, MAX_ACT_BYTES = "kept_act", 2_000

_views_with_account: set[Callable[..., ResponseReturnValue]] = set()
_roles_of_views: dict[Callable[..., Any], Role] = {}


def is_secure(settings: Settings) -> bool:
    return settings.base_url.startswith("https://")


def cookie_name(settings: Settings, name: str) -> str:
    """Returns the cookie's full name: with the prefix `__Host-` (RFC 6265bis) if the site is served over https, so that
    no other host can set it. Cookies are shared between ports, so a second copy on this machine adds its own."""
    if is_secure(settings):
        return f"__Host-snoozer_{name}"
    site = urlsplit(settings.base_url)
    second_copy = site.hostname in LOOPBACK and site.port not in {None, DEFAULT_PORT}
    return f"snoozer_{name}_{site.port}" if second_copy else f"snoozer_{name}"


def get_cookie(name: str) -> str | None:
    return request.cookies.get(cookie_name(context.settings(), name))


def set_cookie(response: AnyResponse, name: str, value: str, *, days: int) -> None:
    """Sets a cookie for this host only, sent with visits from other sites but not with their posts."""
    settings = context.settings()
    response.set_cookie(
        cookie_name(settings, name),
        value,
        max_age=days * 86_400,
        path="/",
        secure=is_secure(settings),
        httponly=True,
        samesite="Lax",
    )


def delete_cookie(response: AnyResponse, name: str) -> None:
    settings = context.settings()
    response.delete_cookie(cookie_name(settings, name), secure=is_secure(settings), httponly=True, samesite="Lax")


def current_account() -> Account | None:
    """Returns the signed-in account. The lookup happens once per request, with its time formatter, saved times, a
    snapshot of the database that all later queries share, and whether delivery or a connected mailbox fails."""
    if "account" not in g:
        g.account = None
        token = get_cookie("session")
        if token:
            with context.transaction() as connection:
                g.account = accounts.session_account(connection, session=token)
                if g.account is not None:
                    context.use_locale(g.account.locale)
                    present = list_changes.present(connection)
                    g.snapshot = present.snapshot
                    days = chosen_shape.find_days(connection, account_id=g.account.id, zone=g.account.zone)
                    g.times = TimeFormatter(now=present.now, zone=g.account.zone, locale=g.account.locale, days=days)
                    g.delivery = _of_person(connection, context.delivery_status(connection), g.account)
                    g.troubled_mailboxes = mailboxes.troubled(connection, account_id=g.account.id)
                    g.off_webhooks = webhooks.off(connection, account_id=g.account.id)
                    g.leaving = deletions.pending(connection, account_id=g.account.id)
                    g.saved_times = queries.saved_times(connection, account_id=g.account.id)
    account: Account | None = g.account
    return account


class NewSession(TypedDict):
    """The session that a sign-in in this browser replaces, and the browser's name."""

    replaces: str | None
    device: str | None


def new_session() -> NewSession:
    """Returns this request's description of a session that it opens."""
    return NewSession(replaces=get_cookie("session"), device=browser_name(request.user_agent.string))


def _of_person(connection: Connection, status: DeliveryStatus, account: Account) -> DeliveryStatus:
    """The status with the person's deliveries that operators hold back; queried only while any are held."""
    return replace(status, holds=pauses.holds(connection, email=account.email)) if status.is_held else status


def time_formatter() -> TimeFormatter:
    """Returns the formatter for the signed-in account's zone and locale at the time of this request."""
    times: TimeFormatter = g.times
    return times


def saved_times() -> queries.SavedTimes:
    """Returns the signed-in account's own presets and recent phrases."""
    saved: queries.SavedTimes = g.saved_times
    return saved


def login_required(view: Page[P]) -> Callable[P, ResponseReturnValue]:
    """Calls the view with the signed-in account first. Others are redirected to the sign-in page and back."""

    @wraps(view)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> ResponseReturnValue:
        account = current_account()
        return redirect_to_sign_in() if account is None else view(account, *args, **kwargs)

    _views_with_account.add(guarded)
    return guarded


def requires_account(endpoint: str | None) -> bool:
    """Whether the endpoint's view is decorated with `login_required`."""
    return endpoint is not None and current_app.view_functions.get(endpoint) in _views_with_account


def viewer_required(view: Page[P]) -> Callable[P, ResponseReturnValue]:
    """The same for accounts with the role viewer or more; 403 for others."""
    return _role_required(view, "viewer")


def operator_required(view: Page[P]) -> Callable[P, ResponseReturnValue]:
    """The same for accounts with the role operator or more; 403 for others."""
    return _role_required(view, "operator")


def admin_required(view: Page[P]) -> Callable[P, ResponseReturnValue]:
    """The same for accounts with the role admin; 403 for others."""
    return _role_required(view, "admin")


def require(account: Account, act: str) -> None:
    """403 for an account whose role does not include the form's act. KeyError for an unknown act."""
    if not account.may(act):
        _refuse(account)


def confirmation_required(view: Page[P]) -> Page[P]:
    """Calls the view if this session was confirmed recently (`accounts.CONFIRMED_FOR`). Otherwise asks for a
    confirmation, and leads back to the form's page, which its field `here` names."""

    @wraps(view)
    def guarded(account: Account, /, *args: P.args, **kwargs: P.kwargs) -> ResponseReturnValue:
        first = confirmation_first()
        return view(account, *args, **kwargs) if first is None else first

    return guarded


def confirmation_first() -> ResponseReturnValue | None:
    """The same for a view whose act depends on a form: the response that asks for a confirmation; None
    if it is recent."""
    with context.transaction() as connection:
        if accounts.is_confirmed(connection, session=get_cookie("session") or ""):
            session.pop(KEPT_ACT, None)
            return None
    here = local_path(request.form.get("here"))
    keep_act(here)
    return redirect(url_for("admin_confirmation.ask", next=here if here != "/" else None), code=303)


def keep_act(here: str) -> None:
    """Keeps the posted form of an act in the browser's cookie until it is confirmed, if there is room. A new session of
    the same account keeps it, too."""
    account: Account = g.account
    fields = [[name, value] for name, value in request.form.items(multi=True) if name != "csrf_token"]
    act: dict[str, Any] = {"account": account.id, "at": int(time.time()), "here": here, "fields": fields}
    act |= {"endpoint": request.endpoint, "arguments": request.view_args}
    session.pop(KEPT_ACT, None)
    if len(zlib.compress(json.dumps(act).encode())) <= MAX_ACT_BYTES:
        session[KEPT_ACT] = act
        session["onward"] = url_for("admin_confirmation.go_on")


def required_role(endpoint: str | None) -> Role | None:
    """The least role for the endpoint's view; None if it requires none."""
    view = current_app.view_functions.get(endpoint or "")
    return None if view is None else _roles_of_views.get(view)


def _role_required(view: Page[P], least: Role) -> Callable[P, ResponseReturnValue]:
    @wraps(view)
    def guarded(account: Account, /, *args: P.args, **kwargs: P.kwargs) -> ResponseReturnValue:
        if not roles.at_least(account.role, least):
            _refuse(account)
        # Operators' pages are in English, including formatted values.
        with speaking("en"):
            return view(account, *args, **kwargs)

    page = login_required(guarded)
    _roles_of_views[page] = least
    return page


def _refuse(account: Account) -> NoReturn:
    page = (request.endpoint or "").replace(".", "_")
    security_log.record("refused", account=account.id, role=account.role, page=page)
    abort(403)


def redirect_to_sign_in() -> Response:
    """The sign-in page leads back to the requested page, never to a form's target."""
    path = request.full_path.rstrip("?") if request.method in {"GET", "HEAD"} else None
    target = url_for("sign_in.request_page", next=path if path != "/" else None)
    return redirect(target, code=303)  # type: ignore[return-value]


def local_path(path: str | None) -> str:
    """Returns the path if it leads to this site and fits into a cookie, else the front page."""
    if not path or not path.startswith("/") or path[1:2] in {"/", "\\"} or not path.isprintable():
        return "/"
    return "/" if "\\" in path or len(path.encode()) > MAX_PATH_BYTES else path


def trusted_browser(email: str, *, forgotten: int) -> str | None:
    """Returns this browser's random id if it signed in to this account before, and the person has not signed out
    everywhere since (`forgotten` counts that). The cookie does not name the account."""
    browser, _, signature = (get_cookie("known") or "").partition(".")
    marked = browser and _browser_signer().verify_signature(_marked(browser, email, forgotten), signature)
    return browser if marked else None


def trust_browser(response: AnyResponse, *, email: str, forgotten: int) -> None:
    """Marks the browser that just signed in as trusted for this account."""
    browser = trusted_browser(email, forgotten=forgotten) or secrets.token_urlsafe(16)
    signature = _browser_signer().get_signature(_marked(browser, email, forgotten)).decode()
    set_cookie(response, "known", f"{browser}.{signature}", days=MAX_COOKIE_DAYS)


def _marked(browser: str, email: str, forgotten: int) -> str:
    return f"{browser} {email} {forgotten}" if forgotten else f"{browser} {email}"


def _browser_signer() -> Signer:
    oldest_first = list(reversed(context.settings().keys))
    return Signer(oldest_first, salt="a browser that signed in before")
