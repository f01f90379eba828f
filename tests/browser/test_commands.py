"""Search of a list and the command bar, by keys."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine

from tests.browser.conftest import Opened
from tests.browser.rows import focused, folders, is_same, letters, shown, watched
from tests.factories import HOUR, a_snooze, now

pytestmark = pytest.mark.browser


def test_what_is_asleep_is_searched_by_keys_and_acted_on_there(opened: Opened, engine: Engine) -> None:
    for number in range(3):
        a_snooze(engine, remind_at=now() + (30 + number) * HOUR, subject=f"Invoice {number}")
    a_snooze(engine, remind_at=now() + 30 * HOUR, subject="Dinner")
    page = opened("/")
    page.keyboard.press("/")
    page.keyboard.type("subject:invoice")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(3)
    page.wait_for_load_state()
    watched(page)
    page.keyboard.press("j")
    page.keyboard.press("c")
    expect(page.get_by_text("2 messages")).to_be_visible()
    assert shown(page) == ["Invoice 1", "Invoice 2"]
    assert focused(page) == "Invoice 1"
    assert is_same(page)


def test_pages_acts_and_presets_are_found_by_typing(opened: Opened, engine: Engine) -> None:
    letters(engine, 4)
    page = watched(opened("/mailbox"))
    bar = page.get_by_role("dialog", name="Commands")
    page.keyboard.press("j")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find a command")).to_be_focused()
    page.keyboard.type("done let")
    expect(bar.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Done.", exact=True)).to_be_visible()
    assert folders(engine)["1"] == "done"
    assert focused(page) == "2"
    page.keyboard.press("Control+k")
    page.keyboard.type("snooze TOMORROW")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Asleep until")
    assert folders(engine)["2"] == "snoozed"
    page.keyboard.press("Control+k")
    page.keyboard.type("undo")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Letter 2", exact=True)).to_be_focused()
    assert is_same(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("no such thing")
    expect(bar.get_by_text("Nothing is called that.")).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    expect(page.get_by_role("link", name="Letter 2", exact=True)).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("go")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.type(" settings")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Settings · Snoozer")


def test_the_command_bar_is_there_where_letters_are_switched_off(opened: Opened) -> None:
    page = opened("/settings")
    page.get_by_role("button", name="Switch them off").click()
    expect(page.get_by_role("status")).to_contain_text("Single letters do nothing now")
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    page.keyboard.type("mailbox")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Mailbox: Inbox · Snoozer")
