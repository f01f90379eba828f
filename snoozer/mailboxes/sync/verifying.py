"""Reminders that may have been sent to the address of a connected mailbox: search for them there, so that a reminder
that arrived is not sent again."""

from collections.abc import Sequence

from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.imap.messages import Fingerprint
from snoozer.mailboxes.sync.session import INBOX, Session
from snoozer.queue import events, ledger
from snoozer.queue.ledger import Sought

ROUTE = "mailbox"
# A search in each folder takes time; the others are sought by the next passes.
SOUGHT_AT_ONCE = 20
MAX_FOLDERS = 60
_FIRST = (r"\All", r"\Archive", r"\Trash", r"\Junk")


def verify(session: Session) -> None:
    """Look for each by its Message-ID, in the inbox and then in the other folders, and record the result in the ledger.
    If the turn's time is too short for a search, its reminder is left as it is. Raises ImapError."""
    uncertainty = session.uncertainty
    if not uncertainty.lookups:
        return
    with session.transaction() as connection:
        sought = ledger.list_sought(
            connection, mailbox_id=session.mailbox.id, uncertainty=uncertainty, batch_size=SOUGHT_AT_ONCE
        )
    # A rule of the person's may have filed it in a new folder.
    places = _places(session.imap.folders()) if sought else []
    for send in sought:
        found = _is_found(session, send, places)
        if found is None:
            return
        _record(session, send, found=found)


def _is_found(session: Session, send: Sought, places: Sequence[str]) -> bool | None:
    """None if the turn's time was over before every folder was searched."""
    for name in places:
        if session.is_late:
            return None
        if _lies_in(session, send, name):
            return True
    return False


def _record(session: Session, send: Sought, *, found: bool) -> None:
    id, fence, uncertainty = session.mailbox.id, session.fence, session.uncertainty
    with session.transaction() as connection:
        recorded = ledger.record_lookup(
            connection, id=send.id, found=found, mailbox_id=id, fence=fence, uncertainty=uncertainty
        )
        if recorded and found:
            events.append(connection, snooze_id=send.snooze_id, kind="verified", actor=ROUTE, route=ROUTE)


def _lies_in(session: Session, send: Sought, folder: str) -> bool:
    """A folder that cannot be searched counts as not containing it."""
    known = Fingerprint(send.reminder_message_id, sha256="", size=0, internaldate=send.sent_about)
    try:
        return bool(session.imap.find(known, folder))
    except ImapError:
        if not session.imap.alive:
            raise
        return False


def _places(folders: Sequence[Folder]) -> list[str]:
    selectable = [folder for folder in folders if folder.selectable]
    first = [folder.name for use in _FIRST for folder in selectable if use in folder.special_use]
    others = [folder.name for folder in selectable if folder.namespace == "personal"]
    return list(dict.fromkeys([INBOX, *first, *others]))[:MAX_FOLDERS]
