"""USE CASE of messages that are seen in connected mailboxes: by which id a snooze knows each of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from sqlalchemy import Connection

from snoozer.db import ledger, mailbox_messages
from snoozer.db.mailbox_messages import Known, Sighting
from snoozer.imap.messages import Head
from snoozer.mime import headers
from snoozer.snoozing import MAX_MESSAGE_ID_OCTETS

_SUBSTITUTE_DOMAIN = "mailbox.snoozer.invalid"


def sighting(
    head: Head,
    *,
    mailbox_id: int,
    user_email: str,
    folder: str,
    uidvalidity: int,
    home: str,
    place: Literal["home", "snoozed"],
) -> Sighting:
    """A message that is in `folder` now, and returns to `home`."""
    mark = head.fingerprint
    return Sighting(
        user_email=user_email,
        message_id=message_id(head, mailbox_id=mailbox_id, uidvalidity=uidvalidity),
        header_id=mark.message_id,
        fingerprint=mark.sha256,
        size=mark.size,
        internal_date=mark.internaldate,
        home=home,
        place=place,
        folder=folder,
        uidvalidity=uidvalidity,
        uid=head.uid,
        thread_ids=" ".join(headers.thread_ids(head.references or head.in_reply_to, mark.message_id)) or None,
    )


def message_id(head: Head, *, mailbox_id: int, uidvalidity: int) -> str:
    """The message's own id; another one where it has none, or one that is longer than a line of a mail may be."""
    return usable_id(head.message_id) or substitute_id(head, mailbox_id=mailbox_id, uidvalidity=uidvalidity)


def usable_id(own: str | None) -> str | None:
    """A message's own id, unless no snooze can be known by it."""
    if own is None or "\0" in own or len(own.encode("utf-8", "surrogatepass")) > MAX_MESSAGE_ID_OCTETS:
        return None
    return own


def substitute_id(head: Head, *, mailbox_id: int, uidvalidity: int) -> str:
    """An id for this one copy of a message."""
    return f"<{mailbox_id}.{uidvalidity}.{head.uid}.{head.fingerprint.sha256[:16]}@{_SUBSTITUTE_DOMAIN}>"


def identified(
    connection: Connection,
    head: Head,
    seen: Sighting,
    *,
    mailbox_id: int,
    is_another_copy: Callable[[Known], bool],
) -> tuple[Sighting, str | None]:
    """The sighting under the id of its message, and the message's sender: a reminder of ours stands for the message it
    is about; one of two copies, in another place or another mailbox, gets an id of its own."""
    user_email, sender = seen.user_email, headers.sender(head.sender).email
    reminded = ledger.find_reminder(connection, reminder_message_id=seen.message_id, user_email=user_email)
    if reminded is not None:
        seen, sender = replace(seen, message_id=reminded.message_id), reminded.sender_email
    known = mailbox_messages.find(connection, user_email=user_email, message_id=seen.message_id)
    if known is not None and (known.mailbox_id != mailbox_id or is_another_copy(known)):
        unique = substitute_id(head, mailbox_id=mailbox_id, uidvalidity=seen.uidvalidity)
        seen = replace(seen, message_id=unique)
    return seen, sender
