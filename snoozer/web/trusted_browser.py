"""Browsers that signed in to an account before: a mark in a cookie that says nothing about its owner."""

import secrets

from itsdangerous import Signer
from werkzeug.wrappers import Response

from snoozer.web import auth, context


def mark(email: str) -> str | None:
    """The mark of the browser that asks, if it signed in to this account before."""
    own, _, signature = (auth.cookie("known") or "").partition(".")
    return own if own and _signer().verify_signature(f"{own} {email}", signature) else None


def remember(response: Response, *, email: str) -> None:
    """Give the browser that just signed in its mark, or the one it has for longer."""
    own = mark(email) or secrets.token_urlsafe(16)
    signature = _signer().get_signature(f"{own} {email}").decode()
    auth.set_cookie(response, "known", f"{own}.{signature}", days=auth.MOST_DAYS)


def _signer() -> Signer:
    oldest_first = list(reversed(context.settings().keys))
    return Signer(oldest_first, salt="a browser that signed in before")
