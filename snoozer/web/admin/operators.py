"""Who may enter: operators and admins. Others are told so, the signed-out are sent to sign in."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from flask import abort
from flask.typing import ResponseReturnValue

from snoozer.postgres.models import Account
from snoozer.web.visitor import signed_in

P = ParamSpec("P")


def operators_only(view: Callable[Concatenate[Account, P], ResponseReturnValue]) -> Callable[P, ResponseReturnValue]:
    """The view gets the operator first; 403 for everybody else who is signed in."""

    def guarded(account: Account, /, *args: P.args, **kwargs: P.kwargs) -> ResponseReturnValue:
        if not account.operates:
            abort(403)
        return view(account, *args, **kwargs)

    guarded.__name__ = view.__name__  # Flask names the route's endpoint after it.
    return signed_in(guarded)
