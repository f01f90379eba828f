"""Every page and mail writes dates and hours as its locale does, and no text for people has the words of programs."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import audit
from snoozer.db.audit import Entry
from snoozer.delivery.chores import chores
from snoozer.mail.compose import ReminderWriter
from snoozer.mail.notices import compose_notice, compose_unreadable_folder
from snoozer.queue import events
from snoozer.queue.reminder import Member, Send
from snoozer.settings import Settings
from snoozer.timephrase.date_format import MONTH_NAMES, WEEKDAY_NAMES
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError
from snoozer.translations import catalogue, language_of, speaking
from snoozer.web.operators.audit_texts import ACTS
from snoozer.web.text.time_format import TimeFormatter
from tests.browser import every_page
from tests.factories import ANN, HOUR, People, a_feed, a_kept_message, a_snooze, asked_for, now
from tests.mail.composed import bodies, opened
from tests.web import overviews
from tests.web.reminders import a_link, a_sent_reminder

LOCALES = {"en_US": "America/New_York", "en_GB": "Europe/London", "de_DE": "Europe/Berlin"}
PHRASES = [
    *("in 90 days", "at 3", "thursday 6pm", "every day 8am until december 24", "tomorrow 9am Asia/Tokyo"),
    *("3d if no reply", "every 2 weeks on tuesday 14:00 for 3 times", "feb 29", "1/2/2030", "today 9am", "2031", "x"),
    *("midnight friday", "every month until 3/4/2030", "monday 31 december 2029"),
]
# Rules that write for programs, and what is not text.
FOR_PROGRAMS = re.compile(
    r"/api/|/docs/api|/static/|/health|\.(js|json|ics|atom|webmanifest|eml)$|/readyz|/metrics|/live|/export"
)
# Pages that show a stranger's mail as it came, need a mail server, a provider or a sign-in, or only lead elsewhere.
LEFT_OUT = {
    "/settings/addresses.vcf",
    *(f"/mailbox/<row:key>/{part}" for part in ("html", "original", "parts/<part>")),
    *(f"/mailboxes/<row:mailbox_id>/mail{more}" for more in ("", "/<key>", "/<key>/html", "/<key>/original")),
    *(f"/mailboxes/<row:mailbox_id>/mail/<key>/{part}" for part in ("parts/<part>", "snooze")),
    # There is an account.
    "/setup/<token>",
    *("/sign-in/<token>", "/sign-in/organisation", "/sink/<row:id>/html", "/sink/<row:id>/original"),
}
MONTHS = "|".join([*MONTH_NAMES, *(name[:3] for name in MONTH_NAMES)])
GERMAN = catalogue("de")
GERMAN_MONTHS = "|".join(GERMAN.gettext(name) for name in MONTH_NAMES)
EVERYWHERE = {
    "a date of ISO 8601": r"\b\d{4}-\d\d-\d\d\b",
    "seconds after am or pm": r"[ap]m:\d",
    "Python": r"\bNone\b|\bTrue\b|\bFalse\b|\w+\(\w+=|datetime\.|<\w+ object|\[\]|\{'",
    "a word with an underscore": r"\b[a-z]+_[a-z_]+\b|\bAmerica/New_York\b",
    "a figure of nothing": r"\bup to 0\.0\b|within –|: –",
}
MONTH_FIRST = rf"\b(?:{MONTHS}) \d{{1,2}}\b(?!:)"
FOREIGN = {
    "en_US": {
        "24 hours": r"(?<![\d:])\d{1,2}:\d\d(?::\d\d)?(?![\d:]| [ap]m\b)",
        "the day before the month": rf"\b\d{{1,2}} (?:{MONTHS})\b",
        "a weekday without a comma": rf"\b(?:{'|'.join(WEEKDAY_NAMES)}) (?:{MONTHS})\b",
    },
    "en_GB": {"12 hours": r"\b\d{1,2}:\d\d(?::\d\d)? ?[ap]m\b", "the month before the day": MONTH_FIRST},
    "de_DE": {
        "12 hours": r"\b\d{1,2}:\d\d(?::\d\d)? ?[ap]m\b",
        "the month before the day": MONTH_FIRST,
        "a day without its dot": rf"\b\d{{1,2}} (?:{GERMAN_MONTHS})\b",
    },
}


class Seen(HTMLParser):
    """The text of a page, and of the attributes that people read; without code, and without what people typed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts = [""]
        self._left_out: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.texts += [given.get(name) or "" for name in ("title", "aria-label", "placeholder", "alt", "content")]
        self.texts.append("")
        # The languages to choose from are each written in its own style.
        is_code = (
            given.get("id") == "locale"
            or tag in {"script", "style", "code", "kbd", "pre", "datalist"}
            or "mono" in (given.get("class") or "")
        )
        if tag not in {"input", "meta", "link", "br", "wbr", "img"} and (is_code or self._left_out):
            self._left_out.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._left_out = self._left_out[:-1]
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self.texts[-1] += data


