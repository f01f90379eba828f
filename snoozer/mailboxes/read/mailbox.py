"""A mailbox as pages see it, and its values. A key is opaque, and fits into a segment of a URL."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from snoozer.mail.message_parser import ParsedMessage

# `snooze_into` is a folder below Snooze/, whose name is a time.
Role = Literal["inbox", "snoozed", "archive", "sent", "drafts", "junk", "trash", "snooze_into", "other"]
ErrorCode = Literal["unavailable", "login", "gone", "no_folder", "busy"]

PAGE_SIZE = 50
DOWNLOAD_SECONDS = 60.0


class MailboxError(Exception):
    """A mailbox could not do what was asked. `code` is for programs, `sentence` for people: what happened, and what to
    do. Neither holds an address or a subject. `unavailable`: the server is away, or did not do it. `login`: it refuses
    the password. `gone`: the message no longer exists there. `no_folder`: the folder does not exist. `busy`: all
    allowed connections are in use.
    """

    def __init__(self, code: ErrorCode, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


@dataclass(frozen=True, kw_only=True)
class FolderView:
    """A folder, `depth` levels below the top. `name` is decoded, for people; None is a count that is not known."""

    key: str
    name: str
    role: Role
    unread: int | None
    total: int | None
    depth: int = 0


@dataclass(frozen=True, kw_only=True)
class Row:
    """A message in a list. `key` stays the same while the message is in its folder; `date` is when it arrived there, in
    UTC; `message_id` is the id for its snooze, None if it has no usable one.

    `snippet` is the beginning of its text, None if unknown. `thread_size` counts the messages of its conversation in
    this folder, if rows stand for conversations.

    `snooze_id` to `claimed_at` describe its live snooze, `recurrence` as JSON. `moving` is True if it is snoozed and
    not moved yet. `returned_at` is when Snoozer brought it back; a connected mailbox reports that while it is unread.
    """

    key: str
    message_id: str | None
    subject: str | None
    sender_name: str | None
    sender_email: str | None
    date: datetime
    unread: bool
    flagged: bool
    answered: bool
    has_attachments: bool
    size: int
    snippet: str | None = None
    thread_size: int = 1
    snooze_id: int | None = None
    remind_at: datetime | None = None
    scheduled_for: datetime | None = None
    recurrence: dict[str, Any] | None = None
    claimed_at: datetime | None = None
    moving: bool = False
    returned_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """Rows, the newest first. `next` is the cursor of the next page, None on the last one; `total` counts the messages
    of the whole list if known. `bound` stands for the contents of the folder at that time."""

    rows: list[Row]
    next: str | None
    total: int | None
    bound: str | None = None


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """A part that is not shown as text: `part` names it to `Mailbox.attachment`. `content_id` is without its brackets,
    as an HTML part refers to it (`cid:`)."""

    part: str
    name: str
    type: str
    size: int
    content_id: str | None


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message, in the folder with the key `folder`. `html` is its HTML part as it came: never to be shown without a
    sanitizer. `thread` are the other messages of its conversation, oldest first."""

    row: Row
    parsed: ParsedMessage
    html: str | None
    attachments: list[Attachment]
    thread: list[Row]
    folder: str
    role: Role


class Mailbox(Protocol):
    """Every call may wait for a mail server, for about ten seconds at most, and raises MailboxError: no transaction of
    the database may be open. `title` is the address."""

    @property
    def title(self) -> str: ...

    def folders(self) -> list[FolderView]:
        """The inbox first, then our folders, then the others."""
        ...

    def page(
        self,
        folder: str | None,
        *,
        after: str | None = None,
        search: str | None = None,
        threads: bool = True,
        size: int = PAGE_SIZE,
    ) -> Page:
        """A part of a folder, or of a search in it, the newest first. `folder` is a key, None the inbox; `after` is the
        cursor of the previous page. With `threads`, a row stands for a conversation."""
        ...

    def row(self, key: str) -> Row:
        """One message as in a list."""
        ...

    def message(self, key: str) -> Message:
        """One message, which is not marked as read."""
        ...

    def original(self, key: str) -> bytes:
        """The message's bytes as they came."""
        ...

    def attachment(self, key: str, part: str, *, seconds: float = DOWNLOAD_SECONDS) -> tuple[Attachment, bytes]:
        """One attachment of a message, decoded, if its server sends it within `seconds`."""
        ...

    def mark(self, key: str, *, read: bool) -> None:
        """Mark a message as read, or as unread."""
        ...

    def archive(self, key: str) -> str:
        """Mark a message as done: move it to the archive, and return its key there."""
        ...

    def to_inbox(self, key: str) -> str:
        """Move a message to the inbox, and return its key there."""
        ...
