"""Rows of a connected mailbox: the server's list, joined with the snoozes of its messages."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import MAXYEAR, datetime

from sqlalchemy import Connection

from snoozer.db.queries import Found as DatabaseRow
from snoozer.db.queries import messages
from snoozer.mail import headers
from snoozer.mailboxes.imap.messages import SEEN
from snoozer.mailboxes.imap.reading import Listed
from snoozer.mailboxes.read.keys import MessageKey
from snoozer.mailboxes.read.mailbox import Row
from snoozer.mailboxes.sightings import usable_id


def row_of(each: Listed, *, folder: str, uidvalidity: int) -> Row:
    """Build a row from the server's description of a message."""
    head, charset = each.head, each.charset
    flags = {flag.lower() for flag in head.flags}
    sender = headers.sender(head.sender, fallback=charset)
    return Row(
        key=str(MessageKey(folder, uidvalidity, head.uid)),
        message_id=usable_id(head.message_id),
        subject=headers.subject(head.subject, fallback=charset),
        sender_name=sender.name,
        sender_email=sender.email,
        date=head.internaldate,
        unread=SEEN.lower() not in flags,
        flagged="\\flagged" in flags,
        answered="\\answered" in flags,
        has_attachments=each.has_attachments,
        size=head.size,
        snippet=each.snippet,
    )


def with_snoozes(
    connection: Connection,
    rows: dict[int, Row],
    *,
    mailbox_id: int,
    user_email: str,
    folder: str,
    uidvalidity: int,
) -> dict[int, Row]:
    """The rows by their UIDs, joined with the entries of their messages and with live snoozes."""
    entries = messages.entered_at(
        connection, mailbox_id=mailbox_id, folder=folder, uidvalidity=uidvalidity, uids=list(rows)
    )
    joined = rows | {entry.uid: _entered(rows[entry.uid], entry) for entry in entries}
    known = {entry.uid for entry in entries}
    ids = {row.message_id for uid, row in rows.items() if uid not in known and row.message_id is not None}
    live = messages.not_entered(connection, user_email=user_email, message_ids=ids) if ids else []
    by_id = {snooze.message_id: snooze for snooze in live}
    return {
        uid: _snoozed(row, by_id[row.message_id]) if uid not in known and row.message_id in by_id else row
        for uid, row in joined.items()
    }


def moving_row(entry: DatabaseRow) -> Row:
    """A message that is still in its old place, according to the database."""
    return Row(
        key=str(MessageKey(entry.folder, entry.uidvalidity, entry.uid)),
        message_id=entry.message_id,
        subject=entry.subject,
        sender_name=None,
        sender_email=entry.sender_email,
        date=entry.internal_date,
        unread=False,
        flagged=False,
        answered=False,
        has_attachments=False,
        size=entry.size,
        moving=True,
    )


def asleep_row(row: Row, entry: DatabaseRow | None) -> Row:
    """A message in the folder of snoozed messages, with its return time if it has an entry."""
    if entry is None:
        return row
    known = replace(_entered(row, entry) if not row.moving else _snoozed(row, entry), thread_size=entry.thread_size)
    return known if known.remind_at is None else replace(known, scheduled_for=_wakes(entry))


def _wakes(entry: DatabaseRow) -> datetime | None:
    """When a message returns; None if it does not by itself, as until someday."""
    at: datetime | None = entry.wakes
    return at if at is not None and at.year < MAXYEAR else None


def conversation_row(row: Row, members: Sequence[Row], *, size: int) -> Row:
    """The newest message's row for a conversation of `size`, of which `members` are known."""
    returned = [member.returned_at for member in members if member.returned_at is not None]
    return replace(
        row,
        thread_size=size,
        unread=any(member.unread for member in members),
        returned_at=max(returned, default=None),
    )


def _entered(row: Row, entry: DatabaseRow) -> Row:
    returned_at = entry.returned_at if entry.place == "home" and row.unread and not entry.moving else None
    known = replace(row, message_id=entry.snoozed_as, moving=entry.moving, returned_at=returned_at)
    return known if entry.snooze_id is None else _snoozed(known, entry)


def _snoozed(row: Row, snooze: DatabaseRow) -> Row:
    return replace(
        row,
        snooze_id=snooze.snooze_id,
        remind_at=snooze.remind_at,
        scheduled_for=snooze.scheduled_for,
        recurrence=snooze.recurrence,
        claimed_at=snooze.claimed_at,
    )
