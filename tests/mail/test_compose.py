"""What people get: the reminder and the way in."""

import hashlib
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from snoozer.mail import links
from snoozer.mail.compose import NO_SUBJECT, ReminderWriter
from snoozer.mail.links import InvalidLink
from snoozer.mail.notices import compose_notice
from snoozer.queue.reminder import Member
from tests.mail.composed import KEYS, LINKABLE, PROMISED, Page, bodies, opened, reminder
from tests.mail.conftest import Sends


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


def test_with_a_domain_for_answers_a_reminder_has_an_address_of_its_own(a_send: Sends) -> None:
    """The same for the same row: a second copy has the same bytes."""
    mails = [reminder(a_send(), inbound_domain="in.snoozer.example") for _ in range(2)]
    assert mails[0] == mails[1]
    local_part, _, domain = opened(mails[0])["Reply-To"].partition("@")
    assert (len(local_part), domain) == (63, "in.snoozer.example")
    for written in (local_part, local_part.upper()):
        link = links.verify_address(written, keys=KEYS[::-1])
        assert (link.snooze_id, link.scheduled_for) == (42, PROMISED)
    assert opened(reminder(a_send(snooze_id=43), inbound_domain="in.snoozer.example"))["Reply-To"] != local_part


def test_with_a_domain_for_mail_a_reminder_is_returned_to_an_address_of_its_own(a_send: Sends) -> None:
    """The address names the same occurrence as Reply-To, and does not open what Reply-To opens."""

    def writer(inbound_domain: str) -> ReminderWriter:
        mail_from = "Snoozer <reminders@snoozer.example>"
        return ReminderWriter(
            mail_from=mail_from, base_url="https://s.example", keys=KEYS, instance="i", inbound_domain=inbound_domain
        )

    assert writer("").envelope_sender(a_send()) == "reminders@snoozer.example"
    writers = [writer("in.snoozer.example") for _ in range(2)]
    addresses = [one.envelope_sender(a_send()) for one in writers]
    assert addresses[0] == addresses[1] != writers[0].envelope_sender(a_send(snooze_id=43))
    local_part, _, domain = addresses[0].partition("@")
    assert (len(local_part), local_part[:2], domain) == (63, "b+", "in.snoozer.example")
    link = links.verify_address(local_part.upper(), keys=KEYS[::-1])
    assert (link.snooze_id, link.scheduled_for, link.action) == (42, PROMISED, "bounce")
    with pytest.raises(InvalidLink):
        links.verify_address(f"r+{local_part[2:]}", keys=KEYS)


UNSUBSCRIBE = ("List-Unsubscribe", "List-Unsubscribe-Post")


