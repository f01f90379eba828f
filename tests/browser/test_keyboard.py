"""Keyboard use: the snooze form, the reading while one types, Undo."""

import re

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened
from tests.factories import a_kept_message, a_snooze, now

pytestmark = pytest.mark.browser


def asleep(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM email_snoozes WHERE NOT inactive")).scalar_one())


def test_enter_before_the_reading_has_arrived_still_saves_its_time(opened: Opened, engine: Engine) -> None:
    a_kept_message(engine)
    page = opened("/mailbox")
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.keyboard.type("in 2 weeks", delay=0)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Asleep until")
    assert asleep(engine) == 1


def test_what_cannot_be_read_is_not_saved_and_its_suggestion_is_one_click(opened: Opened, engine: Engine) -> None:
    """What was read is not read again by Enter: the suggestion would be replaced under the pointer."""
    a_kept_message(engine)
    page = opened("/mailbox")
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.keyboard.insert_text("tomorow")  # At once: a part of the word would be read, too.
    expect(page.locator("#reading .error")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("Enter")
    assert asleep(engine) == 0
    page.locator("#reading button").first.click()
    expect(page.locator("#reading")).to_contain_text("Europe/Berlin")
    assert asleep(engine) == 0
    assert [url.partition("?")[2] for url in asked if "/when/preview" in url] == ["phrase=tomorrow"]


def test_a_typing_error_is_mended_by_enter_and_never_saved_unseen(opened: Opened, engine: Engine) -> None:
    a_kept_message(engine)
    page = opened("/mailbox")
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.keyboard.type("tomrrow 9")
    expect(page.locator("#reading .error")).to_be_visible()
    page.keyboard.press("Enter")
    first = page.locator("#reading button[name=suggestion]").first
    expect(first).to_be_focused()
    expect(first).to_have_text("tomorrow 9:00")
    page.keyboard.press("Enter")
    expect(page.locator("#reading .reading-words")).to_contain_text("Tomorrow")
    assert asleep(engine) == 0
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Asleep until")
    assert asleep(engine) == 1


def test_escape_leaves_everything_as_it_was(opened: Opened, engine: Engine) -> None:
    a_kept_message(engine)
    page = opened("/mailbox")
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.keyboard.type("in 3 days")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert asleep(engine) == 0


def test_letters_that_were_switched_off_do_nothing(opened: Opened, engine: Engine) -> None:
    id = a_kept_message(engine)
    page = opened("/mailbox")
    expect(page.locator(".keys")).to_be_visible()
    page.goto("/settings")
    page.get_by_role("button", name="Switch them off").click()
    expect(page.get_by_role("status")).to_contain_text("Single letters do nothing now")
    for path in ("/mailbox", f"/mailbox/{id}"):
        page.goto(path)
        expect(page.locator(".keys")).to_be_hidden()
        for letter in "jbhez":
            page.keyboard.press(letter)
        expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.keyboard.press("z")
    page.goto("/settings")
    page.get_by_role("button", name="Switch them on").click()
    expect(page.get_by_role("status")).to_contain_text("Single letters act again")
    page.goto("/mailbox?folder=done")
    page.keyboard.press("j")
    page.keyboard.press("b")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_message_is_marked_as_read_by_its_page(opened: Opened, engine: Engine) -> None:
    id = a_kept_message(engine)
    page = opened("/mailbox")
    expect(page.get_by_role("img", name="Unread")).to_have_count(1)
    with page.expect_response(re.compile("/read$")):
        page.goto(f"/mailbox/{id}")
    page.goto("/mailbox")
    expect(page.get_by_role("img", name="Unread")).to_have_count(0)


def test_a_double_click_submits_once_and_another_button_still_submits(opened: Opened) -> None:
    page = opened("/add")
    # Nothing is sent: submits that the page's own script did not prevent are counted instead.
    page.evaluate(
        """() => {
            window.sent = 0;
            addEventListener("submit", (event) => { window.sent += !event.defaultPrevented; event.preventDefault(); });
        }"""
    )
    usual = page.get_by_role("group", name="Usual times").locator("button:enabled")
    usual.first.dblclick()
    assert page.evaluate("window.sent") == 1
    usual.nth(1).dblclick()
    assert page.evaluate("window.sent") == 2
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow'))")
    usual.nth(1).click()
    assert page.evaluate("window.sent") == 3, "on the way back it is a new question"


def test_a_dropped_file_lands_in_the_mailbox(opened: Opened, engine: Engine) -> None:
    page = opened("/add")
    page.evaluate(
        """() => {
            const carried = new DataTransfer();
            carried.items.add(new File(["Subject: Dropped\\r\\n\\r\\nbody"], "one.eml"));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, cancelable: true }));
        }"""
    )
    expect(page.get_by_role("heading", name="Dropped")).to_be_visible()


def test_a_file_that_is_too_large_is_not_even_sent(opened: Opened, engine: Engine) -> None:
    page = opened("/add")
    page.evaluate(
        """() => {
            const carried = new DataTransfer();
            carried.items.add(new File([new Uint8Array(26 * 1048576)], "large.eml"));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, cancelable: true }));
        }"""
    )
    expect(page.get_by_role("alert")).to_contain_text("at most 25 MB")
    field = page.get_by_label("Drop .eml files here")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize("width", [360, 1280])
def test_no_focused_case_lies_under_the_bar(width: int, opened: Opened, engine: Engine) -> None:
    for number in range(8):
        a_snooze(engine, inactive=True, outcome="retired", finished_at=now(), last_error=f"rcpt: 550 no {number}")
    page = opened("/admin/cases", width=width)
    page.set_viewport_size({"width": width, "height": 640})
    page.get_by_label("Pick case 8").focus()
    below = "e => e.getBoundingClientRect().bottom > document.querySelector('.decide').getBoundingClientRect().top"
    for _ in range(16):
        page.keyboard.press("Tab")
        focused = page.locator(".case :focus")
        assert not focused.evaluate(below), focused.evaluate("e => e.outerHTML")
