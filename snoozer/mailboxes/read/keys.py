"""Names of folders, messages and positions as they stand in URLs: opaque to pages, and checked when they come back."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import NamedTuple, Self

from snoozer.mailboxes.read.mailbox import MailboxError
from snoozer.translations import N_, gettext

MAX_NAME_LENGTH = 1_000
_NUMBER = r"([1-9][0-9]{0,9})"
_MESSAGE = re.compile(rf"([A-Za-z0-9_-]+)\.{_NUMBER}\.{_NUMBER}")
_BOUND = re.compile(rf"{_NUMBER}\.{_NUMBER}")
_CURSOR = re.compile(rf"{_NUMBER}\.{_NUMBER}\.([0-9]{{1,10}})")

NO_FOLDER = N_("There is no such folder in this mailbox any more. Choose another one from the list.")
GONE = N_("This message is not there any more: another program has moved or deleted it.")


class MessageKey(NamedTuple):
    """A message by the raw name of its folder, and its UID there."""

    folder: str
    uidvalidity: int
    uid: int

    def __str__(self) -> str:
        return f"{folder_key(self.folder)}.{self.uidvalidity}.{self.uid}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `str`. Raises MailboxError (`gone`)."""
        found = _MESSAGE.fullmatch(text)
        if found is None:
            raise MailboxError("gone", gettext(GONE))
        return cls(folder_name(found[1]), int(found[2]), int(found[3]))


class Cursor(NamedTuple):
    """The end of a page: the UID of its last message, and how many messages were before it in the folder, 0 if unknown.
    New messages come after it, so that number can only fall."""

    uidvalidity: int
    uid: int
    before: int = 0

    def __str__(self) -> str:
        return f"{self.uidvalidity}.{self.uid}.{self.before}"

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """The inverse of `str`; None, which means the first page, if the text is not a cursor."""
        found = _CURSOR.fullmatch(text or "")
        return None if found is None else cls(*(int(number) for number in found.groups()))


class Bound(NamedTuple):
    """The state of a folder when its list was shown: later messages have a UID from `uidnext` on."""

    uidvalidity: int
    uidnext: int

    def __str__(self) -> str:
        return f"{self.uidvalidity}.{self.uidnext}"

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """The inverse of `str`; None if the text is not a bound."""
        found = _BOUND.fullmatch(text or "")
        return None if found is None else cls(*(int(number) for number in found.groups()))


def folder_key(name: str) -> str:
    """A folder's raw name for a URL."""
    return urlsafe_b64encode(name.encode("utf-8")).rstrip(b"=").decode("ascii")


def folder_name(key: str) -> str:
    """The inverse of `folder_key`. Raises MailboxError (`no_folder`), also for a name that no list of folders contains
    because it cannot be encoded."""
    try:
        name = urlsafe_b64decode(key.encode("ascii") + b"=" * (-len(key) % 4)).decode("utf-8")
    except (ValueError, Error):
        name = ""
    if not name or len(name) > MAX_NAME_LENGTH or "\0" in name:
        raise MailboxError("no_folder", gettext(NO_FOLDER))
    return name
