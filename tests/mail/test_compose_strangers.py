"""What strangers wrote stands in our mail as words: no header, no link, no tag, no turned direction of theirs."""

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mail.composed import LINKABLE, Page, bodies, opened, reminder
from tests.mail.conftest import Sends
from tests.mail.hostile import FULL, HOSTILE, HOSTILE_SUBJECT

# The sender's address, which people copy.
PLAIN_ADDRESS = re.compile(r"(?<![\w.@/:])(?!www\.)[a-z0-9][a-z0-9._+-]*@(?:[a-z0-9-]+\.)+[a-z]{2,}", re.IGNORECASE)


def test_the_hostile_subject_injects_nothing(a_send: Sends) -> None:
    mail = reminder(a_send(subject=HOSTILE_SUBJECT))
    assert opened(mail).get_content_type() == "multipart/alternative"
    assert opened(mail)["Subject"] == HOSTILE_SUBJECT.replace("=?", "= ?")
    assert "h1" not in Page(bodies(mail)[1]).tags


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=5_000 if FULL else 200, deadline=None
)
@given(
    subject=HOSTILE | st.none(),
    sender=HOSTILE | st.none(),
    note=HOSTILE | st.none(),
    excerpt=HOSTILE | st.none(),
    message_id=HOSTILE,
    tail=st.sampled_from(
        ["", " http://evil.example/a", " www.evil.example", " <a href=//evil.example>x</a>", " a@evil.example"]
    ),
)
def test_no_stranger_adds_a_link_a_tag_or_a_header(
    a_send: Sends,
    subject: str | None,
    sender: str | None,
    note: str | None,
    excerpt: str | None,
    message_id: str,
    tail: str,
) -> None:
    plain = reminder(a_send())
    mail = reminder(
        a_send(
            subject=(subject or "") + tail,
            sender_email=(sender or "") + tail,
            note=(note or "") + tail,
            excerpt=(excerpt or "") + tail,
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
        without_sender = PLAIN_ADDRESS.sub("", words, count=1)
        assert not LINKABLE.search(without_sender), LINKABLE.search(without_sender)


def test_the_longest_of_everything_stays_under_100_kb(a_send: Sends) -> None:
    mail = reminder(a_send(subject="🎉" * 5_000, sender_email="é" * 5_000 + " <a@b.example>", note="🎉.a" * 50_000))
    assert len(mail) <= 100_000


def test_the_html_asks_for_nothing_from_outside(a_send: Sends) -> None:
    html = bodies(reminder(a_send()))[1]
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


@pytest.mark.parametrize(
    ("changes", "settled"),
    [
        ({"user_email": "a@b.example\r\nBcc: x@y.example"}, {}),
        ({"user_email": "not an address"}, {}),
        ({"reminder_message_id": "<a@b>\r\nBcc: x@y.example"}, {}),
        ({"reminder_message_id": "bare@id"}, {}),
        ({}, {"mail_from": "snoozer"}),
        ({}, {"instance": "i\r\nBcc: x"}),
        ({}, {"keys": []}),
    ],
)
def test_what_cannot_stand_in_a_header_makes_no_mail(a_send: Sends, changes: Any, settled: Any) -> None:
    with pytest.raises(ValueError):
        reminder(a_send(**changes), **settled)


def test_templates_never_switch_escaping_off() -> None:
    folder = Path(__file__).resolve().parents[2] / "templates" / "emails"
    for template in folder.rglob("*.html"):
        assert not re.search(r"\|\s*safe|autoescape", template.read_text(encoding="utf-8")), template.name


def test_the_address_of_a_sender_can_be_copied(a_send: Sends) -> None:
    for body in bodies(reminder(a_send(sender_email="Ann www.evil.example <anna.berg@example.com>"))):
        assert "anna.berg@example.com" in body
        assert "www.evil.example" not in body
    for odd in ("www.a.example/x@b.example", "a@b@c.example"):
        assert odd not in bodies(reminder(a_send(sender_email=f"Ann <{odd}>")))[0]


def test_a_reminder_follows_the_whole_thread_of_its_original(a_send: Sends) -> None:
    ids = [f"<{number:040}@mail.example>" for number in range(9)]
    mail = opened(reminder(a_send(message_id="<stand-in@kept.snoozer.invalid>", thread_ids=" ".join([*ids, "<odd>"]))))
    assert mail["In-Reply-To"] == "<odd>"
    assert str(mail["References"]).split() == [*ids, "<odd>"]
    assert opened(reminder(a_send()))["References"] == "<original@example.com>"


def test_a_reminder_names_an_odd_id_and_none_that_was_made_up(a_send: Sends) -> None:
    assert opened(reminder(a_send(message_id="<[1-Q=@mail.example]>")))["In-Reply-To"] == "<[1-Q=@mail.example]>"
    for made_up in ("<0a1b@kept.snoozer.invalid>", "<1.2.3.abc@mailbox.snoozer.invalid>", "invoice-17"):
        mail = opened(reminder(a_send(message_id=made_up)))
        assert (mail["In-Reply-To"], mail["References"]) == (None, None)
