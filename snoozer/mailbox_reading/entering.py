"""Snoozing a message of a connected mailbox from a page: it is entered with its snooze, in one transaction, and the
process that watches the mailbox moves it."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from snoozer import sightings
from snoozer.db import mailbox_messages
from snoozer.db.mailbox_messages import Known, Sighting
from snoozer.db.queries import snoozed_messages
from snoozer.imap.connection import Connection as ImapConnection
from snoozer.imap.errors import ImapError
from snoozer.imap.messages import Head
from snoozer.mailbox_reading.connected import ConnectedMailbox
from snoozer.mailbox_reading.folder_views import INBOX, roles
from snoozer.mailbox_reading.keys import GONE, MessageKey
from snoozer.mailbox_reading.mailbox import MailboxError, Role
from snoozer.mime import headers
from snoozer.snoozing import Message
from snoozer.translations import gettext


@dataclass(frozen=True, kw_only=True)
class SnoozeTarget:
    """What is to be snoozed: the message for `snoozing.snooze`, and where it was seen for `enter`."""

    message: Message
    sighting: Sighting
    mailbox_id: int


def snooze_target(mailbox: ConnectedMailbox, key: str) -> SnoozeTarget:
    """Look at a message that is about to be snoozed. Asks the mail server, so no transaction may be open. Raises
    MailboxError."""
    at = MessageKey.parse(key)
    head, role = mailbox.run(lambda connection: _look(connection, at))
    seen = sightings.sighting(
        head,
        mailbox_id=mailbox.access.id,
        user_email=mailbox.user_email,
        folder=at.folder,
        uidvalidity=at.uidvalidity,
        home=INBOX if role in ("snoozed", "snooze_into", "junk", "trash") else at.folder,
        place="snoozed" if role in ("snoozed", "snooze_into") else "home",
    )
    seen, sender = _identified(mailbox, head, seen)
    message = Message(message_id=seen.message_id, subject=headers.subject(head.subject), sender_email=sender)
    return SnoozeTarget(message=message, sighting=seen, mailbox_id=mailbox.access.id)


def enter(connection: Connection, target: SnoozeTarget) -> bool:
    """Enter a message that is snoozed in the same transaction, best after `snoozing.snooze`: everywhere else, too, the
    snooze is locked before its message. Returns False, and nothing may be committed, where the message was entered for
    another mailbox meanwhile, or this one is being disconnected."""
    return mailbox_messages.enter(connection, target.sighting, mailbox_id=target.mailbox_id) is not None


def _look(connection: ImapConnection, at: MessageKey) -> tuple[Head, Role]:
    role = roles(connection.folders()).get(at.folder, "other")
    opened = connection.examine(at.folder)
    found = connection.heads([at.uid]) if opened.uidvalidity == at.uidvalidity else []
    if not found or found[0].deleted:
        raise MailboxError("gone", gettext(GONE))
    return found[0], role


def _identified(mailbox: ConnectedMailbox, head: Head, seen: Sighting) -> tuple[Sighting, str | None]:
    """The sighting under the id by which its message is known, and the message's sender. A second copy of one that is
    snoozed has another id."""
    with mailbox.engine.begin() as transaction:
        entries = snoozed_messages.in_folder(
            transaction,
            mailbox_id=mailbox.access.id,
            folder=seen.folder,
            uidvalidity=seen.uidvalidity,
            uids=[seen.uid],
        )
        if entries:
            return replace(seen, message_id=entries[0].message_id), headers.sender(head.sender).email
        seen, sender = sightings.identified(
            transaction, head, seen, mailbox_id=mailbox.access.id, is_another_copy=lambda _: False
        )
        known = mailbox_messages.find(transaction, user_email=mailbox.user_email, message_id=seen.message_id)
    if known is not None and known.is_snoozed and mailbox.run(lambda connection: _exists(connection, known)):
        unique = sightings.substitute_id(head, mailbox_id=mailbox.access.id, uidvalidity=seen.uidvalidity)
        seen = replace(seen, message_id=unique)
    return seen, sender


def _exists(connection: ImapConnection, known: Known) -> bool:
    """Whether a snoozed message lies where it was seen last: then what a page shows is a copy of it."""
    try:
        opened = connection.examine(known.folder)
    except ImapError as error:
        if error.code != "no_folder":
            raise
        return False
    if opened.uidvalidity != known.uidvalidity:
        return False
    return any(not head.deleted for head in connection.heads([known.uid]))