def test_what_repeats_and_nothing_else_can_be_unsubscribed_from_by_one_click(a_send: Sends) -> None:
    once, series = opened(reminder(a_send())), opened(reminder(a_send(repeats=True)))
    assert [once[name] for name in UNSUBSCRIBE] == [None, None]
    token = series["List-Unsubscribe"].removeprefix("<https://snoozer.example/r/").removesuffix("/stop>")
    assert links.verify(token, keys=KEYS[:1]) == links.Link(snooze_id=42, scheduled_for=PROMISED)
    assert series["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    # RFC 8058 requires https.
    local = opened(reminder(a_send(repeats=True), base_url="http://127.0.0.1:8000"))
    assert local["List-Unsubscribe"].startswith("<http://127.0.0.1:8000/r/")
    assert local["List-Unsubscribe-Post"] is None


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("excerpt", ["The figures.", None])
def test_a_second_copy_is_equal_though_its_series_ended_or_its_original_was_read_since(
    a_send: Sends, repeats: bool, excerpt: str | None
) -> None:
    first = reminder(a_send(repeats=repeats, excerpt=excerpt), keys=["old"])
    row = {"excerpt": "The figures.", "bytes_sha256": hashlib.sha256(first).hexdigest()}
    for later in (True, False):
        assert reminder(a_send(repeats=later, **row), keys=["new", "old"]) == first


def test_a_reminder_shows_how_a_kept_original_begins_as_words(a_send: Sends) -> None:
    mail = reminder(a_send(excerpt="See <b>www.evil.example</b> now\r\nBcc: x@evil.example"))
    text, html = bodies(mail)
    assert opened(mail)["Bcc"] is None
    shown = "See <b>www.\u200cevil.\u200cexample</b> now Bcc: x@\u200cevil.\u200cexample"
    assert f"\n  > {shown}\r\n" in text
    assert shown in "".join(Page(html).words)
    assert not LINKABLE.search(shown)


def test_the_same_row_gives_the_same_bytes_in_every_process(a_send: Sends) -> None:
    program = (
        "import sys, hashlib, pickle; from snoozer.mail.compose import ReminderWriter\n"
        "send = pickle.loads(bytes.fromhex(sys.stdin.read()))\n"
        "mail = ReminderWriter(mail_from='Snoozer <snoozer@snoozer.example>',"
        " base_url='https://snoozer.example', keys=['newest key', 'older key'], instance='i-1').write(send)\n"
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
    token, acts = zip(*[url.removeprefix("https://snoozer.example/r/").split("/") for url in in_html], strict=True)
    assert acts == ("done", "tomorrow-20260307T0700Z", "next-week-20260309T0700Z", "again")
    for words in (text, "\n".join(Page(html).words)):
        assert "\nTomorrow, Sat 08:00" in words
        assert "\nNext week, Mon 9 Mar 08:00" in words
    [one] = set(token)
    occurrence = links.Link(snooze_id=42, scheduled_for=PROMISED)
    assert links.verify(one, keys=KEYS[:1]) == occurrence
    button = links.with_act(occurrence, acts[2])
    assert (button.action, button.phrase, button.at) == ("again", "next week", datetime(2026, 3, 9, 7, tzinfo=UTC))
    assert opened(reminder(a_send()))["X-Snoozer-Occurrence"] == links.occurrence_id(one)


def offered(mail: bytes) -> list[tuple[str, str]]:
    """The buttons that state a time: each act, and the words of its label."""
    text, html = bodies(mail)
    in_html = [url.rpartition("/")[2] for url in Page(html).links]
    found = re.findall(r"(\S.*):\r?\n +https://\S+/((?:tomorrow|next-week)-\S+)", text)
    assert [act for _, act in found] == [act for act in in_html if "-2" in act]
    return [(act, label) for label, act in found]


@pytest.mark.parametrize(
    ("zone", "day", "following", "next_week"),
    [
        ("Europe/Berlin", 8, "20260309T0700Z", None),
        ("Europe/Berlin", 7, "20260308T0700Z", "20260309T0700Z"),
        ("Pacific/Auckland", 7, "20260308T1900Z", None),
        ("Pacific/Auckland", 8, "20260309T1900Z", "20260315T1900Z"),
        ("Europe/London", 28, "20260329T0700Z", "20260330T0700Z"),
    ],
)
def test_no_two_buttons_mean_the_same_and_each_is_in_the_persons_zone(
    zone: str, day: int, following: str, next_week: str | None, a_send: Sends
) -> None:
    """On a Sunday, next week is tomorrow; on 29 March 2026, British clocks go forward."""
    promised = PROMISED.replace(day=day, hour=12)
    acts = [act for act, _ in offered(reminder(a_send(scheduled_for=promised, dated=promised, zone=zone)))]
    assert acts == [f"tomorrow-{following}", *([f"next-week-{next_week}"] if next_week else [])]


@pytest.mark.parametrize(
    ("locale", "labels"),
    [
        ("en_GB", ["Tomorrow, Wed 08:00", "Next week, Mon 16 Mar 08:00"]),
        ("en_US", ["Tomorrow, Wed 8:00 am", "Next week, Mon, Mar 16 8:00 am"]),
        ("de_DE", ["Morgen, Mi 08:00", "Nächste Woche, Mo 16. März 08:00"]),
    ],
)
def test_buttons_of_a_late_mail_count_from_its_send(locale: str, labels: list[str], a_send: Sends) -> None:
    """It was promised for Friday, and leaves on the night to Tuesday, which has begun in Berlin already."""
    sent = PROMISED + timedelta(days=3, hours=16, minutes=30)
    found = offered(reminder(a_send(as_of=sent, late_by=sent - PROMISED, locale=locale)))
    assert [label for _, label in found] == labels


@pytest.mark.parametrize(
    ("locale", "delayed_by", "sentence"),
    [
        ("en_GB", "queue", "This comes 2 hours 10 minutes late."),
        ("en_GB", None, "This comes 2 hours 10 minutes late."),
        ("en_GB", "mail server", "This comes 2 hours 10 minutes late, because our mail server could not be reached."),
        ("de_DE", "worker", "Diese Mail kommt 2 Stunden 10 Minuten zu spät."),
        (
            "de_DE",
            "recipient",
            "Diese Mail kommt 2 Stunden 10 Minuten zu spät, weil dein Mailserver sie zuerst nicht annahm.",
        ),
    ],
)
def test_a_late_mail_says_how_late_and_why_if_that_means_something_to_a_person(
    locale: str, delayed_by: str | None, sentence: str, a_send: Sends
) -> None:
    late = {"late_by": timedelta(hours=2, minutes=10), "delayed_by": delayed_by, "locale": locale}
    members = (Member(snooze_id=43, scheduled_for=PROMISED, subject="Lease", sender_email=None, note=None),)
    for send in (a_send(**late), a_send(members=members, **late)):
        text, html = bodies(reminder(send))
        assert f"\r\n{sentence}\r\n" in text
        assert sentence in Page(html).words
    assert sentence not in "".join(bodies(reminder(a_send(locale=locale, delayed_by=delayed_by))))


@pytest.mark.parametrize("locale", ["en_GB", "de_DE"])
def test_what_repeats_has_a_link_that_stops_it_and_nothing_else_has(locale: str, a_send: Sends) -> None:
    """It leads to the page of List-Unsubscribe."""
    series = reminder(a_send(repeats=True, locale=locale))
    target = opened(series)["List-Unsubscribe"].strip("<>")
    text, html = bodies(series)
    assert Page(html).links[-1] == re.findall(r"https://\S+", text)[-1] == target
    assert {"en_GB": "Stop the repetition", "de_DE": "Wiederholung beenden"}[locale] in text
    assert "/stop" not in "".join(bodies(reminder(a_send(locale=locale))))


def test_both_bodies_say_why_now_what_it_was_and_what_was_noted(a_send: Sends) -> None:
    for words in bodies(reminder(a_send())):
        plain = " ".join(re.sub(r"<[^>]+>", " ", words).replace("\u200c", "").split()).replace(" .", ".")
        assert "You asked to see this again Friday 6 March 2026, 08:00 (Berlin time)" in plain
        assert "Subject of the original" in plain
        assert "Quarterly figures" in plain
        assert "Anna Berg · anna.berg@example.com" in plain
        assert "Ask about travel." in plain
        assert " late" not in plain


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("UTC", "Friday 6 March 2026, 07:00 (UTC)"),
        ("America/New_York", "Friday 6 March 2026, 02:00 (New York time)"),
        ("Asia/Kolkata", "Friday 6 March 2026, 12:30 (Kolkata time)"),
        ("Etc/GMT+5", "Friday 6 March 2026, 02:00 (UTC-05:00)"),
        ("No/Such", "Friday 6 March 2026, 07:00 (UTC)"),
        ("../../etc/passwd", "Friday 6 March 2026, 07:00 (UTC)"),
    ],
)
def test_times_are_in_the_persons_zone(a_send: Sends, zone: str, shown: str) -> None:
    assert shown in bodies(reminder(a_send(zone=zone)))[0]


