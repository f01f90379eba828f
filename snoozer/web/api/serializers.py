"""Database rows as the models of the API."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from flask import url_for

from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.state_words import public_state
from snoozer.queue.promise import CHOICES
from snoozer.timephrase.describe import MINUTE, distance
from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import zone_in_words
from snoozer.web import context
from snoozer.web.api import preconditions
from snoozer.web.api.models.recurrence import RecurrenceRule
from snoozer.web.api.models.snoozes import Links, Send, Snooze, SnoozeHistory
from snoozer.web.text.phrase_text import recurrence_text
from snoozer.web.text.redaction import without_addresses
from snoozer.web.text.status import late_because
from snoozer.web.text.time_format import TimeFormatter


def snooze(row: Found, *, account: Account, now: datetime) -> Snooze:
    """Times have the offset of the snooze's own zone."""
    clock = _clock(row, account=account, now=now)
    late = late_because(row, now=now)
    show, page = url_for("api.show", id=row.id), url_for("snoozes.show", id=row.id)
    return Snooze(
        id=row.id,
        state=public_state(row.state, row.why),
        message_id=row.message_id,
        subject=row.subject,
        sender_email=row.sender_email,
        note=row.note,
        remind_at=clock.local(row.remind_at).isoformat(),
        scheduled_for=clock.local(row.promise).isoformat(),
        reading=_in_words(clock, row.promise),
        repeats=None if row.recurrence is None else recurrence_text(row.recurrence, clock),
        recurrence=_rule(row.recurrence),
        late_seconds=None if late is None else round(late[0].total_seconds(), 3),
        late_because=(late[1] or None) if late else None,
        **_choices(row, account),
        etag=preconditions.snooze_etag(row),
        links=Links(self=absolute(show), page=absolute(page)),
    )


def history(row: Found, sends: Sequence[Found], *, account: Account, now: datetime) -> SnoozeHistory:
    """The snooze with its attempts, its last error and its reminders in the ledger."""
    clock = _clock(row, account=account, now=now)
    return SnoozeHistory(
        **snooze(row, account=account, now=now).model_dump(exclude_unset=True),
        sent_at=clock.local(row.sent_at).isoformat() if row.sent_at else None,
        attempts=row.attempts,
        last_error=None if row.last_error is None else without_addresses(row.last_error),
        last_error_at=clock.local(row.last_error_at).isoformat() if row.last_error_at else None,
        sends=_sends(sends, clock),
    )


def sends(rows: Sequence[Found], *, row: Found, account: Account, now: datetime) -> list[Send]:
    """Reminders in the ledger, their times with the offset of the snooze's zone."""
    return _sends(rows, _clock(row, account=account, now=now))


def stored_key(key: str, *, account_id: int) -> str:
    """The serialization key of a person's program, prefixed for the queue so that rows of other people do not wait for
    it."""
    return f"{account_id}:{key}"


def own_key(stored: str | None, *, account_id: int) -> str | None:
    """The inverse of `stored_key`; a key of another producer is returned unchanged."""
    return None if stored is None else stored.removeprefix(f"{account_id}:")


def absolute(path: str) -> str:
    """The URL of a path, from BASE_URL and never from the request."""
    return context.settings().base_url + path


def _choices(row: Found, account: Account) -> dict[str, Any]:
    """The columns that people choose; what was not chosen as the default that it has."""
    key = own_key(row.serialization_key, account_id=account.id)
    defaults = {"reply_policy": row.reply_policy or "keep", "reply_scope": row.reply_scope or "message"}
    return {name: getattr(row, name) for name in CHOICES} | defaults | {"serialization_key": key}


def _rule(plain: Any) -> RecurrenceRule | None:
    """A stored recurrence for programs. Rows may come from any program: None if it cannot be parsed."""
    if plain is None:
        return None
    try:
        found = Recurrence.from_json(plain)
        lists = {"weekdays": list(found.weekdays), "rest": list(found.rest)}
        return RecurrenceRule.model_construct(**vars(found) | lists)
    except ValueError:
        return None


def _in_words(clock: TimeFormatter, promise: datetime) -> str:
    """The promise in the words of `/when`; the distance only while it is in the future."""
    away = promise - clock.now
    ahead = f" ({distance(away)})" if away >= MINUTE else ""
    return f"{clock.date(promise)}, {clock.dates.clear_hour(clock.local(promise))}{ahead}, {zone_in_words(clock.zone)}."


def _clock(row: Found, *, account: Account, now: datetime) -> TimeFormatter:
    return TimeFormatter(now=now, zone=row.zone or account.zone, locale=account.locale)


def _sends(rows: Sequence[Found], clock: TimeFormatter) -> list[Send]:
    return [
        Send(
            state=send.state,
            scheduled_for=clock.local(send.scheduled_for).isoformat(),
            sent_at=clock.local(send.sent_at).isoformat() if send.sent_at else None,
            late=send.late,
            resends=send.resends,
            message_id=send.reminder_message_id,
        )
        for send in rows
    ]
