"""Narrow windows: a reminder at 360 pixels, and pages at 180, a phone whose text is twice the size."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from snoozer.db import mailbox_store
from snoozer.queue.reminder import Send
from tests.browser.conftest import Opened
from tests.browser.rows import letters
from tests.browser.touch import PHONE
from tests.factories import ANN, HOUR, a_snooze, now
from tests.mail.composed import reminder

pytestmark = pytest.mark.browser

SENT: dict[str, Any] = {
    "snooze_id": 42,
    "claim_token": UUID(int=7),
    "user_email": ANN,
    "message_id": "<original@mail.example>",
    "scheduled_for": datetime(2026, 9, 30, 19, 50, tzinfo=UTC),
    "dated": datetime(2026, 9, 30, 19, 50, tzinfo=UTC),
    "reminder_message_id": "<0123456789abcdef@snoozer.example>",
    "subject": "Donaudampfschifffahrtsgesellschaft: the quarterly figures",
    "sender_email": "Anna Berg <anna.berg@mail.example>",
    "note": "Ask about travel.",
    "bytes_sha256": None,
}
ZONES = ["Europe/Berlin", "America/Argentina/ComodRivadavia"]
CUT = """() => [...document.body.querySelectorAll("strong, span, p, a, td")].filter((one) => {
    const { right, width } = one.getBoundingClientRect();
    return width > 0 && right > document.documentElement.clientWidth + 0.5;
}).map((one) => one.textContent.trim())"""


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("locale", ["en_US", "de_DE"])
def test_a_sent_reminder_is_whole_on_a_phone(zone: str, locale: str, opened: Opened, engine: Engine) -> None:
    mail = reminder(Send(**SENT, zone=zone, locale=locale))
    with engine.begin() as connection:
        id = mailbox_store.save_captured(connection, mail_from="s@mail.example", rcpt_to=ANN, original=mail)
    page = opened(f"/sink/{id}", **{**PHONE, "width": 360})
    frame = page.frame_locator(".message-frame").locator("body")
    expect(frame).to_contain_text("2026")
    assert frame.evaluate(CUT) == []
    for tab in page.locator(".tabs a").all():
        assert within(page, tab.evaluate("one => one.getBoundingClientRect().right"))


def within(page: Page, right: float) -> bool:
    return right <= float(page.evaluate("innerWidth"))


@pytest.mark.parametrize("path", ["/", "/mailbox"])
def test_search_and_folders_can_be_used_with_doubled_text(path: str, opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    a_snooze(engine, remind_at=now() + HOUR)
    page = opened(path, **{**PHONE, "width": 180})
    box = page.locator("[data-search]").bounding_box()
    assert box is not None
    assert box["width"] >= 120
    tops = page.locator(".tabs a").evaluate_all("links => links.map((one) => one.getBoundingClientRect().top)")
    assert len(set(tops)) < max(len(tops), 1) or not tops


def test_keys_are_not_explained_where_there_is_no_room_for_a_keyboard(opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = opened("/mailbox", width=360)
    expect(page.locator(".keys")).to_be_hidden()
    page.set_viewport_size({"width": 700, "height": 800})
    expect(page.locator(".keys")).to_be_visible()