@pytest.mark.parametrize(
    ("promised", "dated", "shown"),
    [
        ("1970-01-01T00:00:00+00:00", "Thu, 01 Jan 1970 00:00:00 +0000", "Wednesday 31 December 1969, 19:00"),
        ("2025-12-31T23:30:00.9+01:00", "Wed, 31 Dec 2025 22:30:00 +0000", "Wednesday 31 December 2025, 17:30"),
        ("9999-01-01T00:00:00+00:00", "Fri, 01 Jan 9999 00:00:00 +0000", "Thursday 31 December 9998, 19:00"),
    ],
)
def test_any_promise_that_a_row_can_hold_has_a_date(a_send: Sends, promised: str, dated: str, shown: str) -> None:
    instant = datetime.fromisoformat(promised)
    mail = reminder(a_send(scheduled_for=instant, dated=instant, zone="America/New_York"))
    assert opened(mail)["Date"] == dated
    assert shown in bodies(mail)[0]


def test_the_date_is_written_as_the_library_writes_it(a_send: Sends) -> None:
    for day in range(400):
        dated = PROMISED + timedelta(days=day, hours=day, seconds=day)
        assert f"\r\nDate: {format_datetime(dated)}\r\n".encode() in reminder(a_send(dated=dated))


def test_a_bare_row_makes_a_whole_mail(a_send: Sends) -> None:
    mail = reminder(a_send(subject=None, sender_email=None, note=None, message_id="no-id-at-all"))
    assert opened(mail)["Subject"] == NO_SUBJECT
    assert opened(mail)["In-Reply-To"] is None
    for words in bodies(mail):
        assert NO_SUBJECT in words
        assert "Your note" not in words
        assert "None" not in words


def test_a_recipient_that_ascii_cannot_write_stands_in_the_envelope_alone(a_send: Sends) -> None:
    assert opened(reminder(a_send(user_email="j@bücher.example")))["To"] == "j@xn--bcher-kva.example"
    assert opened(reminder(a_send(user_email="jörg@example.com")))["To"] == "undisclosed-recipients:;"


def test_the_sign_in_mail_carries_one_link_and_one_code() -> None:
    mail = compose_notice(
        "sign_in",
        {"link": "https://snoozer.example/sign-in/abc", "code": "482 913", "minutes": "10"},
        to="ann@example.com",
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
