"""Reminders that were composed, and how a mail program reads them."""

import email
import email.policy
import re
from datetime import UTC, datetime
from email.message import EmailMessage
from html.parser import HTMLParser
from typing import Any

from snoozer.mail.compose import ReminderWriter
from snoozer.queue.reminder import Send

KEYS = ["newest key", "older key"]
PROMISED = datetime(2026, 3, 6, 7, 0, tzinfo=UTC)
# What mail programs make links of by themselves.
LINKABLE = re.compile(r"[a-z][a-z0-9+.-]*://|\b\w+(?:[.。．｡][^\W\d_]\w*)+|\w@\w|\bmailto:\S", re.IGNORECASE)


def reminder(send: Send, **changes: Any) -> bytes:
    settled: dict[str, Any] = {
        "mail_from": "Snoozer <snoozer@snoozer.example>",
        "base_url": "https://snoozer.example",
        "keys": KEYS,
        "instance": "i-1",
    }
    return ReminderWriter(**(settled | changes)).write(send)


def opened(mail: bytes) -> EmailMessage:
    read = email.message_from_bytes(mail, policy=email.policy.default)
    assert isinstance(read, EmailMessage)
    return read


def bodies(mail: bytes) -> tuple[str, str]:
    read = opened(mail)
    plain, html = read.get_body(("plain",)), read.get_body(("html",))
    assert plain is not None
    assert html is not None
    return plain.get_content(), html.get_content()


class Page(HTMLParser):
    """The links, the words and everything that could fetch or run."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._in_style = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._in_style = tag == "style"
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag == "br":
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._in_style:
            self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False
