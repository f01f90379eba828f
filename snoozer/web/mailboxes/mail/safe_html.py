"""Sanitize strangers' HTML within limits: two messages at once in a process and one for each person, because a message
can take seconds of CPU. Results are cached by digest."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from snoozer.mail.html_sanitizer import sanitize

MAX_AT_ONCE = 2
MAX_KEPT_CHARACTERS = 8_000_000


class Busy(Exception):
    """Too many messages are being sanitized; try again in a few seconds."""


class SafeHtml:
    """The sanitizer of a process, with its limits and its cache; any number of people share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._accounts: set[int] = set()
        self._kept: OrderedDict[bytes, str] = OrderedDict()
        self._characters = 0

    def of(self, html: str, *, pictures: Mapping[str, str], account_id: int) -> str:
        """The HTML as it may be shown. Raises Busy."""
        key = _digest(html, pictures)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
            if account_id in self._accounts or len(self._accounts) >= MAX_AT_ONCE:
                raise Busy
            self._accounts.add(account_id)
        try:
            made = sanitize(html, pictures=pictures)
        finally:
            with self._lock:
                self._accounts.remove(account_id)
        self._keep(key, made)
        return made

    def _keep(self, key: bytes, made: str) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._characters += len(made)
            while self._characters > MAX_KEPT_CHARACTERS:
                _, oldest = self._kept.popitem(last=False)
                self._characters -= len(oldest)


def _digest(html: str, pictures: Mapping[str, str]) -> bytes:
    """Each text with its length before it, so that no two messages have the same bytes."""
    digest = hashlib.sha256()
    for text in (html, *(part for item in sorted(pictures.items()) for part in item)):
        content = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(content) + content)
    return digest.digest()
