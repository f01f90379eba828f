"""A person's preferences (locale, own presets, times typed before), and the owners of open sessions."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session as OrmSession

from snoozer.db.accounts import SESSION_IDLE_FOR
from snoozer.db.models import Account, Session, TypedPhrase, UserPreset

DEFAULT_LOCALE = "en_GB"
MAX_PHRASES = 8


@dataclass(frozen=True, kw_only=True)
class SavedTimes:
    """A person's own presets as (label, phrase), None for the language's defaults; and recently typed phrases, newest
    first."""

    presets: tuple[tuple[str, str], ...] | None = None
    phrases: tuple[str, ...] = ()


def locale_of(connection: Connection, *, user_email: str) -> str:
    """The person's locale; a default for an address without an account."""
    locale = select(Account.locale).where(Account.email == user_email)
    return connection.execute(locale).scalar_one_or_none() or DEFAULT_LOCALE


def saved_times(connection: Connection, *, account_id: int) -> SavedTimes:
    """The times that this person uses."""
    own = select(UserPreset.label, UserPreset.phrase).where(UserPreset.account_id == account_id)
    presets = connection.execute(own.order_by(UserPreset.position))
    typed = select(TypedPhrase.phrase).where(TypedPhrase.account_id == account_id)
    phrases = connection.execute(typed.order_by(TypedPhrase.used_at.desc()).limit(MAX_PHRASES)).scalars()
    return SavedTimes(presets=tuple((row.label, row.phrase) for row in presets) or None, phrases=tuple(phrases))


def of_sessions(connection: Connection, *, token_hashes: Sequence[str]) -> dict[str, Account]:
    """The accounts of the given sessions that are open, by one query; it does not count as use of a session."""
    open_ones = (
        select(Session.token_hash, Account)
        .join(Account, Account.id == Session.account_id)
        .where(
            Session.token_hash.in_(token_hashes),
            Session.expires_at > func.clock_timestamp(),
            Session.seen_at > func.clock_timestamp() - SESSION_IDLE_FOR,
            Account.disabled_at.is_(None),
        )
    )
    with OrmSession(connection) as session:
        return {row.token_hash: row.Account for row in session.execute(open_ones)}
