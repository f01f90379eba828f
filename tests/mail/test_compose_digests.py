"""A digest lists each reminder with links of its own, and what strangers wrote stands in it as words."""

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from snoozer.mail import links
from snoozer.queue.limits import MAX_DIGEST_SIZE
from snoozer.queue.reminder import Member, Send
from snoozer.translations import speaking
from tests.mail.composed import KEYS, LINKABLE, PROMISED, Page, bodies, opened, reminder
from tests.mail.conftest import Sends
from tests.mail.hostile import FULL, HOSTILE

ACTS = ("done", "tomorrow-20260307T0700Z", "next-week-20260309T0700Z", "again")
SITE = "https://snoozer.example/r/"


def a_member(**changes: Any) -> Member:
    row: dict[str, Any] = {
        "snooze_id": 43,
        "scheduled_for": PROMISED + timedelta(hours=3),
        "subject": "Lease",
        "sender_email": None,
        "note": "first line\nsecond line",
    }
    return Member(**(row | changes))


@pytest.fixture
def a_digest(a_send: Sends) -> Sends:
    """Of Friday 08:00 and 11:00, and of Sunday 08:00."""
    sunday = PROMISED + timedelta(days=2)

    def make(**changes: Any) -> Send:
        members = (a_member(), a_member(snooze_id=44, scheduled_for=sunday, subject=None, note=None))
        return a_send(**({"members": members} | changes))

    return make


def test_each_has_the_links_of_its_own_promise(a_digest: Sends) -> None:
    send = a_digest()
    text, html = bodies(reminder(send))
    *urls, stop = Page(html).links
    assert [*urls, stop] == re.findall(r"https://\S+", text)
    assert f"<{stop}>" == opened(reminder(send))["List-Unsubscribe"]
    tokens, acts = zip(*[url.removeprefix(SITE).split("/") for url in urls], strict=True)
    assert acts == ACTS * 3
    found = [links.verify(token, keys=KEYS[:1]) for token in dict.fromkeys(tokens)]
    listed: list[Send | Member] = [send, *send.members]
    promises = [(one.snooze_id, one.scheduled_for) for one in listed]
    assert [(one.snooze_id, one.scheduled_for) for one in found] == promises


def test_it_is_in_no_thread_and_says_how_many(a_digest: Sends) -> None:
    mail = opened(reminder(a_digest()))
    assert mail["Subject"] == "3 reminders"
    assert mail["References"] is None
    assert mail["In-Reply-To"] is None
    assert mail["Message-ID"] == "<0123456789abcdef@snoozer.example>"


def test_both_bodies_have_subject_sender_note_and_time_of_each(a_digest: Sends) -> None:
    text, html = bodies(reminder(a_digest()))
    for words in (text, "\n".join(Page(html).words)):
        plain = " ".join(words.replace("\u200c", "").split())
        for expected in (
            "You asked to see these 3 messages again.",
            "Quarterly figures",
            "Anna Berg · anna.berg@example.com",
            "Ask about travel.",
            "Friday 6 March 2026, 08:00 (Berlin time)",
            "Lease",
            "first line second line",
            "Friday 6 March 2026, 11:00",
            "(no subject)",
            "Sunday 8 March 2026, 08:00",
        ):
            assert expected in plain
    assert "first line<br>second line" in html
    assert "     first line\r\n     second line\r\n" in text


def test_it_is_in_the_language_of_its_send_alone(a_digest: Sends) -> None:
    english, german = reminder(a_digest()), reminder(a_digest(locale="de_DE"))
    assert opened(german)["Subject"] == "3 Erinnerungen"
    text, html = bodies(german)
    assert "Du wolltest diese 3 Nachrichten wieder sehen." in text
    for words in (text, " ".join(Page(html).words)):
        assert not re.search(r"You|Done|Tomorrow|Next week|note|time\)|Friday|Reminder", words)
    with speaking("de"):
        assert reminder(a_digest()) == english


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=5_000 if FULL else 60, deadline=None
)
@given(
    subject=HOSTILE | st.none(),
    sender=HOSTILE | st.none(),
    note=HOSTILE | st.none(),
    tail=st.sampled_from(["", " http://evil.example/a", "\n\n2. x", " <a href=//evil.example>x</a>", " {{ 7*7 }} %s"]),
)
@example(subject=None, sender=None, note="0@", tail="\n\n2. x")
def test_no_stranger_adds_a_link_a_tag_or_a_header(
    a_digest: Sends, subject: str | None, sender: str | None, note: str | None, tail: str
) -> None:
    plain = a_member(subject="x", sender_email="x", note="x")
    theirs = a_member(subject=(subject or "") + tail, sender_email=(sender or "") + tail, note=(note or "") + tail)
    ours, mail = (reminder(a_digest(members=(one, one))) for one in (plain, theirs))
    assert mail.isascii()
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n|\0", mail)
    assert opened(mail).keys() == opened(ours).keys()
    text, html = bodies(mail)
    page, our_page = Page(html), Page(bodies(ours)[1])
    assert page.links == our_page.links
    assert page.tags <= our_page.tags | {"br"}
    assert page.attributes <= our_page.attributes
    for words in (re.sub(r"https://snoozer\.example/r/\S+", "", text), "".join(page.words)):
        # The sender's address of each, which people copy.
        without_senders = re.sub(r"(?<![\w.@/:])(?!www\.)[a-z0-9][a-z0-9._+-]*@(?:[a-z0-9-]+\.)+[a-z]{2,}", "", words)
        assert not LINKABLE.search(without_senders), LINKABLE.search(without_senders)


def test_the_largest_is_a_mail_that_servers_take(a_digest: Sends) -> None:
    longest = a_member(subject="🎉" * 5_000, sender_email="é" * 5_000 + " <a@b.example>", note="🎉.a" * 50_000)
    assert len(reminder(a_digest(members=(longest,) * (MAX_DIGEST_SIZE - 1)))) <= 2_000_000
    usual = a_member(subject="Lease for the second floor, open points", sender_email="Anna <anna@mail.example>")
    html = bodies(reminder(a_digest(members=(usual,) * (MAX_DIGEST_SIZE - 1))))[1]
    assert len(html.encode()) <= 102_000
