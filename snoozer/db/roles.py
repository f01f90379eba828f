"""Roles of accounts, from the least to the most, and the least role that each act on operators' pages needs."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Literal, get_args

Role = Literal["user", "viewer", "operator", "admin"]

ROLES: tuple[Role, ...] = get_args(Role)

# A page looks up here which acts to offer, and a route which to refuse.
LEAST_ROLE: Mapping[str, Role] = {
    "view": "viewer",
    "reactivate": "operator",
    "dismiss": "operator",
    "delay": "operator",
    "raise_attempts": "operator",
    "mark_invalid": "operator",
    "pause": "operator",
    "resume": "operator",
    "resolve_sent": "operator",
    "resolve_resend": "operator",
    "resolve_drop": "operator",
    "release": "operator",
    "cancel_operation": "operator",
    "undo_operation": "operator",
    "trip_breaker": "operator",
    "reset_breaker": "operator",
    "view_audit": "viewer",
    "view_accounts": "admin",
    "change_role": "admin",
    "unmask": "admin",
}

# A role given by groups at a sign-in at the provider lasts as long as the session that was opened there.
GROUP_ROLE_LIFETIME = timedelta(days=1)
# These acts close rows for good: before such an act on many rows operators must confirm their identity again.
CONFIRMED_IN_BULK = frozenset({"dismiss", "mark_invalid", "resolve_drop"})


def at_least(role: str, least: Role) -> bool:
    """Whether a role includes what `least` may do."""
    return ROLES.index(_known(role)) >= ROLES.index(least)


def higher(given: str, by_group: str | None) -> Role:
    """The higher of two roles."""
    return max(_known(given), _known(by_group or "user"), key=ROLES.index)


def may(role: str, act: str) -> bool:
    """Whether a role may do an act of LEAST_ROLE. Raises KeyError for any other act."""
    return at_least(role, LEAST_ROLE[act])


def parse_group_roles(text: str) -> dict[str, Role]:
    """The roles of groups, from "snooze-ops=operator; snooze-admins=admin". Raises ValueError."""
    found: dict[str, Role] = {}
    for part in filter(None, (each.strip() for each in text.split(";"))):
        group, _, name = part.rpartition("=")
        role = next((each for each in ROLES[1:] if each == name.strip()), None)
        if role is None or not group.strip():
            raise ValueError(f"{part!r} is no group with a role, such as snooze-ops=operator")
        found[group.strip()] = role
    return found


def role_of_groups(groups: Iterable[str], roles: Mapping[str, Role]) -> Role | None:
    """The highest role that one of the groups gives; None if no group gives one."""
    return max((roles[group] for group in groups if group in roles), key=ROLES.index, default=None)


def _known(role: str) -> Role:
    """A role that this release does not know counts as the least one."""
    return next((each for each in ROLES if each == role), "user")
