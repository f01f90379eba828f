"""Converts a request about a snooze for the use cases: its message, its time, and its options."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit
from uuid import uuid4

from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.queries import Found, api_snoozes, mailboxes
from snoozer.db.roles import at_least
from snoozer.db.statements import database_time
from snoozer.queue.promise import CONDITIONS, OPTIONS, EnqueueOptions, ReminderTime
from snoozer.snoozes import chosen_shape, input
from snoozer.snoozes.acts import Wanted
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.recurrence import next_occurrence
from snoozer.timephrase.result import ParsedTime
from snoozer.timephrase.zones import wall_time
from snoozer.web import context
from snoozer.web.api import serializers
from snoozer.web.api.models.recurrence import RecurrenceRule
from snoozer.web.api.models.snoozes import Change, NewSnooze, Timed, Times
from snoozer.web.api.problems import invalid_fields

RequestedTime = tuple[ReminderTime, ParsedTime | None]


def message_of(connection: Connection, account: Account, new: NewSnooze) -> input.Message:
    """The named message, with its stored subject and sender; or a new Message-ID if there is only a subject."""
    if new.message_id is None:
        if new.subject is None:
            raise invalid_fields({"message_id": "message_id is missing: name the message, or give a subject."})
        host = urlsplit(context.settings().base_url).hostname or "snoozer.invalid"
        return input.Message(message_id=f"<{uuid4()}@{host}>", subject=new.subject, sender_email=new.sender_email)
    subject, sender = api_snoozes.envelope(connection, user_email=account.email, message_id=new.message_id)
    return input.Message(
        message_id=new.message_id, subject=new.subject or subject, sender_email=new.sender_email or sender
    )


def options_of(account: Account, body: Timed) -> EnqueueOptions:
    """The options in the body. Raises Refused for a priority above other people's without the role for it."""
    if body.priority is not None and body.priority > 0 and not at_least(account.role, "operator"):
        sentence = "priority above 0 comes before what other people wait for: it needs the role of an operator."
        raise invalid_fields({"priority": sentence})
    options = {name: getattr(body, name) for name in OPTIONS}
    if body.serialization_key is not None:
        options["serialization_key"] = serializers.stored_key(body.serialization_key, account_id=account.id)
    return EnqueueOptions(**options)


def wanted(connection: Connection, account: Account, new: NewSnooze) -> Wanted:
    """The snooze that `new` requests. Raises SnoozeError and Refused."""
    time, parsed = time_of(connection, account, new, note=new.note)
    message, options = message_of(connection, account, new), options_of(account, new)
    input.valid_message_id(message.message_id)
    return Wanted(
        message=message,
        time=time,
        reading=parsed,
        options=options,
        search_in=_mailboxes(connection, account, new),
        whole=new.conversation,
    )


def _mailboxes(connection: Connection, account: Account, new: NewSnooze) -> Sequence[int] | None:
    """Where its message is searched for: a made-up one nowhere. Raises Refused for another person's mailbox."""
    if new.mailbox is not None and mailboxes.find(connection, id=new.mailbox, account_id=account.id) is None:
        raise invalid_fields({"mailbox": f"You have no mailbox {new.mailbox}."})
    if new.message_id is None:
        return ()
    return None if new.mailbox is None else (new.mailbox,)


def time_of(connection: Connection, account: Account, body: Times, *, note: str | None) -> RequestedTime:
    """The time in `remind_at`, `when` or `recurrence`, and the parsed phrase if there was one. Raises SnoozeError if it
    cannot be kept."""
    now, zone = database_time(connection), body.zone or account.zone
    if body.recurrence is not None:
        return _answered(_first_of(body.recurrence, now=now, zone=zone, note=note), body), None
    if body.remind_at is not None and body.remind_at.tzinfo is not None:
        return _answered(input.reminder_time_at(body.remind_at, now=now, zone=zone, note=note), body), None
    phrase = body.remind_at.isoformat() if body.remind_at is not None else body.when or ""
    own = chosen_shape.days_for_phrases(connection, account_id=account.id)
    parsed = input.parse_phrase(phrase, now=now, zone=zone, locale=body.locale or account.locale, own=own)
    return _answered(input.reminder_time_of(parsed, now=now, note=note), body), parsed


def changed_time(connection: Connection, account: Account, body: Change, row: Found) -> RequestedTime:
    """The row's time after a PATCH. Without a new time the promise is kept."""
    note = body.note if "note" in body.model_fields_set else row.note
    if body.has_time():
        return time_of(connection, account, body, note=note)
    now = min(database_time(connection), row.promise - timedelta(seconds=1))
    same = input.reminder_time_at(row.promise, now=now, zone=account.zone, note=note)
    kept = {name: getattr(row, name) for name in vars(same) if name not in {"remind_at", "note"}}
    return _answered(replace(same, **kept), body), None


def _first_of(rule: RecurrenceRule, *, now: datetime, zone: str, note: str | None) -> ReminderTime:
    """The first time of a series. Raises SnoozeError if it has none within ten years."""
    recurrence = rule.recurrence(now=now, zone=zone)
    first = next_occurrence(recurrence, after=now, zone=zone)
    if first is None:
        raise SnoozeError("bad_recurrence", "recurrence never comes again: its end has passed.")
    time = input.reminder_time_at(first, now=now, zone=zone, note=note)
    return replace(time, wall_time=wall_time(first, zone), time_kind="wall", recurrence=recurrence.as_json())


def _answered(time: ReminderTime, body: Times) -> ReminderTime:
    """The time with the conditions that the body names."""
    return replace(time, **{name: value for name in CONDITIONS if (value := getattr(body, name)) is not None})
