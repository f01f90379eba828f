"""The folder from which a mail program moved messages into a folder of ours: IMAP does not tell it, but one folder has
fewer messages than before."""

from collections.abc import Mapping

from snoozer.mailboxes.imap import folder_meanings
from snoozer.mailboxes.imap.folders import Status
from snoozer.mailboxes.sync.session import INBOX, Session

# Messages do not return to these: a person took them out of there, or they only show messages of other folders.
_NEVER = frozenset({r"\All", r"\Drafts", r"\Flagged", r"\Junk", r"\Trash"})
_MAX_FOLDERS, _MAX_FOLDERS_ASKED_SINGLY = 500, 30


def read(session: Session) -> dict[str, Status] | None:
    """The folders from which messages may come, as they are now; None if there are too many to look at each time."""
    names = folders(session)
    most = _MAX_FOLDERS if session.imap.lists_statuses else _MAX_FOLDERS_ASKED_SINGLY
    return session.imap.statuses([INBOX, *names]) if len(names) <= most else None


def folders(session: Session) -> list[str]:
    """The folders from which messages may come, and to which they return."""
    ours = {session.ours.snoozed, *(folder.name for folder in folder_meanings.snooze_folders(session.folders))}
    return [
        folder.name
        for folder in session.folders
        if folder.selectable and folder.namespace == "personal" and folder.name not in ours
        if not folder.special_use & _NEVER
    ]


def origin(before: Mapping[str, Status] | None, now: Mapping[str, Status] | None) -> str:
    """The one folder that messages left in between; the inbox if there are several, or none is known."""
    if before is None or now is None:
        return INBOX
    known = {status.uidvalidity for status in before.values()}
    # A folder that was renamed is not new, although its name is.
    seen = {name: status for name, status in now.items() if name in before or status.uidvalidity not in known}
    left = [name for name, status in seen.items() if _left(before.get(name), status)]
    return left[0] if len(left) == 1 else INBOX


def _left(before: Status | None, now: Status) -> bool:
    """Whether messages left a folder; messages may also have come into it, and a new folder was empty."""
    if before is not None and before.uidvalidity != now.uidvalidity:
        return False
    uidnext, messages = (1, 0) if before is None else (before.uidnext, before.messages)
    return messages + (now.uidnext - uidnext) > now.messages
