"""The entries of the audit log in words: who acted, what they did, to what, and what changed by it."""

from collections.abc import Iterator, Mapping
from typing import Any

from snoozer.web.text.redaction import without_addresses
from snoozer.web.text.time_format import TimeFormatter, parse_instant

# By the acts of the log, which the filter offers in this order.
ACTS = {
    "reactivate": "Reactivated",
    "dismiss": "Dismissed",
    "delay": "Delayed",
    "raise_attempts": "Raised the attempts",
    "mark_invalid": "Marked the address invalid",
    "resolve_sent": "Settled as sent",
    "resolve_resend": "Sent again",
    "resolve_drop": "Dropped",
    "release": "Released the claim",
    "cancel_operation": "Cancelled the rest",
    "undo_operation": "Undid",
    "pause": "Paused",
    "resume": "Resumed",
    "trip_breaker": "Stopped sending",
    "reset_breaker": "Sending again",
    "change_role": "Changed the role",
    "change_group_role": "Changed the role by groups",
    "unmask": "Showed the address",
    "print_sign_in": "Printed a sign-in link",
    "add_address": "Added an address",
    "unlink": "Unlinked the organisation",
    "close_account": "Closed the account",
    "open_account": "Opened the account",
    "export_data": "Exported the data",
    "import_data": "Imported data",
    "begin_erasure": "Began to erase the account",
    "erase_account": "Erased the account",
    "create_token": "Made an API token",
    "revoke_token": "Revoked the API token",
    "retire_restored": "Made a case, after a restore",
    "accept_database": "Accepted the database",
}
_ACTORS = {
    "command": "a command",
    "clock": "the clock",
    "provider": "a sign-in at the organisation",
    "mail": "a mail system",
}
_KINDS = {"operator": "operator", "user": "person"}
_TARGETS = {"breaker": "mail server", "database": "the database", "token": "API token"}
# By the names of what is recorded before and after an act.
_NAMES = {
    "role": "role",
    "outcome": "state",
    "attempts": "attempts",
    "max_attempts": "attempts allowed",
    "remind_at": "next try",
    "send": "reminder",
    "claimed_by": "worker",
    "inactive": "set aside",
    "paused_by": "pause",
    "address": "address",
    "kind": "what",
    "value": "which",
    "untouched": "left as they were",
    "state": "sending",
    "failures": "failures in a row",
    "opened_at": "left alone since",
    "tripped_at": "stopped since",
    "tripped_by": "stopped by",
    "trip_reason": "reason",
}
_VALUES: Mapping[str, Mapping[str | None, str]] = {
    "outcome": {None: "open", "retired": "a case", "cancelled": "closed", "sent": "sent"},
    "send": {
        None: "not prepared",
        "reserved": "prepared",
        "sending": "being handed over",
        "uncertain": "may have been sent",
        "failed": "not sent",
    },
    "state": {"closed": "on", "open": "off", "half-open": "on trial"},
    "claimed_by": {None: "no worker"},
    "kind": {"all": "everything", "person": "a person", "invalid": "an address", "class": "a priority"},
}


def act_text(act: str) -> str:
    return ACTS.get(act) or act[:1].upper() + act[1:].replace("_", " ")


def actor_text(actor: str) -> str:
    """Operator 7, a command, the clock."""
    kind, _, number = actor.partition(":")
    return _ACTORS.get(actor) or f"{_KINDS.get(kind, kind)} {number}".rstrip()


def target_text(target: str) -> str:
    """Account 7, mail server mail.example:25, the database."""
    kind, _, rest = target.partition(":")
    return f"{_TARGETS.get(kind, kind)} {rest}".rstrip()


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, times: TimeFormatter) -> Iterator[str]:
    """Role from user to admin; state open. Values that stayed are left out."""
    was, now = before or {}, after or {}
    for name, value in now.items():
        if name in was and was[name] == value:
            continue
        new, old = _value(name, value, times), _value(name, was[name], times) if name in was else None
        if new is None and old is None:
            continue
        change = f"no longer {old}" if new is None else new if old is None else f"from {old} to {new}"
        yield f"{name_text(name)} {change}"


def _value(name: str, value: Any, times: TimeFormatter) -> str | None:
    """None for a value that is missing."""
    known = _VALUES.get(name, {}).get(value) if value is None or isinstance(value, str) else None
    if known is not None or value is None:
        return known
    return value_text(value, times)


def value_text(value: Any, times: TimeFormatter) -> str:
    """A recorded value of JSON: yes, 1,000, a time in the reader's zone, or a text without addresses."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list():
            return ", ".join(value_text(each, times) for each in value)
        case dict():
            return ", ".join(f"{name_text(name)} {value_text(each, times)}" for name, each in value.items())
    moment = parse_instant(value) if isinstance(value, str) else None
    return without_addresses(str(value)) if moment is None else times.dates.instant(times.local(moment), seconds=True)


def name_text(name: str) -> str:
    return _NAMES.get(name) or name.replace("_", " ")
