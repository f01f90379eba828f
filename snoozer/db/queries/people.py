"""What pages know of a person besides the account: how they write dates, and the times they use."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from snoozer.db.models import Account, TypedPhrase, UserPreset

PLAIN_LOCALE = "en_GB"
MOST_PHRASES = 8


@dataclass(frozen=True, kw_only=True)
class SavedTimes:
    """The times a person uses: their own presets as (label, phrase), None for the language's, and what they typed
    last, newest first."""

    presets: tuple[tuple[str, str], ...] | None = None
    phrases: tuple[str, ...] = ()


def locale_of(connection: Connection, *, user_email: str) -> str:
    """How this person writes dates; the plain way for an address without an account."""
    return (
        connection.execute(select(Account.locale).where(Account.email == user_email)).scalar_one_or_none()
        or PLAIN_LOCALE
    )


def saved_times(connection: Connection, *, account_id: int) -> SavedTimes:
    """The times this person uses."""
    presets = connection.execute(
        select(UserPreset.label, UserPreset.phrase)
        .where(UserPreset.account_id == account_id)
        .order_by(UserPreset.position)
    )
    phrases = connection.execute(
        select(TypedPhrase.phrase)
        .where(TypedPhrase.account_id == account_id)
        .order_by(TypedPhrase.used_at.desc())
        .limit(MOST_PHRASES)
    ).scalars()
    return SavedTimes(presets=tuple((row.label, row.phrase) for row in presets) or None, phrases=tuple(phrases))
