"""Who is asking: the signed-in person behind a request, their clock, and the cookies that say so."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlsplit

from flask import Response, g, redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection
from werkzeug.wrappers import Response as AnyResponse

from snoozer import accounts
from snoozer.db import accounts as people
from snoozer.db.accounts import SavedTimes
from snoozer.db.models import Account
from snoozer.db.statements import database_time
from snoozer.settings import Settings
from snoozer.web import context
from snoozer.web.text.time_format import Clock

P = ParamSpec("P")

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
USUAL_PORT = 8000
# Browsers keep no cookie for longer.
MOST_DAYS = 400
# In octets: it is kept in a cookie, and browsers throw away whatever is longer than 4096.
LONGEST_PATH = 1_000


def cookie_name(settings: Settings, word: str) -> str:
    """`__Host-` where the site is served over https, so that no other host can plant the cookie. Cookies know no
    ports, so a second copy on this machine has names of its own."""
    if is_secure(settings):
        return f"__Host-snoozer_{word}"
    site = urlsplit(settings.base_url)
    apart = site.hostname in LOOPBACK and site.port not in {None, USUAL_PORT}
    return f"snoozer_{word}_{site.port}" if apart else f"snoozer_{word}"


def is_secure(settings: Settings) -> bool:
    return settings.base_url.startswith("https://")


def set_cookie(response: AnyResponse, word: str, value: str, *, days: int, readable: bool = False) -> None:
    """A cookie for this host only, sent along on visits from elsewhere but not on posts from elsewhere."""
    settings = context.settings()
    response.set_cookie(
        cookie_name(settings, word),
        value,
        max_age=days * 86_400,
        path="/",
        secure=is_secure(settings),
        httponly=not readable,
        samesite="Lax",
    )


def forget_cookie(response: AnyResponse, word: str) -> None:
    settings = context.settings()
    response.delete_cookie(
        cookie_name(settings, word), path="/", secure=is_secure(settings), httponly=True, samesite="Lax"
    )


def cookie(word: str) -> str | None:
    return request.cookies.get(cookie_name(context.settings(), word))


def account() -> Account | None:
    """Who is signed in, looked up once a request, with the clock that every page of theirs shows and the times they
    use."""
    if "account" not in g:
        g.account = None
        token = cookie("session")
        if token:
            with context.transaction() as connection:
                g.account = accounts.session_account(connection, session=token)
                if g.account is not None:
                    g.clock = Clock(now=database_time(connection), zone=g.account.zone, locale=g.account.locale)
                    g.usual = people.saved_times(connection, account_id=g.account.id)
    found: Account | None = g.account
    return found


def clock() -> Clock:
    """The clock of the signed-in person."""
    found: Clock = g.clock
    return found


def usual() -> SavedTimes:
    """The times that the signed-in person uses."""
    found: SavedTimes = g.usual
    return found


def remember(connection: Connection, person: Account, typed: str | None) -> None:
    """Offer these words next time."""
    if typed:
        people.save_phrase(connection, account_id=person.id, phrase=typed, max_phrases=people.MAX_PHRASES)


def signed_in(view: Callable[Concatenate[Account, P], ResponseReturnValue]) -> Callable[P, ResponseReturnValue]:
    """Only for people who are signed in; the view gets the account first. Others are sent to sign in and back."""

    @wraps(view)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> ResponseReturnValue:
        person = account()
        if person is None:
            return to_sign_in()
        return view(person, *args, **kwargs)

    return guarded


def to_sign_in() -> Response:
    """The sign-in page, remembering a page (never a form) to come back to."""
    wanted = request.full_path.rstrip("?") if request.method in {"GET", "HEAD"} else None
    target = url_for("sign_in.ask", next=wanted if wanted != "/" else None)
    return redirect(target, code=303)  # type: ignore[return-value]


def local_path(path: str | None) -> str:
    """A path on this site, or the front page for anything that could lead elsewhere or be too long to keep."""
    if not path or not path.startswith("/") or path[1:2] in {"/", "\\"} or not path.isprintable():
        return "/"
    return "/" if "\\" in path or len(path.encode()) > LONGEST_PATH else path
