"""The owner of an address for incoming mail: the person who has it, with a separator also `ann+lists@` of `ann@`.

Mail to postmaster and abuse of the doors' domain (RFC 5321, 4.5.1, RFC 2142) is kept for the operator, as mail of the
admin who was first. Nothing is forwarded, so it makes no loop.
"""

from sqlalchemy import Connection, select

from snoozer.db.models import Account
from snoozer.mailboxes import inbox
from snoozer.mailboxes.inbound.doors import Site

OPERATORS = frozenset({"postmaster", "abuse"})


def owner(connection: Connection, *, address: str, site: Site) -> str | None:
    """The address of the account whose mailbox keeps mail to `address`; None if no account does. An address that a
    person added comes before a detail of another address (RFC 5233)."""
    found = inbox.owner(connection, address=address)
    if found is not None:
        return found
    # RFC 5321, 4.5.1: postmaster is an address without a domain, too.
    local_part, _, domain = (address if "@" in address else f"{address}@{site.domain}").rpartition("@")
    if site.domain and domain.lower() == site.domain and local_part.lower() in OPERATORS:
        return _operator(connection)
    user, separator, _ = local_part.partition(site.separator) if site.separator else (local_part, "", "")
    return inbox.owner(connection, address=f"{user}@{domain}") if user and separator else None


def _operator(connection: Connection) -> str | None:
    admins = select(Account.email).where(
        Account.given_role == "admin", Account.verified_at.is_not(None), Account.disabled_at.is_(None)
    )
    return connection.execute(admins.order_by(Account.id).limit(1)).scalar_one_or_none()
