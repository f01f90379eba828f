"""The flag that snoozes, if a mailbox's owner chose one: which messages of the inbox got it since, and which had it
before and are left alone."""

from collections.abc import Collection

from snoozer.db import mailbox_flagged
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.move import Place
from snoozer.mailboxes.sync.session import INBOX, OwnerChanged, Session


def newly_flagged(session: Session) -> tuple[set[int], int]:
    """Return the UIDs that got the flag since it was chosen, and the UIDVALIDITY of the inbox, which is then selected.
    On the first call, and after a change of UIDVALIDITY, only note the messages with the flag."""
    uidvalidity = session.imap.select(INBOX).uidvalidity
    carrying = _carrying(session)
    with session.transaction() as connection:
        owner = {"mailbox_id": session.mailbox.id, "fence": session.fence}
        left = mailbox_flagged.read(connection, **owner)
        if left is None:
            raise OwnerChanged
        if left.uidvalidity != uidvalidity:
            mailbox_flagged.note(connection, carrying, uidvalidity=uidvalidity, **owner)
            return set(), uidvalidity
        if gone := left.uids - carrying:
            mailbox_flagged.forget(connection, gone, **owner)
    return carrying - left.uids, uidvalidity


def leave_flagged(session: Session, uids: Collection[int], place: Place) -> None:
    """Messages returned to the inbox from another place: if they already carry the flag, it must not snooze them."""
    if session.mailbox.snooze_flag is None or place.name != INBOX or not uids:
        return
    uidvalidity = session.imap.select(INBOX).uidvalidity
    try:
        came_with_it = _carrying(session) & set(uids)
    except ImapError:
        if not session.imap.alive:
            raise
        return  # Flags that the server does not report snooze no messages.
    if came_with_it and place.uidvalidity in (None, uidvalidity):
        with session.transaction() as connection:
            mailbox_flagged.leave(
                connection, came_with_it, uidvalidity=uidvalidity, mailbox_id=session.mailbox.id, fence=session.fence
            )


def take_off(session: Session, uids: Collection[int], source: Place) -> None:
    """Remove the flag from messages that are about to leave the inbox, which is selected: it would snooze them again
    after their return. Messages that had the flag before the owner chose it keep it."""
    flag = session.mailbox.snooze_flag
    if flag is None or source.name != INBOX:
        return
    with session.transaction() as connection:
        left = mailbox_flagged.read(connection, mailbox_id=session.mailbox.id, fence=session.fence)
    if left is None:
        raise OwnerChanged
    if left.uidvalidity == source.uidvalidity:
        session.imap.remove_flag(sorted(set(uids) - left.uids), flag)


def _carrying(session: Session) -> set[int]:
    """The messages of the selected folder that have the flag."""
    return set() if session.mailbox.snooze_flag is None else set(session.imap.flagged(session.mailbox.snooze_flag))
