"""The act that an operator was about to do when a confirmation was asked for (`auth.keep_act`), so that nothing has to
be typed again."""

import time
from dataclasses import dataclass
from typing import Any

from flask import session, url_for

from snoozer.db.models import Account
from snoozer.web.auth import KEPT_ACT
from snoozer.web.operators.act_texts import ACT_TEXTS

MAX_SECONDS = 1_800
_REASONS = ("reason", "why")


@dataclass(frozen=True, kw_only=True)
class UnconfirmedAct:
    """A form, ready to be posted again to `path`; `here` is the page that it came from."""

    path: str
    here: str
    title: str
    button: str
    reason_field: str
    reason: str
    hidden: list[tuple[str, str]]


def kept(account: Account) -> UnconfirmedAct | None:
    """The act that this browser keeps for the account."""
    found: dict[str, Any] | None = session.get(KEPT_ACT)
    if found is None or found["account"] != account.id or found["at"] < time.time() - MAX_SECONDS:
        return None
    fields = [(str(name), str(value)) for name, value in found["fields"]]
    reason = next((name for name, _ in fields if name in _REASONS), "why")
    title, button = _words(found["endpoint"], found["arguments"] or {}, fields)
    return UnconfirmedAct(
        path=url_for(found["endpoint"], **(found["arguments"] or {})),
        here=found["here"],
        title=title,
        button=button,
        reason_field=reason,
        reason=dict(fields).get(reason, ""),
        hidden=[(name, value) for name, value in fields if name != reason],
    )


def _words(endpoint: str, arguments: dict[str, Any], fields: list[tuple[str, str]]) -> tuple[str, str]:
    """Returns the title and the button."""
    given = dict(fields)
    match endpoint:
        case "admin_breakers.trip":
            return f"Stop sending by {given.get('server', '')}", "Stop sending by it"
        case "admin_accounts.change_role":
            return f"Change the role of account {arguments.get('id')} to {given.get('role', '')}", "Change the role"
        case "admin_accounts.unmask":
            return "Show the address", "Show the address"
        case "admin_operations.enter" if given.get("act") in ACT_TEXTS:
            text, ids = ACT_TEXTS[given["act"]], sum(name == "id" for name, _ in fields)
            return text.title(ids) if ids else f"{text.button}: all {text.noun}s that match", text.button
    return "Go on", "Do it"
