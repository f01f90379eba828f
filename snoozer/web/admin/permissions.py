"""Who may enter: operators and admins. Others are told so, the signed-out are sent to sign in."""

import re
from collections.abc import Callable, Mapping
from typing import Concatenate, ParamSpec

from flask import abort
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.web.auth import signed_in

P = ParamSpec("P")

_FINGERPRINT = re.compile(r"[0-9a-f]{32}")


def operators_only(view: Callable[Concatenate[Account, P], ResponseReturnValue]) -> Callable[P, ResponseReturnValue]:
    """The view gets the operator first; 403 for everybody else who is signed in."""

    def guarded(account: Account, /, *args: P.args, **kwargs: P.kwargs) -> ResponseReturnValue:
        if not account.operates:
            abort(403)
        return view(account, *args, **kwargs)

    guarded.__name__ = view.__name__  # Flask names the route's endpoint after it.
    return signed_in(guarded)


def reason_in(given: Mapping[str, str]) -> str | None:
    """The fingerprint of the error that the cases meant have in common; None for all. 400 for what is none."""
    reason = given.get("reason") or None
    if reason is not None and not _FINGERPRINT.fullmatch(reason):
        abort(400)
    return reason
