"""What a page without a session may know of a person."""

from sqlalchemy import Connection, select

from snoozer.postgres.models import Account

PLAIN_LOCALE = "en_GB"


def locale_of(connection: Connection, *, user_email: str) -> str:
    """How this person writes dates; the plain way for an address without an account."""
    return (
        connection.execute(select(Account.locale).where(Account.email == user_email)).scalar_one_or_none()
        or PLAIN_LOCALE
    )
