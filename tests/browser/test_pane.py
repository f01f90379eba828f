"""A list and what is open of it side by side: by keys and by mouse, with Back and reload; not where it is narrow."""

import re

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened
from tests.browser.rows import TOMORROW, folders, is_same, letters, shown, watched
from tests.factories import a_kept_message, asked_for, the_row

pytestmark = pytest.mark.browser


def opens(page: Page, words: str) -> None:
    expect(page.locator("#pane h2").first).to_have_text(words)


def is_closed(page: Page) -> None:
    expect(page.locator("#pane")).to_have_count(0)


def test_an_act_shows_the_next_message(opened: Opened, engine: Engine) -> None:
    letters(engine, 4)
    page = watched(opened("/mailbox", width=1440))
    page.get_by_role("link", name="Letter 2", exact=True).click()
    opens(page, "Letter 2")
    page.keyboard.press("e")
    opens(page, "Letter 3")
    page.locator("#pane").get_by_role("button", name="Done").click()
    opens(page, "Letter 4")
    page.keyboard.press("b")
    page.keyboard.press(TOMORROW)
    page.keyboard.press("Enter")
    opens(page, "Letter 1")
    expect(page.get_by_role("status")).to_contain_text("Asleep until")
    assert shown(page) == ["1"]
    assert folders(engine) == {"1": "inbox", "2": "done", "3": "done", "4": "snoozed"}
    page.keyboard.press("z")
    opens(page, "Letter 4")
    page.get_by_role("button", name="Mark as unread").click()
    is_closed(page)
    assert is_same(page)


def test_back_and_reload_keep_what_is_open(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = opened("/mailbox", width=1440)
    page.get_by_role("link", name="Letter 2", exact=True).click()
    opens(page, "Letter 2")
    page.reload()
    opens(page, "Letter 2")
    page.go_back()
    is_closed(page)
    expect(page).to_have_url(re.compile(r"/mailbox$"))
    page.go_forward()
    opens(page, "Letter 2")


def test_what_repeats_is_changed_beside_its_list(quiet: Opened, engine: Engine) -> None:
    id = asked_for(engine, "every monday 9am", subject="Report")
    page = watched(quiet("/", width=1440))
    pane = page.get_by_role("region", name="Report")
    page.get_by_role("link", name="Report", exact=True).click()
    pane.get_by_text("Add a note").click()
    note = pane.get_by_role("textbox", name="Note")
    expect(note).to_be_focused()
    note.fill("Call them")
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    expect(pane).to_be_visible()
    page.keyboard.press("Enter")
    note.fill("Write to them")
    page.route("**/note", lambda route: route.abort())
    pane.get_by_role("button", name="Save the note").click()
    expect(page.get_by_role("status")).to_contain_text("The server cannot be reached.")
    expect(note).to_have_value("Write to them")
    page.unroute("**/note")
    pane.get_by_role("button", name="Save the note").click()
    expect(pane.locator("summary", has_text="Write to them")).to_be_focused()
    expect(page.locator("#place .note")).to_contain_text("Write to them")
    pane.get_by_role("button", name="Pause").click()
    expect(pane.get_by_role("button", name="Resume")).to_be_visible()
    page.keyboard.press("z")
    expect(pane.get_by_role("button", name="Pause")).to_be_visible()
    pane.locator("#pane-time > summary").click()
    expect(pane.get_by_label("When should it come back?")).to_be_focused()
    pane.get_by_label("Every time").check()
    pane.get_by_label("When should it come back?").fill("every friday at 14:00")
    page.keyboard.press("Enter")
    expect(pane.get_by_role("heading", name="Every Friday at 14:00")).to_be_visible()
    assert the_row(engine, id).recurrence["weekdays"] == [4]
    assert is_same(page)


def test_nothing_that_happens_elsewhere_tears_what_is_read(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = watched(opened("/mailbox", width=1440))
    page.get_by_role("link", name="Letter 2", exact=True).click()
    opens(page, "Letter 2")
    read = page.locator("#pane").element_handle()
    assert read is not None
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'done' WHERE subject = 'Letter 2'"))
    a_kept_message(engine, subject="New")
    page.evaluate("document.dispatchEvent(new CustomEvent('list:stale'))")
    expect(page.get_by_role("link", name="New", exact=True)).to_be_visible()
    assert shown(page) == ["New", "1", "3"]
    assert read.evaluate("pane => pane.isConnected && pane === document.activeElement")
    page.set_viewport_size({"width": 360, "height": 800})
    expect(page.locator("#pane h2").first).to_have_attribute("aria-level", "1")
    assert shown(page) == []
    page.set_viewport_size({"width": 1440, "height": 800})
    page.keyboard.press("j")
    opens(page, "Letter 3")
    page.keyboard.press("Escape")
    is_closed(page)
    page.goto("/mailbox?open=//elsewhere.example/")
    expect(page).to_have_url(re.compile("/mailbox$"))
    with page.context.expect_page() as tab:
        page.get_by_role("link", name="Letter 3", exact=True).click(modifiers=["Control"])
    expect(tab.value).to_have_url(re.compile(r"/mailbox/\d+$"))
    is_closed(page)


def test_where_it_is_narrow_a_message_has_its_own_page(opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = opened("/mailbox", width=1199)
    page.get_by_role("link", name="Letter 2", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Letter 2")).to_be_visible()
    is_closed(page)
    expect(page).to_have_url(re.compile(r"/mailbox/\d+$"))
