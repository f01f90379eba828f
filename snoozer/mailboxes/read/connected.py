"""A mailbox at its owner's server, read by IMAP. Snoozer keeps no copy of the mail: each call asks the server."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import Engine

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Where
from snoozer.db.queries import Cursor as DatabaseCursor
from snoozer.db.queries import InvalidCursor
from snoozer.db.queries import mailboxes as mailbox_queries
from snoozer.db.queries import messages as queries
from snoozer.db.queries.mailboxes import MailboxAccess
from snoozer.mail import message_parser
from snoozer.mail.transfer_encodings import decode_body
from snoozer.mailboxes.imap import folder_meanings
from snoozer.mailboxes.imap.connection import Connection
from snoozer.mailboxes.imap.folders import Selected
from snoozer.mailboxes.imap.messages import RETURNED, SEEN
from snoozer.mailboxes.imap.move import Place
from snoozer.mailboxes.imap.reading import Listed, PartInfo, ids_of
from snoozer.mailboxes.imap.search import Field
from snoozer.mailboxes.read import listing, rows
from snoozer.mailboxes.read.attachments import (
    NO_PART,
    Contents,
    attachment_in,
    contents_in,
    describe,
    described,
    part_number,
)
from snoozer.mailboxes.read.connections import ConnectionPool
from snoozer.mailboxes.read.folder_views import INBOX, archive_of, folder_views, roles
from snoozer.mailboxes.read.keys import GONE, NO_FOLDER, Bound, Cursor, MessageKey, folder_key, folder_name
from snoozer.mailboxes.read.listing import Found
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
from snoozer.mailboxes.search_terms import Term
from snoozer.translations import N_, gettext

T = TypeVar("T")

# How many returned messages to re-check for the \Seen flag.
MAX_RETURNED = 100
# Bytes of a message to read to show it. A larger one is shown by the parts that its server describes.
SHOWN_BYTES = 2 * 1024 * 1024
MIN_SECONDS = 0.05
MAX_DOWNLOAD_BYTES = 100 * 1024 * 1024

_STAYED = N_("The mail server did not move the message. Try again in a moment.")
_UNKNOWN = N_("The message was moved, and cannot be distinguished from another one there. Look into the folder.")
_NOT_SEARCHED = N_(
    "The search was not finished: some servers read every message for it. Fewer words, or from: and subject:, are "
    "faster."
)


def open_mailbox(
    engine: Engine, *, id: int, account_id: int, user_email: str, pool: ConnectionPool
) -> "ConnectedMailbox | None":
    """A mailbox of this person; None if it does not exist or is being disconnected. Asks no server."""
    with engine.begin() as connection:
        access = mailbox_queries.access(connection, id=id, account_id=account_id)
    return None if access is None else ConnectedMailbox(engine, access, user_email=user_email, pool=pool)


class ConnectedMailbox:
    """Implements `Mailbox`. Made for one request."""

    def __init__(self, engine: Engine, access: MailboxAccess, *, user_email: str, pool: ConnectionPool) -> None:
        self.engine, self.access, self.user_email = engine, access, user_email
        self._pool = pool
        self._ends_at: float | None = None
        # Small messages as they were read: their attachments and pictures need no further request.
        self._whole: dict[MessageKey, Contents] = {}

    @property
    def title(self) -> str:
        return self.access.address

    def run(self, work: Callable[[Connection], T], *, repeatable: bool = True, seconds: float | None = None) -> T:
        """Do something with a connection of this mailbox. Raises MailboxError."""
        if self._ends_at is not None:
            seconds = max(self._ends_at - time.monotonic(), MIN_SECONDS)
        return self._pool.run(self.access, work, repeatable=repeatable, seconds=seconds)

    def end_after(self, seconds: float) -> None:
        """Limit all that is asked of the server from now on."""
        self._ends_at = time.monotonic() + seconds

    @property
    def is_late(self) -> bool:
        """Whether that time is over."""
        return self._ends_at is not None and time.monotonic() >= self._ends_at

    def folders(self) -> list[FolderView]:
        def ask(connection: Connection) -> list[FolderView]:
            folders = connection.folders()
            return folder_views(folders, connection.counts([each.name for each in folders if each.selectable]))

        return self.run(ask)

    def page(
        self,
        folder: str | None,
        *,
        after: str | None = None,
        search: str | None = None,
        threads: bool = True,
        size: int = PAGE_SIZE,
    ) -> Page:
        name, terms = INBOX if folder is None else folder_name(folder), listing.terms_of(search)
        if not terms and name.upper() != INBOX and (asleep := self._asleep(name, after=after, size=size)) is not None:
            return asleep
        is_inbox, cursor = name.upper() == INBOX and not terms, Cursor.parse(after)
        with self.engine.begin() as transaction:
            id = self.access.id
            hidden = queries.leaving(transaction, mailbox_id=id, folder=name)
            back = queries.returned_to(transaction, mailbox_id=id, folder=name, size=MAX_RETURNED) if is_inbox else ()
        places = [MessageKey(name, row.uidvalidity, row.uid) for row in back]

        def read(connection: Connection) -> Found:
            if terms:
                return listing.search_folder(connection, name, terms, after=cursor, size=size)
            return listing.read_folder(
                connection, name, after=cursor, hidden=hidden, threads=threads, size=size, back=places
            )

        found = self._searching(terms, read)
        return _page(found, self._rows(found, name), following=found.next)

    def _asleep(self, name: str, *, after: str | None, size: int) -> Page | None:
        """A page of the folder of snoozed messages, ordered by their return; None for another folder."""
        access = self.access
        with self.engine.begin() as transaction:
            try:
                since = None if after is None else DatabaseCursor.parse(after)
            except InvalidCursor:
                return None
            asleep = queries.asleep(transaction, mailbox_id=access.id, folder=name, after=since, size=size)
        if not asleep.rows and since is None:
            return None

        def entered(uidvalidity: int) -> set[int]:
            with self.engine.begin() as transaction:
                return mailbox_store.list_in_folder(
                    transaction, mailbox_id=access.id, folder=name, uidvalidity=uidvalidity
                )

        def read(connection: Connection) -> Found | None:
            if not _is_snoozed(connection, name):
                return None
            is_last = asleep.next_cursor is None
            return listing.read_asleep(connection, name, asleep.rows, entered=entered if is_last else None, size=size)

        found = self.run(read)
        if found is None:
            return None
        by_uid = {row.uid: row for row in asleep.rows if row.uidvalidity == found.uidvalidity and not row.moving}
        shown = {
            uid: rows.asleep_row(rows.row_of(each, folder=name, uidvalidity=found.uidvalidity), by_uid.get(uid))
            for uid, each in found.read.items()
        }
        ordered = [
            rows.asleep_row(rows.moving_row(row), row) if row.moving else shown.get(row.uid) for row in asleep.rows
        ]
        strangers = [shown[each.head.uid] for each in found.messages if each.head.uid not in by_uid]
        return _page(found, [*(row for row in ordered if row is not None), *strangers], following=asleep.next_cursor)

    def _searching(self, terms: Sequence[Term[Field]], read: Callable[[Connection], T]) -> T:
        try:
            return self.run(read)
        except MailboxError as error:
            if terms and error.code == "unavailable":
                raise MailboxError("unavailable", f"{gettext(_NOT_SEARCHED)} {error.sentence}") from error
            raise

    def _rows(self, found: Found, folder: str) -> list[Row]:
        by_uid = {
            uid: rows.row_of(each, folder=folder, uidvalidity=found.uidvalidity) for uid, each in found.read.items()
        }
        joined = self._with_snoozes(by_uid, folder=folder, uidvalidity=found.uidvalidity)
        shown = [joined[each.head.uid] for each in found.back]
        for each in found.messages:
            tree = found.members.get(each.head.uid, frozenset((each.head.uid,)))
            members = [joined[uid] for uid in tree if uid in joined]
            row = joined[each.head.uid]
            shown.append(rows.conversation_row(row, members, size=len(tree)) if len(tree) > 1 else row)
        return shown

    def _with_snoozes(self, by_uid: dict[int, Row], *, folder: str, uidvalidity: int) -> dict[int, Row]:
        with self.engine.begin() as transaction:
            return rows.with_snoozes(
                transaction,
                by_uid,
                mailbox_id=self.access.id,
                user_email=self.user_email,
                folder=folder,
                uidvalidity=uidvalidity,
            )

    def row(self, key: str) -> Row:
        return self.message(key).row

    def message(self, key: str) -> Message:
        at = MessageKey.parse(key)

        def read(connection: Connection) -> tuple[Listed, bytes, list[Listed], Role]:
            role = roles(connection.folders()).get(at.folder, "other")
            opened = _examined(connection, at)
            found = connection.start_of(at.uid, size=SHOWN_BYTES)
            if found is None or found[0].head.deleted:
                raise MailboxError("gone", gettext(GONE))
            each, start = found
            uids = connection.conversation(at.uid, number=each.number, exists=opened.exists, ids=ids_of(each.head))
            others = connection.listed(uid for uid in uids if uid != at.uid) if len(uids) > 1 else []
            return each, start, [other for other in others if not other.head.deleted], role

        each, start, others, role = self.run(read)
        by_uid = {
            one.head.uid: rows.row_of(one, folder=at.folder, uidvalidity=at.uidvalidity) for one in [each, *others]
        }
        joined = self._with_snoozes(by_uid, folder=at.folder, uidvalidity=at.uidvalidity)
        thread = [joined[other.head.uid] for other in others]
        row = replace(joined[at.uid], thread_size=len(thread) + 1)
        is_whole = len(start) < SHOWN_BYTES
        if is_whole:
            self._whole[at] = contents_in(start)
        return Message(
            row=row,
            parsed=message_parser.parse(start),
            html=message_parser.parse_html(start),
            attachments=[shown for shown, _ in self._whole[at].values()] if is_whole else described(each.parts),
            thread=thread,
            folder=folder_key(at.folder),
            role=role,
        )

    def original(self, key: str) -> bytes:
        at = MessageKey.parse(key)

        def read(connection: Connection) -> bytes:
            _examined(connection, at)
            original = connection.fetch_original(at.uid)
            if original is None:
                raise MailboxError("gone", gettext(GONE))
            return original

        return self.run(read, seconds=DOWNLOAD_SECONDS)

    def attachment(self, key: str, part: str, *, seconds: float = DOWNLOAD_SECONDS) -> tuple[Attachment, bytes]:
        at, number = MessageKey.parse(key), part_number(part)
        if number is not None:
            return self._described_part(at, number, seconds=seconds)
        if at not in self._whole:
            self._whole[at] = contents_in(self._small(at))
        return attachment_in(self._whole[at], part)

    def _small(self, at: MessageKey) -> bytes:
        """The whole message, if it is small enough that its server need not describe its parts."""

        def read(connection: Connection) -> bytes:
            _examined(connection, at)
            start = connection.fetch_section(at.uid, "", size=SHOWN_BYTES)
            if start is None or len(start) >= SHOWN_BYTES:
                raise MailboxError("gone", gettext(GONE if start is None else NO_PART))
            return start

        return self.run(read)

    def _described_part(self, at: MessageKey, number: str, *, seconds: float) -> tuple[Attachment, bytes]:
        """Fetched alone, because messages read in this way are large."""

        def read(connection: Connection) -> tuple[PartInfo, bytes]:
            _examined(connection, at)
            [*found] = connection.listed([at.uid])
            info = next((part for each in found for part in each.parts if part.number == number), None)
            if not found or info is None:
                raise MailboxError("gone", gettext(GONE if not found else NO_PART))
            content = connection.fetch_section(at.uid, number, size=MAX_DOWNLOAD_BYTES)
            if content is None:
                raise MailboxError("gone", gettext(NO_PART))
            return info, content

        info, content = self.run(read, seconds=seconds)
        decoded = decode_body(content, info.encoding)
        return replace(describe(info), size=len(decoded)), decoded

    def mark(self, key: str, *, read: bool) -> None:
        at = MessageKey.parse(key)

        def change(connection: Connection) -> None:
            _require_same(at, connection.select(at.folder))
            if read:
                connection.add_flag([at.uid], SEEN)
                connection.change_keyword([at.uid], RETURNED, add=False)
            else:
                connection.remove_flag([at.uid], SEEN)

        self.run(change)

    def archive(self, key: str) -> str:
        at = MessageKey.parse(key)

        def move(connection: Connection) -> MessageKey:
            return _moved(connection, at, to=archive_of(connection.folders()) or connection.create_archive())

        return self._followed(at, self.run(move, repeatable=False), place="aside")

    def to_inbox(self, key: str) -> str:
        at = MessageKey.parse(key)
        moved = self.run(lambda connection: _moved(connection, at, to=INBOX), repeatable=False)
        return self._followed(at, moved, place="home")

    def _followed(self, at: MessageKey, moved: MessageKey, *, place: Where) -> str:
        if moved != at:
            with self.engine.begin() as transaction:
                mailbox_store.follow(transaction, at, moved, mailbox_id=self.access.id, place=place)
        return str(moved)


def _examined(connection: Connection, at: MessageKey) -> Selected:
    opened = connection.examine(at.folder)
    _require_same(at, opened)
    return opened


def _require_same(at: MessageKey, opened: Selected) -> None:
    if opened.uidvalidity != at.uidvalidity:
        raise MailboxError("gone", gettext(GONE))


def _page(found: Found, shown: list[Row], *, following: Cursor | DatabaseCursor | None) -> Page:
    return Page(
        rows=shown,
        next=None if following is None else str(following),
        total=found.total,
        bound=str(Bound(found.uidvalidity, found.uidnext)) if found.uidnext else None,
    )


def _is_snoozed(connection: Connection, name: str) -> bool:
    ours = folder_meanings.snoozed_folder(connection.folders())
    return ours is not None and ours.name == name


def _moved(connection: Connection, at: MessageKey, *, to: str) -> MessageKey:
    """Move a message and return its key in the target."""
    if to == at.folder or (to == INBOX and at.folder.upper() == INBOX):
        return at
    target = connection.statuses([to]).get(to)
    if target is None:
        raise MailboxError("no_folder", gettext(NO_FOLDER))
    place = Place(to, target.uidvalidity)
    arrivals = connection.move([at.uid], source=Place(at.folder, at.uidvalidity), target=place)
    arrival = arrivals[at.uid]
    if arrival.outcome == "moved" and arrival.uid is not None:
        return MessageKey(to, target.uidvalidity, arrival.uid)
    if arrival.outcome == "stayed":
        raise MailboxError("unavailable", gettext(_STAYED))
    sentence = GONE if arrival.outcome == "gone" else _UNKNOWN
    raise MailboxError("gone", gettext(sentence))
