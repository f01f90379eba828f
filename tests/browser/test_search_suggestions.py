"""Suggestions below the field of a search: by keys, by touch, and without scripts as before."""

import re

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine

from tests.browser.axe import at_every_size
from tests.browser.conftest import Opened
from tests.browser.rows import is_same, watched
from tests.factories import HOUR, a_kept_message, a_snooze, now

pytestmark = pytest.mark.browser


def test_filters_and_their_values_are_chosen_by_keys(opened: Opened, engine: Engine) -> None:
    for sender in ("ann@shop.example", "ann@shop.example", "carl@home.example"):
        a_snooze(engine, sender_email=sender, remind_at=now() + 30 * HOUR)
    page = watched(opened("/", reduced_motion="reduce"))
    field, options = page.get_by_role("combobox", name="Search in what is asleep"), page.get_by_role("option")
    page.keyboard.press("/")
    expect(options).to_have_count(6)
    expect(field).to_have_attribute("aria-expanded", "true")
    assert at_every_size(page) == []
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(field).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(options).to_have_count(6)
    page.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "suggestion-1")
    page.keyboard.press("Enter")
    expect(field).to_have_value("from:")
    expect(options.first).to_contain_text("from:ann@shop.example")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(field).to_have_value("from:ann@shop.example ")
    expect(field).to_be_focused()
    expect(options).to_have_count(0)
    page.keyboard.type("state:as")
    expect(options).to_have_count(1)
    assert is_same(page)
    # What was typed is searched for: nothing is chosen by itself.
    page.keyboard.type("leep")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(2)
    expect(field).to_have_value("from:ann@shop.example state:asleep")
    page.keyboard.press("/")
    page.keyboard.press("ArrowRight")
    page.keyboard.type(" due:")
    expect(options.first).to_contain_text("due:today")
    page.keyboard.press("Tab")
    expect(options).to_have_count(0)
    expect(page.get_by_role("button", name="Search", exact=True)).to_be_focused()


def test_a_finger_chooses_in_the_mailbox(opened: Opened, engine: Engine) -> None:
    a_kept_message(engine)
    page = opened("/mailbox", width=390, has_touch=True, is_mobile=True)
    field = page.get_by_role("combobox", name="Search in Inbox")
    field.tap()
    page.get_by_role("option", name="from:").tap()
    page.get_by_role("option", name="bob@mail.example").tap()
    expect(field).to_have_value("from:bob@mail.example ")
    field.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"q=from%3Abob%40mail\.example"))
