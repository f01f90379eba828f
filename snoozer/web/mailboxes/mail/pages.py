"""The data from which the pages of a mailbox are rendered: the values of `mailboxes.read.mailbox`, whether Snoozer
keeps the mailbox itself or reads it at its server."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import url_for

from snoozer.db.queries import Found
from snoozer.mailboxes.imap import folder_meanings
from snoozer.mailboxes.read import kept
from snoozer.mailboxes.read.mailbox import FolderView, Role, Row
from snoozer.timephrase.date_format import month_name
from snoozer.translations import N_, ngettext
from snoozer.translations import gettext as _
from snoozer.web.text.history import DayGroup, group_by_day
from snoozer.web.text.time_format import TimeFormatter

INBOX_NAME = N_("Inbox")
_ICONS: dict[Role, str] = {
    "inbox": "inbox",
    "snoozed": "moon",
    "archive": "check",
    "sent": "plane",
    "drafts": "pencil",
    "junk": "slash",
    "trash": "close",
    "snooze_into": "clock",
    "other": "folder",
}
# Roles of folders whose messages can only be read, or taken out.
_NOT_TO_SNOOZE: frozenset[Role] = frozenset({"drafts", "junk", "trash"})
_NOT_TO_INBOX: frozenset[Role] = frozenset({"inbox", "drafts", "sent"})


@dataclass(frozen=True, kw_only=True)
class MailboxPages:
    """The URLs of a mailbox's pages; `id` is None for the kept mailbox."""

    title: str
    id: int | None = None

    @property
    def is_kept(self) -> bool:
        return self.id is None

    def url(self, page: str, key: str | None = None, **values: Any) -> str:
        """The path of a page of this mailbox, or of the message with this key."""
        return url_for(f"mailbox.{page}", mailbox_id=self.id, key=key, **values)

    def bulk_url(self, act: str) -> str:
        """The URL to which an act on many messages of this mailbox is posted."""
        if self.is_kept:
            return url_for(f"bulk.{act}_kept")
        return url_for(f"bulk.{act}_connected", mailbox_id=self.id)


KEPT = MailboxPages(title=kept.TITLE)


@dataclass(frozen=True, kw_only=True)
class FolderChoice:
    """A folder in the list next to the messages. `key` is None for the inbox."""

    key: str | None
    name: str
    role: Role
    count: str = ""
    depth: int = 0
    is_current: bool = False

    @property
    def icon(self) -> str:
        return _ICONS[self.role]

    @property
    def takes_snooze(self) -> bool:
        return self.role not in _NOT_TO_SNOOZE

    @property
    def takes_inbox(self) -> bool:
        return self.role not in _NOT_TO_INBOX


def switch(connected: Iterable[Found]) -> list[MailboxPages]:
    """The kept mailbox and the connected ones, to choose from."""
    return [KEPT, *(MailboxPages(title=row.address, id=row.id) for row in connected if row.state != "leaving")]


def folder_choices(folders: Sequence[FolderView], *, current: str | None, counts_all: bool) -> list[FolderChoice]:
    """The folders of a mailbox, of which `current` is shown; folders for snoozing, and their parent, only while they
    contain messages. With `counts_all`, each has a count."""
    waiting = any(folder.role == "snooze_into" and folder.total for folder in folders)
    return [
        FolderChoice(
            key=None if folder.role == "inbox" else folder.key,
            name=_(INBOX_NAME) if folder.role == "inbox" else folder.name,
            role=folder.role,
            count=_count(folder) or (str(folder.total) if counts_all else ""),
            depth=folder.depth,
            is_current=folder.key == current or (current is None and folder.role == "inbox"),
        )
        for folder in folders
        if folder.total or folder.key == current or not _is_for_moving(folder) or (waiting and folder.role == "other")
    ]


def group_rows(rows: Sequence[Row], times: TimeFormatter, *, role: Role) -> list[DayGroup]:
    """Rows of a page under headings: snoozed messages by the day of their return, the earliest first; in the inbox,
    returned unread ones first; all others by age."""
    if role == "snoozed":
        timed = sorted((row for row in rows if row.remind_at is not None), key=_wakes)
        others = [row for row in rows if row.remind_at is None]
        return group_by_day(timed, times, at=_wakes) + (
            [DayGroup(name=_("Without a time"), date="", rows=others)] if others else []
        )
    back = [row for row in rows if row.returned_at is not None and row.unread] if role == "inbox" else []
    back.sort(key=lambda row: row.returned_at or row.date, reverse=True)
    rest = group_by_age([row for row in rows if row not in back], times)
    return [DayGroup(name=_("Back"), date="", rows=back), *rest] if back else rest


def group_by_age(rows: Sequence[Row], times: TimeFormatter) -> list[DayGroup]:
    """Rows, the newest first, by day and farther back by month. A row above a newer one was moved, and belongs to the
    newer one's group."""
    groups: list[DayGroup] = []
    names: list[str] = []
    newest: datetime | None = None
    for row in reversed(rows):
        moment = row.returned_at or row.date
        newest = moment if newest is None else max(newest, moment)
        names.append(_age(newest, times))
    for name, row in zip(reversed(names), rows, strict=True):
        if not groups or groups[-1].name != name:
            groups.append(DayGroup(name=name, date="", rows=[]))
        groups[-1] = DayGroup(name=name, date="", rows=[*groups[-1].rows, row])
    return groups


def _wakes(row: Row) -> datetime:
    return row.scheduled_for or row.remind_at or row.date


def _age(moment: datetime, times: TimeFormatter) -> str:
    then, today = times.local(moment), times.local(times.now)
    days = (today.date() - then.date()).days
    if days < 1:
        return _("Today")
    if days < 7:
        return times.day(moment)
    return month_name(then.month, None if then.year == today.year else then.year)


def _is_for_moving(folder: FolderView) -> bool:
    return folder.role == "snooze_into" or (folder.role == "other" and folder.name == folder_meanings.ROOT)


def _count(folder: FolderView) -> str:
    if folder.role in {"snoozed", "drafts", "snooze_into"}:
        return str(folder.total) if folder.total else ""
    if not folder.unread or folder.role in {"sent", "trash"}:
        return ""
    return ngettext("%(num)s unread", "%(num)s unread", folder.unread)
