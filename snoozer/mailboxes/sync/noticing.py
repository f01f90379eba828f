"""Snooze messages that a person moved, with any mail program, into a folder that means a time."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db import mailbox_store, mailboxes
from snoozer.db.mailbox_store import Sighting, Where
from snoozer.db.statements import database_time
from snoozer.mail import headers
from snoozer.mailboxes import sightings
from snoozer.mailboxes.folder_times import personal_times, read_by_hand, read_folder
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.imap.messages import RETURNED, Head
from snoozer.mailboxes.sync.giving_back import give_back
from snoozer.mailboxes.sync.session import OwnerChanged, Session
from snoozer.snoozes import acts, input
from snoozer.snoozes.acts import By, Wanted
from snoozer.snoozes.input import Message, SnoozeError
from snoozer.timephrase.result import ParsedTime
from snoozer.translations import language_of

log = logging.getLogger(__name__)

ROUTE = "mailbox"
# A transaction holds its locks until it ends.
SNOOZED_AT_ONCE = 50
READ_AT_ONCE = 500


def notice(session: Session, folder: Folder) -> bool:
    """Snooze the messages in a folder whose name is a time; if the name is not a time, give them back and leave one
    notice in the inbox. Return False if the turn's time ends before all were read. Raise ImapError, and OwnerChanged.
    """
    selected = session.imap.select(folder.name)
    new = _new_uids(session, folder.name, uidvalidity=selected.uidvalidity)
    for start in range(0, len(new), READ_AT_ONCE):
        if start and session.is_late:
            return False
        session.imap.select(folder.name)
        heads = [head for head in session.imap.heads(new[start : start + READ_AT_ONCE]) if not head.deleted]
        if heads and not _notice(session, folder, heads, uidvalidity=selected.uidvalidity):
            return False
    return True


def _notice(session: Session, folder: Folder, new: Sequence[Head], *, uidvalidity: int) -> bool:
    with session.transaction() as connection:
        times, now = personal_times(connection, account_id=session.mailbox.account_id), database_time(connection)
    try:
        reading = read_folder(folder, times, now=now)
    except SnoozeError as error:
        give_back(
            session,
            folder,
            new,
            uidvalidity=uidvalidity,
            error=error,
            now=now,
            language=language_of(times.locale),
        )
        return True
    return snooze_all(session, folder.name, new, uidvalidity=uidvalidity, reading=reading, now=now)


def notice_by_hand(session: Session, folder: str, heads: Sequence[Head], *, uidvalidity: int) -> bool:
    """Snooze messages moved by hand into the folder of snoozed messages, without a time: they return tomorrow. Return
    False if the turn's time ends before that."""
    with session.transaction() as connection:
        times, now = personal_times(connection, account_id=session.mailbox.account_id), database_time(connection)
    reading = read_by_hand(times, now=now)
    if returned := [head.uid for head in heads if RETURNED in map(str.lower, head.flags)]:
        session.imap.select(folder)
        session.imap.change_keyword(returned, RETURNED, add=False)
    return snooze_all(session, folder, heads, uidvalidity=uidvalidity, reading=reading, now=now)


def _new_uids(session: Session, folder: str, *, uidvalidity: int) -> list[int]:
    """The UIDs in the selected folder that have no entry yet."""
    uids = session.imap.uids()
    if not uids:
        return []
    with session.transaction() as connection:
        known = mailbox_store.list_in_folder(
            connection, mailbox_id=session.mailbox.id, folder=folder, uidvalidity=uidvalidity
        )
    return [uid for uid in uids if uid not in known]


def snooze_all(
    session: Session,
    folder: str,
    heads: Sequence[Head],
    *,
    uidvalidity: int,
    reading: ParsedTime,
    now: datetime,
    place: Where = "snoozed",
    known: Mapping[int, str] | None = None,
    older: Mapping[int, Sequence[Sighting]] | None = None,
) -> bool:
    """Snooze messages of a folder to this time; `known` maps the UIDs of messages with entries there to their
    Message-IDs, and `older` their UIDs to the messages that leave with them. Return False if there are more messages
    than a turn handles."""
    for start in range(0, len(heads), SNOOZED_AT_ONCE):
        if start and session.is_late:
            return False
        with session.transaction() as connection:
            if not mailboxes.lock_owner(connection, account_id=session.mailbox.account_id):
                # The account was closed in the meantime: from now on no message is snoozed there.
                raise OwnerChanged
            for head in heads[start : start + SNOOZED_AT_ONCE]:
                seen = sightings.sighting(
                    head,
                    mailbox_id=session.mailbox.id,
                    user_email=session.mailbox.user_email,
                    folder=folder,
                    uidvalidity=uidvalidity,
                    home=folder if place == "home" else session.origin,
                    place=place,
                )
                if known is not None and head.uid in known:
                    seen = replace(seen, message_id=known[head.uid])
                _snooze(connection, session, head, seen, (older or {}).get(head.uid, ()), reading=reading, now=now)
        for head in heads[start : start + SNOOZED_AT_ONCE]:
            session.failpoint("noticed", head.message_id or "")
    return True


def _snooze(
    connection: Connection,
    session: Session,
    head: Head,
    seen: Sighting,
    older: Sequence[Sighting],
    *,
    reading: ParsedTime,
    now: datetime,
) -> None:
    seen, sender = sightings.identified(
        connection,
        head,
        seen,
        mailbox_id=session.mailbox.id,
        is_another_copy=lambda known: _is_another_copy(session, known, seen),
    )
    message = Message(
        message_id=seen.message_id,
        subject=headers.subject(head.subject),
        sender_email=sender,
    )
    reminder_time = input.reminder_time_of(reading, now=now)
    # The snooze is locked before its message, as everywhere else.
    wanted = Wanted(message=message, time=reminder_time, reading=reading)
    [snoozed] = acts.snooze(connection, [wanted], By(session.mailbox.user_email, ROUTE))
    if mailbox_store.notice(connection, seen, mailbox_id=session.mailbox.id, fence=session.fence) is None:
        raise OwnerChanged
    others = [replace(one, snooze_id=one.snooze_id or snoozed.id) for one in older]
    mailbox_store.enter(connection, others, mailbox_id=session.mailbox.id)


def _is_another_copy(session: Session, known: mailbox_store.Known, seen: Sighting) -> bool:
    """Whether the known message is snoozed, or is still in a folder of ours, so that this one is a copy."""
    if known.folder == seen.folder:
        is_elsewhere = known.uidvalidity == seen.uidvalidity and known.uid != seen.uid
        return is_elsewhere and (known.is_snoozed or seen.place == "snoozed")
    return known.place == "snoozed" and known.folder == session.ours.snoozed and known.uid in session.snoozed_uids