def faults(shown: str, *, locale: str) -> Iterator[str]:
    shown = re.sub(r"UTC[+-]\d\d:\d\d", "UTC", shown)
    for what, pattern in {**EVERYWHERE, **FOREIGN[locale]}.items():
        for found in re.finditer(pattern, shown):
            around = shown[max(found.start() - 40, 0) : found.end() + 30]
            yield f"{what}: {' '.join(around.split())}"


@pytest.mark.parametrize(
    ("locale", "shown"),
    [
        *(("en_US", "at 18:00"), ("en_US", "6:52:15."), ("en_US", "Thursday 26 November"), ("en_US", "24 Nov")),
        *(("en_US", "7:05 pm:24"), ("en_GB", "7:05 pm"), ("en_GB", "November 26"), ("de_DE", "8:00 am")),
        *(("de_DE", "26 November"), ("de_DE", "Nov 26"), ("en_GB", "2026-11-26"), ("en_GB", "role None")),
        *(("en_GB", "Config(is_disabled=False)"), ("en_GB", "trip_breaker"), ("en_GB", "up to 0.0 a minute")),
    ],
)
def test_what_is_foreign_is_found(locale: str, shown: str) -> None:
    assert list(faults(shown, locale=locale))


@pytest.mark.parametrize(
    ("locale", "shown"),
    [
        ("en_US", "Thursday, November 26, 2026, 7:05:24 pm (UTC-05:00, America/New York)"),
        ("en_GB", "Thursday 26 November 2026, 19:05:24 · Thu 26 Nov 19:05 · November 2026"),
        ("de_DE", "Donnerstag, 26. November 2026, 19:05:24 · Do 26. Nov 19:05"),
    ],
)
def test_what_is_native_is_not(locale: str, shown: str) -> None:
    assert list(faults(shown, locale=locale)) == []


@pytest.fixture
def site(engine: Engine, settings: Settings, people: People) -> tuple[list[str], str]:
    """Rows in every state, the paths of the pages that need more than a number, and a session."""
    person = people.ann(role="admin")
    paths = [*every_page.of_a_person(settings, engine), *every_page.of_an_operator(engine)]
    for hours in (*range(1, 48, 5), 200, 2_200, 9_000):
        a_snooze(engine, remind_at=now() + hours * HOUR, zone="Europe/Berlin")
    for phrase in ("every day 8am until 24 december 2030", "thursday 6pm", "in 2 hours", "every monday 9:30"):
        asked_for(engine, phrase)
    a_snooze(engine, claimed_at=now())
    a_kept_message(engine)
    overviews.all_is_well(engine)
    for ago in (3, 20, 90):
        overviews.sent(engine, ago=timedelta(minutes=ago), late=timedelta(seconds=1.5))
    chores.record_minutes(engine)
    chores.roll_minutes(engine)
    overviews.a_breaker(engine)
    stopped = {"tripped_at": now(), "tripped_by": "operator:1", "trip_reason": "upgrade", "opened_at": now()}
    overviews.a_breaker(engine, server="mail2.example:25", state="open", **stopped)
    for minutes in range(0, 1440, 187):
        a_sent_reminder(engine, promised=now() - timedelta(minutes=minutes), late=timedelta(minutes=3))
    link = a_link(engine, settings, a_sent_reminder(engine))
    with engine.begin() as connection:
        for number, act in enumerate(ACTS):
            case = {"outcome": "retired", "attempts": 5, "remind_at": now() - HOUR, "claimed_by": None}
            after = {"outcome": None, "attempts": 0, "remind_at": now(), "inactive": False, "untouched": 3}
            entry = Entry(snooze_id=1 + number % 2, target=f"account:{number}", before=case, after=after)
            audit.append(connection, actor="operator:1", act=act, entries=[entry])
        change = Entry(target="account:1", before={"role": None}, after={"role": "admin"})
        audit.append(connection, actor="command", act="change_role", entries=[change])
        detail = {"until": now().isoformat(), "why": "quiet", "next": now().isoformat(), "max_attempts": 7}
        for kind in ("asked", "deferred", "skipped", "back", "delayed", "failed", "retired"):
            events.append(connection, snooze_id=1, kind=kind, actor="user:1", route="web", detail=detail)
    return [
        *paths,
        link,
        f"{link}/stop",
        f"/feeds/{a_feed(engine)}",
        *(f"/when/preview?phrase={phrase}" for phrase in PHRASES[:6]),
    ], person.session


def html_of(browser: FlaskClient, path: str) -> str | None:
    with browser.get(path) as answer:
        return (
            answer.get_data(as_text=True)
            if answer.mimetype == "text/html" and answer.status_code not in {404, 503}
            else None
        )


