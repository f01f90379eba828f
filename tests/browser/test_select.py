"""Rows are chosen by keyboard, by touch and without scripts, and one act and one Undo is for all of them."""

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import Opened
from tests.browser.phone import looks_right
from tests.browser.rows import TOMORROW, box_of, focused, folders, is_same, letters, shown, watched
from tests.db.links import DAILY
from tests.factories import HOUR, a_snooze, now

pytestmark = pytest.mark.browser


def selected(page: Page) -> list[str]:
    rows = page.locator(".row:visible").filter(has=page.locator("[data-pick]:checked"))
    return [words.removeprefix("Letter ") for words in rows.locator(".row-title").all_inner_texts()]


def test_a_range_is_chosen_by_keys_and_done_and_undone_as_one(opened: Opened, engine: Engine) -> None:
    letters(engine, 8)
    page = watched(opened("/mailbox"))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-count]")).to_have_text("1 message selected")
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    assert selected(page) == ["2", "3", "4", "5"]
    page.keyboard.press("k")
    page.keyboard.press("x")
    assert selected(page) == ["2", "3", "5"]
    expect(page.locator("[data-count]")).to_have_text("3 messages selected")
    page.keyboard.press("e")
    assert shown(page) == ["1", "4", "6", "7", "8"], "they have left before anything was saved"
    assert focused(page) == "4"
    expect(page.get_by_text("3 messages are done.")).to_be_visible()
    assert set(folders(engine).values()) == {"inbox", "done"}
    page.keyboard.press("z")
    expect(page.get_by_text("3 messages are as they were.")).to_be_visible()
    assert shown(page) == [str(number) for number in range(1, 9)]
    assert set(folders(engine).values()) == {"inbox"}
    assert is_same(page)


def test_the_sheet_snoozes_all_that_are_chosen(opened: Opened, engine: Engine) -> None:
    letters(engine, 4)
    page = watched(opened("/mailbox"))
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("b")
    expect(page.get_by_role("heading", name="2 messages")).to_be_visible()
    page.locator("dialog summary").click()
    expect(page.get_by_label("If a reply comes")).to_be_hidden()
    page.get_by_label("When should it come back?").focus()
    page.keyboard.press(TOMORROW)
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 messages are asleep until tomorrow")).to_be_visible()
    assert shown(page) == ["3", "4"]
    assert list(folders(engine).values()).count("snoozed") == 2
    page.keyboard.press("b")
    expect(page.get_by_role("heading", name="Letter 3")).to_be_visible()
    page.locator("dialog summary").click()
    expect(page.get_by_label("If a reply comes")).to_be_visible()


def test_what_repeats_is_named_before_its_repetition_ends(opened: Opened, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + 30 * HOUR, subject="Daily", recurrence=DAILY)
    a_snooze(engine, remind_at=now() + 40 * HOUR, subject="Once")
    page = opened("/")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("b")
    expect(page.get_by_text("1 of them repeats.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert selected(page) == ["Daily", "Once"], "closing the sheet keeps what is chosen"
    page.keyboard.press("Escape")
    assert selected(page) == []
    expect(page.locator("#bulk")).to_be_hidden()


def test_a_page_or_all_that_match_are_chosen_by_one_box(opened: Opened, engine: Engine) -> None:
    for number in range(50):
        a_snooze(engine, remind_at=now() + (30 + number) * HOUR, subject=f"Letter {number}")
    page = watched(opened("/?q=letter"))
    page.get_by_role("checkbox", name="Select all messages of this page").check()
    expect(page.locator("[data-count]")).to_have_text("40 messages selected")
    page.get_by_role("checkbox", name="All 50 that match").check()
    expect(page.locator("[data-count]")).to_have_text("50 messages selected")
    page.locator("#bulk").get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("50 snoozes were cancelled.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing was found")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("50 messages are as they were.")).to_be_visible()
    assert len(shown(page)) == 40
    assert is_same(page)


def test_what_the_server_does_not_take_is_chosen_again(quiet: Opened, engine: Engine) -> None:
    letters(engine, 4)
    page = watched(quiet("/mailbox"))
    page.route("**/bulk/**", lambda route: route.abort())
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("e")
    expect(page.get_by_text("Not saved: 2 messages. The server cannot be reached.")).to_be_visible()
    assert selected(page) == ["1", "2"]
    page.unroute("**/bulk/**")
    page.keyboard.press("e")
    expect(page.get_by_text("2 messages are done.")).to_be_visible()
    assert is_same(page)


def test_boxes_are_there_to_touch(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    a_snooze(engine, remind_at=now() + 30 * HOUR, subject="Asleep")
    for path in ("/mailbox", "/"):
        page = opened(path, width=360, has_touch=True, is_mobile=True)
        box = page.locator(".pick").first
        box.tap()
        expect(page.locator("#bulk")).to_be_visible()
        assert looks_right(page)
    page = opened("/mailbox", width=360, has_touch=True, is_mobile=True)
    page.locator(".pick").nth(1).tap()
    page.locator("#bulk").get_by_role("button", name="Done").tap()
    expect(page.get_by_text("1 message is done.")).to_be_visible()
    assert folders(engine)["2"] == "done"


def test_rows_are_chosen_without_scripts(opened: Opened, engine: Engine) -> None:
    letters(engine, 4)
    page = opened("/mailbox", java_script_enabled=False)
    box_of(page, "Letter 2").check()
    box_of(page, "Letter 3").check()
    page.locator("#bulk").get_by_role("button", name="Snooze").click()
    expect(page.get_by_role("heading", name="Snooze 2 messages")).to_be_visible()
    page.get_by_label("When should it come back?").fill("in 3 days")
    page.keyboard.press("Enter")
    expect(page.locator("#reading")).to_contain_text("Europe/Berlin")
    page.get_by_role("button", name="Snooze", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("2 messages are asleep until")
    assert shown(page) == ["1", "4"]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("2 messages are as they were.")
    assert set(folders(engine).values()) == {"inbox"}
    box_of(page, "Letter 1").check()
    page.get_by_role("checkbox", name="All 4").check()
    page.locator("#bulk").get_by_role("button", name="Done").click()
    expect(page.get_by_role("status")).to_contain_text("4 messages are done.")


def test_the_command_bar_has_the_acts_of_what_is_chosen(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = opened("/mailbox")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("Control+k")
    page.keyboard.type("done 2 messages")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 messages are done.")).to_be_visible()
