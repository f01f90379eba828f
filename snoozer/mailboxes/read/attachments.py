"""Attachments of messages: of a whole message by their position, of a large one as its server describes its parts."""

import re
from collections.abc import Iterable

from snoozer.mail import message_parser
from snoozer.mailboxes.imap.reading import PartInfo
from snoozer.mailboxes.read.mailbox import Attachment, MailboxError
from snoozer.translations import N_, gettext

NO_PART = N_("This message has no such attachment.")

_NUMBER = re.compile(r"p([0-9]{1,4}(?:\.[0-9]{1,4}){0,20})")


Contents = dict[str, tuple[Attachment, bytes]]


def contents_in(original: bytes) -> Contents:
    """The attachments of a whole message, decoded, by their part names, so that a large message is parsed only once."""
    parts = message_parser.parse_attachments(original)
    numbered = [(_numbered(index, part), part.content) for index, part in enumerate(parts)]
    return {shown.part: (shown, content) for shown, content in numbered}


def attachment_in(contents: Contents, part: str) -> tuple[Attachment, bytes]:
    """Return one attachment. Raise MailboxError (`gone`)."""
    if part not in contents:
        raise MailboxError("gone", gettext(NO_PART))
    return contents[part]


def described(parts: Iterable[PartInfo]) -> list[Attachment]:
    """The attachments among the parts of a message, as its server describes them."""
    return [describe(part) for part in parts if part.is_attachment or part.content_id is not None]


def describe(part: PartInfo) -> Attachment:
    """The size is an estimate: three bytes are four letters in base64."""
    size = part.size * 3 // 4 if part.encoding == "base64" else part.size
    return Attachment(
        part=f"p{part.number}", name=part.name or "unnamed", type=part.type, size=size, content_id=part.content_id
    )


def part_number(part: str) -> str | None:
    """The server's part number of an attachment that it described; None for another attachment."""
    found = _NUMBER.fullmatch(part)
    return None if found is None else found[1]


def _numbered(index: int, part: message_parser.AttachedPart) -> Attachment:
    """The size is that of the content."""
    shown = part.shown
    return Attachment(
        part=f"i{index}", name=shown.name, type=shown.type, size=len(part.content), content_id=part.content_id
    )
