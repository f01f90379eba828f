"""Every word of a page is a message of the catalogue, but for what people wrote, names and times: each message is put
into brackets, and nothing may stand outside of them."""

import re
from collections.abc import Iterator
from gettext import NullTranslations
from html.parser import HTMLParser

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer import translations
from snoozer.settings import Settings
from snoozer.timephrase.locales import Locale
from tests.browser import every_page
from tests.factories import HOUR, a_kept_message, a_mailbox, a_snooze, now
from tests.web.reminders import a_link, a_sent_reminder

OPEN, CLOSE = "⟦", "⟧"
UNSEEN_TAGS = {"style", "script", "datalist", "select", "code", "kbd", "bdi", "svg"}
VOID_TAGS = {"input", "meta", "link", "br", "wbr", "img"}
WORD = re.compile(r"[^\W\d_]{2,}")
# Names, the words of the rows below, and what a locale calls its times.
NAMES = {
    "Snoozer",
    "UTC",
    "CET",
    "CEST",
    "Europe",
    "Berlin",
    "English",
    "UK",
    "US",
    "Deutsch",
    "IMAP",
    "TLS",
    "MB",
    "kB",
    "JSON",
    "CSV",
    "ICS",
    "ZIP",
}
PAGES = [
    *("/", "/?q=from:carol", "/?q=due:never", "/snoozes/1", "/snoozes/2", "/nothing", "/sink", "/add"),
    *(
        "/mailbox",
        "/mailbox?folder=asleep",
        "/mailbox?folder=done",
        "/mailbox?q=nothing",
        "/mailbox/1",
        "/mailbox/1/snooze",
    ),
    *("/settings", "/settings/day", "/settings/devices", "/settings/feeds"),
    *("/settings/mailboxes", "/settings/mailboxes/1", "/settings/mailboxes/new", "/settings/mailboxes/connect"),
    *("/settings/data", "/settings/data/delete"),
]
STRANGERS_PAGES = ["/sign-in", "/sign-in/forged", "/r/forged", "/nothing", "/offline"]


# What is typed, not spoken: addresses, filters, and the presets, which a language's word list has.
TYPED = re.compile(r"\S+@\S+|\S+\.example|\b(?:from|subject|note|due|state|repeats):\S*")
PRESETS = {
    word
    for locale in ("de_DE", "en_GB")
    for label, _ in Locale.named(locale).language.data.presets
    for word in label.split()
}
# Of the messages that stand on the pages.
WRITTEN = {"Bob", "Hello", "How", "are", "you", "Here", "is", "ann", "Quarterly", "figures", "bob", "mail"}
# Of the texts that are hard to display.
STRANGE = re.compile(r"^(?:Donaudampf.*|Launch|party|img|src|onerror|alert|script|[\u0590-\u05ff]+)$")


class Bracketed(NullTranslations):
    """Each message in brackets."""

    def gettext(self, message: str) -> str:
        return f"{OPEN}{message}{CLOSE}"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"{OPEN}{msgid1 if n == 1 else msgid2}{CLOSE}"

    def npgettext(self, context: str, msgid1: str, msgid2: str, n: int) -> str:
        return self.ngettext(msgid1, msgid2, n)


class Seen(HTMLParser):
    """The text that a page shows, and what its attributes say."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.attributes: list[str] = []
        self._unseen = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        other = tag != "html" and dict(attrs).get("lang") == "en"  # English, whatever the page is in
        if tag in UNSEEN_TAGS or other or (self._unseen and tag not in VOID_TAGS):
            self._unseen += 1
        self.attributes += [value or "" for name, value in attrs if name in {"aria-label", "title", "placeholder"}]

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= 1 if self._unseen else 0

    def handle_data(self, data: str) -> None:
        self.text += "" if self._unseen else f"{data} "


@pytest.fixture
def brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translations, "catalogue", lambda language: Bracketed())


@pytest.fixture
def rows(engine: Engine, ann: FlaskClient) -> None:
    """What the pages show; its words are upper case with a digit, which no sentence of ours is."""
    a_snooze(engine, remind_at=now() + HOUR, subject="W1", note="W2", sender_email="w3@w4.example")
    a_snooze(engine, inactive=True, outcome="sent", finished_at=now(), subject="W1", sender_email="w3@w4.example")
    a_kept_message(engine)
    a_mailbox(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET locale = 'de_DE', zone = 'Europe/Berlin'"))


def outside(page: str) -> Iterator[str]:
    seen = Seen(page)
    for shown in (seen.text, *seen.attributes):
        depth, left = 0, ""
        for char in shown:
            depth += (char == OPEN) - (char == CLOSE)
            left += char if depth == 0 else " "
        yield from (word for word in WORD.findall(TYPED.sub(" ", left)) if word not in NAMES | PRESETS | WRITTEN)


@pytest.mark.usefixtures("brackets")
@pytest.mark.parametrize("path", STRANGERS_PAGES)
def test_a_strangers_page_has_no_word_outside_the_catalogue(client: FlaskClient, path: str) -> None:
    assert list(outside(client.get(path).text)) == []


@pytest.mark.usefixtures("rows", "brackets")
@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_word_outside_the_catalogue(ann: FlaskClient, path: str) -> None:
    assert list(outside(ann.get(path).text)) == []


@pytest.mark.usefixtures("rows", "brackets")
def test_no_page_has_a_word_outside_the_catalogue_whatever_it_shows(
    ann: FlaskClient, engine: Engine, settings: Settings
) -> None:
    found = {path: [*outside(ann.get(path).text)] for path in every_page.of_a_person(settings, engine)}
    strange = {path: [word for word in words if not STRANGE.search(word)] for path, words in found.items()}
    assert {path: words for path, words in strange.items() if words} == {}


@pytest.mark.usefixtures("brackets")
def test_the_page_of_a_reminder_has_no_word_outside_the_catalogue(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    link = a_link(engine, settings, a_sent_reminder(engine))
    assert list(outside(client.get(link).text)) == []
