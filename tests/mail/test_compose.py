"""What people get: the reminder and the way in."""

import email
import email.policy
import hashlib
import os
import re
import subprocess
import sys
import unicodedata
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snoozer.domain import links
from snoozer.domain.reminder import Send
from snoozer.mail.compose import NO_SUBJECT, compose_reminder, compose_sign_in
from tests.mail.conftest import Sends
from tests.mail.test_headers import HOSTILE
from tests.mail.test_letter import HOSTILE_SUBJECT

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
    return compose_reminder(send, **(settled | changes))


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

    def handle_data(self, data: str) -> None:
        if not self._in_style:
            self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False


def test_the_header_contract(a_send: Sends) -> None:
    read = opened(reminder(a_send()))
    assert dict(read.items()) == {
        "From": "Snoozer <snoozer@snoozer.example>",
        "To": "ann@example.com",
        "Subject": "Quarterly figures",
        "Date": "Fri, 06 Mar 2026 07:00:00 +0000",
        "Message-ID": "<0123456789abcdef@snoozer.example>",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "X-Snoozer-Instance": "i-1",
        "In-Reply-To": "<original@example.com>",
        "References": "<original@example.com>",
        "X-Snoozer-Occurrence": read["X-Snoozer-Occurrence"],
        "MIME-Version": "1.0",
        "Content-Type": read["Content-Type"],
    }
    assert re.fullmatch(r"[0-9a-f]{32}", read["X-Snoozer-Occurrence"])
    assert [part.get_content_type() for part in read.walk()] == ["multipart/alternative", "text/plain", "text/html"]


def test_the_same_row_gives_the_same_bytes_in_every_process(a_send: Sends) -> None:
    program = (
        "import sys, hashlib, pickle; from snoozer.mail.compose import compose_reminder\n"
        "send = pickle.loads(bytes.fromhex(sys.stdin.read()))\n"
        "mail = compose_reminder(send, mail_from='Snoozer <snoozer@snoozer.example>',"
        " base_url='https://snoozer.example', keys=['newest key', 'older key'], instance='i-1')\n"
        "print(hashlib.sha256(mail).hexdigest())"
    )
    import pickle

    send = a_send(subject="דוח 🎉", zone="Asia/Kolkata")
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps(send).hex(),
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert digests == {hashlib.sha256(reminder(send)).hexdigest()}


def test_a_new_key_between_two_attempts_changes_no_byte(a_send: Sends) -> None:
    first = reminder(a_send(), keys=["old"])
    again = a_send(bytes_sha256=hashlib.sha256(first).hexdigest())
    assert reminder(again, keys=["newest", "new", "old"]) == first
    assert reminder(again, keys=["newest"]) != first


def test_the_buttons_ask_for_what_they_say(a_send: Sends) -> None:
    text, html = bodies(reminder(a_send(), base_url="https://snoozer.example/"))
    in_html = Page(html).links
    assert in_html == re.findall(r"https://\S+", text)
    tokens = [url.removeprefix("https://snoozer.example/r/") for url in in_html]
    asked = [links.verify(token, keys=KEYS[:1]) for token in tokens]
    assert [(link.act, link.phrase) for link in asked] == [
        ("done", None),
        ("again", "tomorrow"),
        ("again", "next week"),
        ("again", None),
    ]
    assert {(link.snooze_id, link.scheduled_for) for link in asked} == {(42, PROMISED)}


