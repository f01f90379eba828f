"""Which process watches which connected mailbox, and how each of them is: one function per statement in
`sql/mailboxes/mailbox_leases`, of the same name. Everything is fenced: a former owner changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from sqlalchemy import Connection

from snoozer.db.statements import execute, rows_as


@dataclass(frozen=True, kw_only=True)
class OwnedMailbox:
    """A mailbox that this process may change, and its owner. `secret` is the encrypted password, or the refresh token
    if `login_method` names a provider. If the account is closed (`is_closed`), snoozed messages are brought back and no
    others are snoozed. `brings_back` is what the owner wants at the time of a snooze: the message back in its place, a
    reminder, or both; with `reads_asleep` it is marked as read while it sleeps. Messages in the inbox that get
    `snooze_flag` are snoozed to `snooze_flag_time`, the name of a preset or a phrase."""

    id: int
    fence: int
    host: str
    port: int
    security: Literal["tls", "starttls", "plain"]
    username: str
    secret: bytes = field(repr=False)
    login_method: str
    state: str
    address: str
    user_email: str
    account_id: int
    is_closed: bool
    brings_back: Literal["return", "reminder", "both"] = "both"
    reads_asleep: bool = False
    snooze_flag: str | None = None
    snooze_flag_time: str | None = None


class Health(NamedTuple):
    """The state of a mailbox after a failure was recorded, since when it has failed, and whether this one paused it."""

    state: str
    problem_since: datetime
    newly_paused: bool


def take(
    connection: Connection, *, owner: str, lease: timedelta, silence: timedelta, retry: timedelta
) -> list[OwnedMailbox]:
    """Take free mailboxes up to an even share; returns these. Mailboxes of a process that has been silent for `silence`
    are free, too. A paused mailbox is tried again after `retry`."""
    values = {"owner": owner, "lease": lease, "silence": silence, "retry": retry}
    return rows_as(execute(connection, "mailbox_leases/take", **values), OwnedMailbox)


def report(connection: Connection, *, owner: str) -> None:
    """Record that this process is alive: the mailboxes are shared among living processes."""
    execute(connection, "mailbox_leases/report", owner=owner)


def list_watchers(connection: Connection) -> list[str]:
    """The processes that have reported and did not end in order."""
    return list(execute(connection, "mailbox_leases/list_watchers").scalars())


def release_dead(connection: Connection, owners: Sequence[str]) -> None:
    """Free the mailboxes owned by processes that are known to be dead."""
    execute(connection, "mailbox_leases/release_dead", owners=list(owners))


def list_owned(connection: Connection, *, owner: str) -> dict[int, tuple[int, bool]]:
    """The fence of each mailbox that this process owns, and whether its account is closed."""
    rows = execute(connection, "mailbox_leases/list_owned", owner=owner)
    return {row.id: (row.fence, row.is_closed) for row in rows}


def renew(connection: Connection, *, owner: str, lease: timedelta, silence: timedelta) -> None:
    """Extend the leases of the mailboxes that this process owns, up to an even share; give the rest back."""
    execute(connection, "mailbox_leases/renew", owner=owner, lease=lease, silence=silence)


def give_back(connection: Connection, *, owner: str, id: int | None = None) -> None:
    """Give up all mailboxes that this process owns, or one."""
    execute(connection, "mailbox_leases/give_back", owner=owner, id=id)


def record_syncs(connection: Connection, fences: Mapping[int, int]) -> None:
    """Record that mailboxes were read: their fences by their ids. Mailboxes read by a former owner are left out."""
    execute(connection, "mailbox_leases/record_syncs", ids=list(fences), fences=list(fences.values()))


def record_problem(connection: Connection, *, id: int, fence: int, problem: str, pause: bool) -> Health | None:
    """Record why the mailbox cannot be used; with `pause`, it is left alone until its owner acts. Returns None for a
    former owner."""
    values = {"id": id, "fence": fence, "problem": problem, "pause": pause}
    row = execute(connection, "mailbox_leases/record_problem", **values).first()
    return None if row is None else Health(row.state, row.problem_since, row.newly_paused)


def remove(connection: Connection, *, id: int, fence: int) -> bool:
    """Delete a mailbox that its owner disconnected. Returns False while messages lie in a Snoozer folder."""
    return execute(connection, "mailbox_leases/remove", id=id, fence=fence).first() is not None
