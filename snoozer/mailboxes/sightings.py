"""USE CASE of messages seen in connected mailboxes: assign the id by which a snooze knows each of them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Known, Sighting, Where
from snoozer.mail import headers
from snoozer.mailboxes.imap.messages import Head
from snoozer.queue import ledger
from snoozer.snoozes.input import MAX_MESSAGE_ID_OCTETS

IsAnotherCopy = Callable[[Known], bool]

_SUBSTITUTE_DOMAIN = "mailbox.snoozer.invalid"


def sighting(
    head: Head,
    *,
    mailbox_id: int,
    user_email: str,
    folder: str,
    uidvalidity: int,
    home: str,
    place: Where,
) -> Sighting:
    """A message that is now in `folder` and returns to `home`."""
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
        thread_ids=_thread_ids(head),
    )


def _thread_ids(head: Head) -> str | None:
    """The ids of the messages before it and then its own, by which replies are found; None if it has no id."""
    before = headers.every_id(head.references or head.in_reply_to)
    return " ".join(headers.thread_ids(" ".join([*before, head.own_id]))) if head.own_id else None


def message_id(head: Head, *, mailbox_id: int, uidvalidity: int) -> str:
    """The message's own id; a substitute if it has none or a longer id than a line of a mail may be."""
    return usable_id(head.message_id) or substitute_id(head, mailbox_id=mailbox_id, uidvalidity=uidvalidity)


def usable_id(own: str | None) -> str | None:
    """A message's own id, or None if it is unusable for a snooze."""
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
    is_another_copy: IsAnotherCopy,
) -> tuple[Sighting, str | None]:
    """The sighting under the id of its message, and the message's sender. Our own reminder stands for the message it is
    about; if there are two copies, in another place or mailbox, one gets an id of its own."""
    [found] = identified_many(connection, [(head, seen)], mailbox_id=mailbox_id, is_another_copy=is_another_copy)
    return found


def identified_many(
    connection: Connection,
    pairs: Sequence[tuple[Head, Sighting]],
    *,
    mailbox_id: int,
    is_another_copy: IsAnotherCopy,
    taken: Collection[str] = (),
) -> list[tuple[Sighting, str | None]]:
    """As `identified` for messages of one person; the ids are distinct, and none is in `taken`."""
    if not pairs:
        return []
    user_email, ids = pairs[0][1].user_email, [seen.message_id for _, seen in pairs]
    reminded = ledger.find_reminders(connection, reminder_message_ids=ids, user_email=user_email)
    ids = [reminded[id].message_id if id in reminded else id for id in ids]
    known = mailbox_store.find(connection, user_email=user_email, message_ids=ids)
    taken = set(taken)
    found: list[tuple[Sighting, str | None]] = []
    for own, (head, seen) in zip(ids, pairs, strict=True):
        about, entry = reminded.get(seen.message_id), known.get(own)
        is_copy = own in taken or (entry is not None and (entry.mailbox_id != mailbox_id or is_another_copy(entry)))
        id = substitute_id(head, mailbox_id=mailbox_id, uidvalidity=seen.uidvalidity) if is_copy else own
        taken.add(id)
        sender = headers.sender(head.sender).email if about is None else about.sender_email
        found.append((replace(seen, message_id=id), sender))
    return found