def test_both_bodies_say_why_now_what_it_was_and_what_was_noted(a_send: Sends) -> None:
    for words in bodies(reminder(a_send())):
        plain = " ".join(re.sub(r"<[^>]+>", " ", words).replace("\u200c", "").split()).replace(" .", ".")
        assert "You asked to see this again Friday 6 March, 08:00 (Berlin time)" in plain
        assert "Subject of the original" in plain
        assert "Quarterly figures" in plain
        assert "Anna Berg · anna.berg@example.com" in plain
        assert "Ask about travel." in plain
        assert " late" not in plain


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (timedelta(seconds=60), None),
        (timedelta(seconds=61), "This is 1 minute late: Snoozer picked it up at 08:01."),
        (timedelta(hours=2, minutes=5), "This is 2 hours 5 minutes late: Snoozer picked it up at 10:05."),
        (timedelta(days=1), "This is 1 day late: Snoozer picked it up at Saturday 7 March, 08:00."),
    ],
)
def test_a_late_reminder_says_how_late(a_send: Sends, after: timedelta, said: str | None) -> None:
    for words in bodies(reminder(a_send(reserved_at=PROMISED + after))):
        assert (said in words) if said else (" late" not in words)


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("UTC", "Friday 6 March, 07:00 (UTC)"),
        ("America/New_York", "Friday 6 March, 02:00 (New York time)"),
        ("Asia/Kolkata", "Friday 6 March, 12:30 (Kolkata time)"),
        ("Etc/GMT+5", "Friday 6 March, 02:00 (UTC-05:00)"),
        ("No/Such", "Friday 6 March, 07:00 (UTC)"),
        ("../../etc/passwd", "Friday 6 March, 07:00 (UTC)"),
    ],
)
def test_times_are_told_in_the_persons_zone(a_send: Sends, zone: str, said: str) -> None:
    assert said in bodies(reminder(a_send(zone=zone)))[0]


def test_a_promise_of_another_year_names_it(a_send: Sends) -> None:
    send = a_send(scheduled_for=datetime(2025, 12, 31, 23, 30, tzinfo=UTC), zone="UTC")
    assert "Wednesday 31 December 2025, 23:30" in bodies(reminder(send))[0]


def test_a_bare_row_makes_a_whole_mail(a_send: Sends) -> None:
    mail = reminder(a_send(subject=None, sender_email=None, note=None, message_id="no-id-at-all"))
    assert opened(mail)["Subject"] == NO_SUBJECT
    assert opened(mail)["In-Reply-To"] is None
    for words in bodies(mail):
        assert NO_SUBJECT in words
        assert "Your note" not in words
        assert "None" not in words


def test_the_hostile_subject_injects_nothing(a_send: Sends) -> None:
    mail = reminder(a_send(subject=HOSTILE_SUBJECT))
    assert opened(mail).get_content_type() == "multipart/alternative"
    assert opened(mail)["Subject"] == HOSTILE_SUBJECT.replace("=?", "= ?")
    assert "h1" not in Page(bodies(mail)[1]).tags


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(
    subject=HOSTILE | st.none(),
    sender=HOSTILE | st.none(),
    note=HOSTILE | st.none(),
    message_id=HOSTILE,
    tail=st.sampled_from(
        ["", " http://evil.example/a", " www.evil.example", " <a href=//evil.example>x</a>", " a@evil.example"]
    ),
)
def test_no_stranger_adds_a_link_a_tag_or_a_header(
    a_send: Sends, subject: str | None, sender: str | None, note: str | None, message_id: str, tail: str
) -> None:
    plain = reminder(a_send())
    mail = reminder(
        a_send(
            subject=(subject or "") + tail,
            sender_email=(sender or "") + tail,
            note=(note or "") + tail,
            message_id=message_id,
        )
    )
    assert mail.isascii()
    assert len(mail) <= 100_000
    threads = {"In-Reply-To", "References"}
    assert [name for name, _ in opened(mail).items() if name not in threads] == [
        name for name, _ in opened(plain).items() if name not in threads
    ]
    text, html = bodies(mail)
    ours, theirs = Page(bodies(plain)[1]), Page(html)
    assert theirs.links == ours.links
    assert theirs.tags <= ours.tags | {"br"}
    assert theirs.attributes <= ours.attributes
    for words in (re.sub(r"https://snoozer\.example/r/\S+", "", text), "".join(theirs.words)):
        assert not LINKABLE.search(words), LINKABLE.search(words)


