"""Return messages from a folder whose name is not a time to their previous folder. Each is entered first, so that the
move is an intent like any other: the next pass finds and removes a copy that a crash leaves."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Entry, Sighting
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.imap.messages import Head
from snoozer.mailboxes.sync.notices import unreadable_folder
from snoozer.mailboxes.sync.session import INBOX, OwnerChanged, Session
from snoozer.snoozes.input import SnoozeError

# Entries without a snooze, which are forgotten once their message is back.
_DOMAIN = "given-back.snoozer.invalid"


def give_back(
    session: Session,
    folder: Folder,
    heads: Sequence[Head],
    *,
    uidvalidity: int,
    error: SnoozeError,
    now: datetime,
    language: str,
) -> None:
    """Leave the notice that explains the error, and enter the messages of the folder: this pass or a later one moves
    them back. Snoozed messages return to the folder of snoozed messages and keep their time. Raises ImapError, and
    OwnerChanged."""
    message_id, mail = unreadable_folder(
        session, folder, error=error, uidvalidity=uidvalidity, now=now, language=language
    )
    session.imap.select(INBOX)
    was_moved_too = message_id in {head.message_id for head in heads}
    if not was_moved_too and not session.imap.has_message_id(message_id):
        session.imap.append(INBOX, mail, date=now)
    with session.transaction() as connection:
        for head in heads:
            _enter(connection, session, head, folder=folder.name, uidvalidity=uidvalidity)
    for head in heads:
        session.failpoint("noticed", head.message_id or "")


def _enter(connection: Connection, session: Session, head: Head, *, folder: str, uidvalidity: int) -> None:
    mark = head.fingerprint
    sighting = Sighting(
        user_email=session.mailbox.user_email,
        message_id=_id_of(connection, session, head, uidvalidity=uidvalidity),
        header_id=mark.message_id,
        fingerprint=mark.sha256,
        size=mark.size,
        internal_date=mark.internaldate,
        home=INBOX,
        place="snoozed",
        folder=folder,
        uidvalidity=uidvalidity,
        uid=head.uid,
    )
    id = mailbox_store.notice(connection, sighting, mailbox_id=session.mailbox.id, fence=session.fence, wanted="home")
    if id is None:
        raise OwnerChanged


def _id_of(connection: Connection, session: Session, head: Head, *, uidvalidity: int) -> str:
    """The message's own id if it is a snoozed message that was moved here, else an id for this occasion."""
    user_email = session.mailbox.user_email
    ids = [] if head.message_id is None else [head.message_id]
    known = mailbox_store.find(connection, user_email=user_email, message_ids=ids).get(head.message_id or "")
    if known is not None and known.mailbox_id == session.mailbox.id and known.place != "home":
        is_copy = known.folder == session.ours.snoozed and known.uid in session.snoozed_uids
        if not is_copy:
            return str(head.message_id)
    return f"<{session.mailbox.id}.{uidvalidity}.{head.uid}.{head.fingerprint.sha256[:16]}@{_DOMAIN}>"


def forget_given_back(session: Session, entries: Sequence[Entry]) -> None:
    """Must be called after moves: forget the entries that only served to give a message back, and are done."""
    if any(entry.message_id.endswith(f"@{_DOMAIN}>") for entry in entries):
        with session.transaction() as connection:
            mailbox_store.forget_given_back(
                connection, mailbox_id=session.mailbox.id, domain=_DOMAIN, fence=session.fence
            )
