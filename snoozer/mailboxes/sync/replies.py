"""Replies that arrive in the inbox of a connected mailbox while a snooze of its owner waits for one. Only headers of
new messages are read, each once, including messages that arrived while no process watched."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from snoozer.db import replies
from snoozer.db.replies import Mark
from snoozer.mail.message_parser import REPLY_FIELDS, parse_reply
from snoozer.mailboxes.imap.folders import Selected
from snoozer.mailboxes.imap.messages import batches
from snoozer.mailboxes.sync.session import INBOX, OwnerChanged, Session
from snoozer.snoozes import replies as use_case
from snoozer.snoozes.replies import Arrival

ROUTE = "mailbox"
DAY = timedelta(days=1)
CLOCKS_DIFFER = timedelta(seconds=10)


def receive(session: Session) -> int | None:
    """Apply new messages to snoozes that wait for a reply; return the UID up to which the inbox is read, None if no
    snooze waits. Raise ImapError, and OwnerChanged if another process owns the mailbox."""
    with session.transaction() as connection:
        mark = replies.read_mark(connection, mailbox_id=session.mailbox.id)
    if mark is None or mark.since is None:
        if mark is not None and mark.uidnext is not None:
            with session.transaction() as connection:
                _save(connection, session, uidvalidity=None, uidnext=None)
        return None
    inbox = session.imap.select(INBOX)
    if not _goes_on(mark, inbox):
        uids = _uids_since(session, mark)
    elif mark.uidnext == inbox.uidnext:
        return inbox.uidnext
    else:
        uids, mark = session.imap.uids(above=mark.uidnext or 0), None
    for number, batch in enumerate(batches(uids)):
        if number and session.is_late and (mark is None or mark.read_at is None):
            return batch[0]
        _receive(session, batch, uidvalidity=inbox.uidvalidity, before=mark)
    read_up_to = max(inbox.uidnext, uids[-1] + 1 if uids else 0)
    if read_up_to:
        with session.transaction() as connection:
            _save(connection, session, uidvalidity=inbox.uidvalidity, uidnext=read_up_to)
    return read_up_to


def _goes_on(mark: Mark, inbox: Selected) -> bool:
    """Whether the inbox still numbers as before; a server restored from a backup may assign some UIDs a second time."""
    restored = inbox.uidnext != 0 and mark.uidnext is not None and inbox.uidnext < mark.uidnext
    return mark.uidvalidity == inbox.uidvalidity and not restored


def _uids_since(session: Session, mark: Mark) -> list[int]:
    """The UIDs to read in an inbox that was not read yet, or has a new UIDVALIDITY. Its server may be
    in another zone."""
    assert mark.since is not None  # noqa: S101 - a snooze waits
    return session.imap.uids_since((max(mark.since, mark.read_at or mark.since) - DAY).date())


def _receive(session: Session, uids: Sequence[int], *, uidvalidity: int, before: Mark | None) -> None:
    """Handle each message once: the mark is committed together with its effects. After a change of UIDVALIDITY,
    messages from before it are skipped, as they were already read under another UID."""
    found = session.imap.header_fields(uids, REPLY_FIELDS)
    read_at = None if before is None else before.read_at
    arrivals = [
        Arrival(head=parse_reply(fields.header), arrived_at=fields.internaldate)
        for fields in found
        if read_at is None or fields.internaldate > read_at - CLOCKS_DIFFER
    ]
    with session.transaction() as connection:
        use_case.receive(connection, user_email=session.mailbox.user_email, arrivals=arrivals, route=ROUTE)
        _save(connection, session, uidvalidity=uidvalidity, uidnext=uids[-1] + 1)


def _save(connection: Connection, session: Session, *, uidvalidity: int | None, uidnext: int | None) -> None:
    id, fence = session.mailbox.id, session.fence
    if not replies.save_mark(connection, mailbox_id=id, fence=fence, uidvalidity=uidvalidity, uidnext=uidnext):
        raise OwnerChanged