def test_the_longest_of_everything_stays_under_100_kb(a_send: Sends) -> None:
    mail = reminder(a_send(subject="🎉" * 5_000, sender_email="é" * 5_000 + " <a@b.example>", note="🎉.a" * 50_000))
    assert len(mail) <= 100_000


def test_the_html_asks_for_nothing_from_outside(a_send: Sends) -> None:
    html = bodies(reminder(a_send(reserved_at=PROMISED + timedelta(hours=1))))[1]
    page = Page(html)
    assert not page.tags & {"img", "link", "script", "iframe", "object", "form", "video", "svg", "base"}
    assert not page.attributes & {"src", "background", "srcset", "action", "onclick", "onload"}
    assert "url(" not in html
    assert "@import" not in html
    assert 'name="color-scheme" content="light dark"' in html
    assert "prefers-color-scheme: dark" in html


def test_a_right_to_left_subject_turns_nothing_of_ours(a_send: Sends) -> None:
    text, html = bodies(reminder(a_send(subject="דוח רבעוני")))
    assert "\u2068דוח רבעוני\u2069" in text
    assert re.search(r'dir="auto"[^>]*>\u2068דוח רבעוני\u2069</p>', html)


@pytest.mark.parametrize("letter", ["\u05be", "\u05d0", "\u0627", "\U00010800", "\U0001e900"])
def test_a_single_letter_from_right_to_left_is_kept_apart(a_send: Sends, letter: str) -> None:
    assert f"\u2068a {letter} b\u2069" in bodies(reminder(a_send(subject=f"a {letter} b")))[0]


def test_no_alphabet_before_hebrew_runs_from_right_to_left() -> None:
    """The composer looks at single letters only where one of Hebrew or beyond is in the text."""
    assert {unicodedata.bidirectional(chr(number)) for number in range(0x590)}.isdisjoint({"R", "AL"})


def test_a_recipient_that_ascii_cannot_write_stands_in_the_envelope_alone(a_send: Sends) -> None:
    assert opened(reminder(a_send(user_email="j@bücher.example")))["To"] == "j@xn--bcher-kva.example"
    assert opened(reminder(a_send(user_email="jörg@example.com")))["To"] == "undisclosed-recipients:;"


@pytest.mark.parametrize(
    ("changes", "settled"),
    [
        ({"user_email": "a@b.example\r\nBcc: x@y.example"}, {}),
        ({"user_email": "not an address"}, {}),
        ({"reminder_message_id": "<a@b>\r\nBcc: x@y.example"}, {}),
        ({"reminder_message_id": "bare@id"}, {}),
        ({}, {"mail_from": "nobody"}),
        ({}, {"instance": "i\r\nBcc: x"}),
        ({}, {"keys": []}),
    ],
)
def test_what_cannot_stand_in_a_header_makes_no_mail(a_send: Sends, changes: Any, settled: Any) -> None:
    with pytest.raises(ValueError):
        reminder(a_send(**changes), **settled)


def test_the_sign_in_mail_carries_one_link_and_one_code() -> None:
    mail = compose_sign_in(
        to="ann@example.com",
        link="https://snoozer.example/sign-in/abc",
        code="482 913",
        minutes=10,
        mail_from="snoozer@snoozer.example",
        instance="i-1",
        now=PROMISED,
        message_id="<sign-in.1@snoozer.example>",
    )
    read = opened(mail)
    assert read["Subject"] == "Sign in to Snoozer"
    assert read["From"] == "Snoozer <snoozer@snoozer.example>"
    assert read["Auto-Submitted"] == "auto-generated"
    text, html = bodies(mail)
    assert Page(html).links == ["https://snoozer.example/sign-in/abc"]
    for words in (text, html):
        assert "482 913" in words
        assert "10 minutes" in words


def test_templates_never_switch_escaping_off() -> None:
    folder = Path(__file__).resolve().parents[2] / "templates" / "emails"
    for template in folder.rglob("*.html"):
        assert not re.search(r"\|\s*safe|autoescape", template.read_text(encoding="utf-8")), template.name
