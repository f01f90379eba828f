"""The mailbox that Snoozer keeps, behind the interface of all mailboxes: it has no server to ask."""

from datetime import MAXYEAR, datetime

from sqlalchemy import Connection, Engine

from snoozer.db import mailbox_store
from snoozer.db.queries import Cursor, Found, InvalidCursor, snoozes
from snoozer.db.queries import messages as queries
from snoozer.mail import message_parser
from snoozer.mailboxes.read.attachments import Contents, attachment_in, contents_in
from snoozer.mailboxes.read.keys import NO_FOLDER
from snoozer.mailboxes.read.listing import terms_of
from snoozer.mailboxes.read.mailbox import (
    DOWNLOAD_SECONDS,
    PAGE_SIZE,
    Attachment,
    FolderView,
    MailboxError,
    Message,
    Page,
    Role,
    Row,
)
from snoozer.translations import N_, gettext

TITLE = "Kept by Snoozer"
GONE = N_("There is no such message in your mailbox. The link may be old.")
_FOLDERS: dict[str, tuple[queries.Folder, str, Role]] = {
    "inbox": ("inbox", N_("Inbox"), "inbox"),
    "asleep": ("snoozed", N_("Snoozed"), "snoozed"),
    "done": ("done", N_("Done"), "archive"),
}
_KEYS: dict[str, tuple[str, Role]] = {folder: (key, role) for key, (folder, _, role) in _FOLDERS.items()}
_MAX_ID = 2**63


class KeptMailbox:
    """Implements `Mailbox`, for one request. Its keys are the ids of messages. It has no conversations."""

    title = TITLE

    def __init__(self, engine: Engine, *, user_email: str) -> None:
        self._engine, self._user_email = engine, user_email
        self._contents: dict[str, Contents] = {}

    def folders(self) -> list[FolderView]:
        with self._engine.begin() as connection:
            counts = queries.counts(connection, user_email=self._user_email)
        totals = {"inbox": counts.inbox, "asleep": counts.snoozed, "done": counts.done}
        return [
            FolderView(
                key=key,
                name=gettext(name),
                role=role,
                unread=counts.unread if key == "inbox" else None,
                total=totals[key],
            )
            for key, (_, name, role) in _FOLDERS.items()
        ]

    def page(
        self,
        folder: str | None,
        *,
        after: str | None = None,
        search: str | None = None,
        threads: bool = True,
        size: int = PAGE_SIZE,
    ) -> Page:
        stored, terms = stored_folder(folder), stored_terms(search)
        is_inbox = stored == "inbox" and not terms
        with self._engine.begin() as connection:
            back = queries.back(connection, user_email=self._user_email) if is_inbox else ()
            found = queries.in_folder(
                connection,
                user_email=self._user_email,
                folder=stored,
                before=_cursor(after),
                terms=terms,
                without=[row.id for row in back],
                size=size,
            )
        following = found.next_cursor
        shown = [*back, *found.rows] if after is None else found.rows
        return Page(rows=list(map(row_of, shown)), next=None if following is None else str(following), total=None)

    def row(self, key: str) -> Row:
        return row_of(*self._found(key))

    def message(self, key: str) -> Message:
        found, live = self._found(key, whole=True)
        self._contents[key] = contents_in(found.original)
        folder, role = _KEYS.get(found.folder, (found.folder, "other"))
        return Message(
            row=row_of(found, live),
            parsed=message_parser.parse(found.original),
            html=message_parser.parse_html(found.original),
            attachments=[shown for shown, _ in self._contents[key].values()],
            thread=[],
            folder=folder,
            role=role,
        )

    def original(self, key: str) -> bytes:
        with self._engine.begin() as connection:
            return bytes(self._one(connection, key, whole=True).original)

    def attachment(self, key: str, part: str, *, seconds: float = DOWNLOAD_SECONDS) -> tuple[Attachment, bytes]:
        if key not in self._contents:
            self._contents[key] = contents_in(self.original(key))
        return attachment_in(self._contents[key], part)

    def mark(self, key: str, *, read: bool) -> None:
        with self._engine.begin() as connection:
            id = self._one(connection, key).id
            mailbox_store.mark(connection, id=id, user_email=self._user_email, unread=not read)

    def archive(self, key: str) -> str:
        with self._engine.begin() as connection:
            message_id = self._one(connection, key).message_id
            mailbox_store.move(connection, user_email=self._user_email, message_id=message_id, folder="done")
        return key

    def to_inbox(self, key: str) -> str:
        with self._engine.begin() as connection:
            message_id = self._one(connection, key).message_id
            mailbox_store.move(connection, user_email=self._user_email, message_id=message_id, folder="inbox")
        return key

    def _found(self, key: str, *, whole: bool = False) -> tuple[Found, Found | None]:
        """A message and its live snooze."""
        with self._engine.begin() as connection:
            found = self._one(connection, key, whole=whole)
            return found, snoozes.live(connection, user_email=self._user_email, message_id=found.message_id)

    def _one(self, connection: Connection, key: str, *, whole: bool = False) -> Found:
        id = int(key) if key.isascii() and key.isdecimal() and len(key) < 20 else 0
        found = queries.one(connection, id=id, user_email=self._user_email, whole=whole) if id < _MAX_ID else None
        if found is None:
            raise MailboxError("gone", gettext(GONE))
        return found


def stored_folder(key: str | None) -> queries.Folder:
    """The folder of a key, None for the inbox. Raises MailboxError (`no_folder`)."""
    if key is not None and key not in _FOLDERS:
        raise MailboxError("no_folder", gettext(NO_FOLDER))
    return _FOLDERS[key or "inbox"][0]


def stored_terms(search: str | None) -> list[tuple[queries.Field, str]]:
    """Return the search terms in the form of the database's queries."""
    return [(term.field, term.text) for term in terms_of(search)]


def _cursor(text: str | None) -> Cursor | None:
    try:
        return None if text is None else Cursor.parse(text)
    except InvalidCursor:
        return None


def _wakes(found: Found) -> datetime | None:
    """When a snoozed message of a list returns, which its owner's quiet hours may have postponed; None if it does not
    by itself, as until someday."""
    at: datetime | None = found._mapping.get("wakes") if found.folder == "snoozed" else None
    return at if at is not None and at.year < MAXYEAR else None


def row_of(found: Found, live: Found | None = None) -> Row:
    """A kept message with its live snooze, which a list query returns in the same row."""
    snooze = dict(found._mapping) if live is None else {**live._mapping, "snooze_id": live.id}
    is_live = "remind_at" in snooze
    return Row(
        key=str(found.id),
        message_id=found.message_id,
        subject=found.subject,
        sender_name=found.sender_name,
        sender_email=found.sender_email,
        date=found.arrived_at,
        unread=found.unread,
        flagged=False,
        answered=False,
        has_attachments=False,
        size=found.size,
        snippet=found.snippet,
        snooze_id=snooze["snooze_id"] if is_live else None,
        remind_at=snooze["remind_at"] if is_live else None,
        scheduled_for=_wakes(found) or snooze["scheduled_for"] if is_live else None,
        recurrence=snooze["recurrence"] if is_live else None,
        claimed_at=snooze["claimed_at"] if is_live else None,
        returned_at=found.surfaced_at if found.returned else None,
    )
