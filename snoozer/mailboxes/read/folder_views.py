"""Folders of a connected mailbox as a page lists them: the role of each, and their order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from snoozer.mailboxes.imap import folder_meanings
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.imap.folders import Count
from snoozer.mailboxes.read.keys import folder_key
from snoozer.mailboxes.read.mailbox import FolderView, Role

INBOX = "INBOX"
_ORDER: tuple[Role, ...] = ("inbox", "snoozed", "snooze_into", "archive", "sent", "drafts", "junk", "trash", "other")
_SPECIAL_USES: tuple[tuple[str, Role], ...] = (
    (r"\Archive", "archive"),
    (r"\Sent", "sent"),
    (r"\Drafts", "drafts"),
    (r"\Junk", "junk"),
    (r"\Trash", "trash"),
)
# Used if a server does not report the uses of its folders.
_USUAL_NAMES: dict[str, Role] = {
    **dict.fromkeys(("archive", "archives", "archiv"), "archive"),
    **dict.fromkeys(("sent", "sent items", "sent messages", "sent mail", "gesendet", "gesendete objekte"), "sent"),
    **dict.fromkeys(("drafts", "entwürfe"), "drafts"),
    **dict.fromkeys(("junk", "spam", "junk e-mail"), "junk"),
    **dict.fromkeys(("trash", "deleted items", "deleted messages", "papierkorb"), "trash"),
}


def folder_views(folders: Sequence[Folder], counts: Mapping[str, Count]) -> list[FolderView]:
    """The folders that can hold messages, the inbox first."""
    by_name = roles(folders)
    shown = sorted((each for each in folders if each.selectable), key=lambda each: _place(each, by_name[each.name]))
    levels = {_shown_levels(each) for each in shown}
    return [_view(each, by_name[each.name], counts.get(each.name), levels=levels) for each in shown]


def roles(folders: Sequence[Folder]) -> dict[str, Role]:
    """The role of each folder, by its raw name: at most one folder has each special use, such as the archive."""
    found: dict[str, Role] = {each.name: "other" for each in folders}
    found |= {each.name: role for role, each in _special(folders).items()}
    found |= {each.name: "snooze_into" for each in folder_meanings.snooze_folders(folders)}
    ours = folder_meanings.snoozed_folder(folders)
    found |= {ours.name: "snoozed"} if ours is not None else {}
    return found | {each.name: "inbox" for each in folders if each.name.upper() == INBOX}


def archive_of(folders: Sequence[Folder]) -> str | None:
    """The folder for finished messages; on servers that keep everything in one folder, that folder."""
    archive = next((name for name, role in roles(folders).items() if role == "archive"), None)
    everything = (each.name for each in folders if r"\All" in each.special_use and each.selectable)
    return archive or next(everything, None)


def _special(folders: Sequence[Folder]) -> dict[Role, Folder]:
    own = [each for each in folders if each.selectable and each.namespace == "personal"]
    found: dict[Role, Folder] = {}
    for use, role in _SPECIAL_USES:
        marked = [each for each in own if use in each.special_use]
        usual = [each for each in own if _usual_role(each) == role]
        if chosen := (marked or usual):
            found[role] = chosen[0]
    return found


def _usual_role(folder: Folder) -> Role | None:
    levels = _shown_levels(folder)
    return _USUAL_NAMES.get(levels[0].casefold()) if len(levels) == 1 else None


def _shown_levels(folder: Folder) -> tuple[str, ...]:
    """Drop the inbox, below which some servers keep everything."""
    is_below = len(folder.levels) > 1 and folder.levels[0].upper() == INBOX
    return folder.levels[1:] if is_below else folder.levels


def _place(folder: Folder, role: Role) -> tuple[int, list[str]]:
    is_root = _shown_levels(folder) == (folder_meanings.ROOT,)
    role = "snooze_into" if is_root else role
    return _ORDER.index(role), [level.casefold() for level in _shown_levels(folder)]


def _view(folder: Folder, role: Role, count: Count | None, *, levels: set[tuple[str, ...]]) -> FolderView:
    own = _shown_levels(folder)
    above = [length for length in range(1, len(own)) if own[:length] in levels]
    # Parents that are not in the list become part of its name.
    name = " / ".join(own[max(above, default=0) :])
    view = FolderView(key=folder_key(folder.name), name=name, role=role, unread=None, total=None, depth=len(above))
    return view if count is None else replace(view, unread=count.unread, total=count.total)
