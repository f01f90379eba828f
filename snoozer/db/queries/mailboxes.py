"""A person's connected mailboxes; another person's is never found. Operators see all. Passwords are in
`secret` alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from sqlalchemy import Connection, Select, and_, case, func, or_, select

from snoozer.db.models import ConnectedMailbox, FlaggedMessage, MailboxMessage
from snoozer.db.queries import Found, columns
from snoozer.db.statements import row_as

# A server that is away for less is not shown to the person.
TROUBLED_FOR = timedelta(minutes=5)
LOOPBACK = "127.0.0.1"
MAX_LISTED = 100

_SHOWN = (
    "id address host port security username login_method state problem problem_since synced_at created_at "
    "brings_back reads_asleep snooze_flag snooze_flag_time flagged_noted_at"
)


@dataclass(frozen=True, kw_only=True)
class MailboxAccess:
    """Where a mailbox is, and how to sign in. `secret` is the encrypted password, or the refresh token if
    `login_method` names a provider."""

    id: int
    account_id: int
    address: str
    host: str
    port: int
    security: Literal["tls", "starttls", "plain"]
    username: str
    login_method: str
    secret: bytes = field(repr=False)
    state: str
    problem: str | None


def connected(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """All mailboxes of a person, in the order in which they were connected."""
    return connection.execute(_of(account_id)).all()


def find(connection: Connection, *, id: int, account_id: int) -> Found | None:
    """One mailbox of this person."""
    return connection.execute(_of(account_id).where(ConnectedMailbox.id == id)).first()


def on_this_machine(connection: Connection, *, account_id: int, port: int) -> Found | None:
    """The person's first mailbox whose server is at this port of the machine itself."""
    here = (ConnectedMailbox.host == LOOPBACK, ConnectedMailbox.port == port)
    return connection.execute(_of(account_id).where(*here)).first()


def count_left_flagged(connection: Connection, *, id: int) -> int:
    """How many messages carry the snooze flag and are left as they are."""
    found = select(func.count()).select_from(FlaggedMessage).where(FlaggedMessage.mailbox_id == id)
    return connection.execute(found).scalar_one()


def troubled(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """The person's mailboxes that are paused, or have had a problem for longer than TROUBLED_FOR."""
    long_ago = ConnectedMailbox.problem_since < func.current_timestamp() - TROUBLED_FOR
    return connection.execute(_of(account_id).where(or_(ConnectedMailbox.state == "paused", long_ago))).all()


def access(connection: Connection, *, id: int, account_id: int) -> MailboxAccess | None:
    """How to open one of a person's mailboxes; None if it does not exist or is being disconnected."""
    shown = columns(
        ConnectedMailbox, "id account_id address host port security username login_method secret state problem"
    )
    found = select(*shown).where(
        ConnectedMailbox.id == id, ConnectedMailbox.account_id == account_id, ConnectedMailbox.state != "leaving"
    )
    return row_as(connection.execute(found).first(), MailboxAccess)


def secret(connection: Connection, *, id: int) -> Found | None:
    """The encrypted password or refresh token as it is stored now, and the login method."""
    found = select(ConnectedMailbox.secret, ConnectedMailbox.login_method).where(ConnectedMailbox.id == id)
    return connection.execute(found).first()


def of_everyone(connection: Connection) -> Sequence[Found]:
    """Up to MAX_LISTED mailboxes for operators, the longest troubled first, then the newest: each with the process that
    owns it, and how many messages are snoozed in it."""
    is_owned = ConnectedMailbox.owned_until > func.clock_timestamp()
    lies_there = and_(MailboxMessage.mailbox_id == ConnectedMailbox.id, MailboxMessage.place == "snoozed")
    snoozed = select(func.count()).select_from(MailboxMessage).where(lies_there).scalar_subquery()
    found = select(
        *columns(ConnectedMailbox, "id address state problem problem_since synced_at"),
        case((is_owned, ConnectedMailbox.owner)).label("owner"),
        snoozed.label("snoozed"),
    )
    order = (ConnectedMailbox.problem_since.asc().nulls_last(), ConnectedMailbox.id.desc())
    return connection.execute(found.order_by(*order).limit(MAX_LISTED)).all()


def _of(account_id: int) -> Select[*tuple[object, ...]]:
    found = select(*columns(ConnectedMailbox, _SHOWN)).where(ConnectedMailbox.account_id == account_id)
    return found.order_by(ConnectedMailbox.id)