def faults_of_pages(app: Flask, paths: Sequence[str], *, session: str, locale: str) -> tuple[set[str], set[str]]:
    """The faults of all pages, and the rules of which no page was read."""
    browser = app.test_client()
    browser.set_cookie("snoozer_session", session)
    browser.set_cookie("snoozer_locale", locale)
    rules = [rule.rule for rule in app.url_map.iter_rules() if "GET" in (rule.methods or set())]
    unread = {rule for rule in rules if not FOR_PROGRAMS.search(rule)}
    paths, found = [*paths, *(re.sub("<row:id>", "1", rule) for rule in unread)], set[str]()
    for path in dict.fromkeys(path for path in paths if "<" not in path and not FOR_PROGRAMS.search(path)):
        page = html_of(browser, path)
        if page is not None:
            rule, _ = app.url_map.bind("").match(path.partition("?")[0], return_rule=True)
            unread.discard(rule.rule)
            # Operators' pages are English in every locale.
            here = "en_GB" if locale == "de_DE" and path.startswith("/admin") else locale
            found |= {f"{locale} {path}: {fault}" for shown in Seen(page).texts for fault in faults(shown, locale=here)}
    return found, unread


def test_every_page_is_written_for_its_reader(app: Flask, engine: Engine, site: tuple[list[str], str]) -> None:
    paths, session = site
    for locale, zone in LOCALES.items():
        with engine.begin() as connection:
            connection.execute(
                text("UPDATE accounts SET locale = :locale, zone = :zone"), {"locale": locale, "zone": zone}
            )
        found, unread = faults_of_pages(app, paths, session=session, locale=locale)
        assert sorted(found) == []
        assert unread == LEFT_OUT


def mails(locale: str) -> Iterator[bytes]:
    """Every mail that the product composes, for a person of that locale."""
    settled: dict[str, Any] = {"mail_from": "Snoozer <snoozer@snoozer.example>", "instance": "i-1"}
    promised = [datetime(2026, 11, 26, hour, 5, tzinfo=UTC) for hour in (2, 15)]
    row: dict[str, Any] = {"subject": "Figures", "sender_email": "bob@mail.example", "note": "Ask."}
    digest = (Member(snooze_id=3, scheduled_for=promised[1], **row),)
    for at in promised:
        for members in ((), digest):
            send = Send(
                snooze_id=2,
                claim_token=UUID(int=7),
                user_email=ANN,
                message_id="<original@mail.example>",
                scheduled_for=at,
                dated=at,
                reminder_message_id="<1@snoozer.example>",
                zone=LOCALES[locale],
                locale=locale,
                bytes_sha256=None,
                members=members,
                **row,
            )
            yield ReminderWriter(base_url="https://snoozer.example", keys=["key"], **settled).write(send)
    language = language_of(locale)
    notice = {"to": ANN, "now": promised[0], "message_id": "<2@snoozer.example>", "language": language, **settled}
    with speaking(language):
        due = TimeFormatter(now=promised[0], zone=LOCALES[locale], locale=locale).exact(promised[1])
    link = "https://snoozer.example/x"
    yield compose_notice("setup", {"link": link}, **notice)
    yield compose_notice("deletion", {"due": due, "link": link}, **notice)
    yield compose_notice("sign_in", {"link": link, "code": "123 456", "minutes": "15"}, **notice)
    yield compose_notice("webhook_off", {"reason": "It failed for a day.", "link": link}, **notice)
    with pytest.raises(ParseError) as error:
        parse("2031", now=promised[1], zone=LOCALES[locale], locale=locale)
    reason, names = error.value.message, error.value.suggestions
    parsed = parse("3d", now=promised[1], zone=LOCALES[locale], locale=locale)
    done = {"text": parsed.sentence, "about": "Figures", "reason": "", "suggestions": "", "link": link}
    yield compose_notice("answer", done, **notice)
    unread = {"text": "x", "about": "", "reason": reason, "suggestions": " · ".join(names), "link": ""}
    yield compose_notice("answer", unread, **notice)
    yield compose_unreadable_folder(folder="2031", reason=reason, suggestions=names, **notice)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_mail_is_written_for_its_reader(locale: str) -> None:
    read, found = 0, []
    for mail in mails(locale):
        plain, page = bodies(mail)
        for shown in (opened(mail)["Subject"], plain, *Seen(page).texts):
            found += list(faults(re.sub(r"https://\S+", "", shown), locale=locale))
        read += 1
    assert (read, found) == (11, [])


@pytest.mark.parametrize("locale", LOCALES)
def test_every_reading_is_written_for_its_reader(locale: str) -> None:
    for phrase, days in product(PHRASES, range(7)):
        try:
            shown = [parse(phrase, now=now() + timedelta(days), zone=LOCALES[locale], locale=locale).sentence]
        except ParseError as error:
            shown = [error.message, *error.suggestions]
        assert [fault for each in shown for fault in faults(each, locale=locale)] == [], phrase
