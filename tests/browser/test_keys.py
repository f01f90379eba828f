"""Each key means the same on lists, in their searches, beside them and on the pages of what was opened from one."""

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import Opened
from tests.browser.rows import box_of, focused, letters
from tests.factories import HOUR, a_snooze, now

pytestmark = pytest.mark.browser

LISTS = ["/mailbox", "/?q=Letter"]
KEYS = [*"jkbhxxeczugigak/?", "Enter", "Shift", "Ctrl", "Esc"]
COMMANDS = {
    *("Snooze: Tomorrow", "Go to Asleep", "Go to Mailbox", "Go to Add", "Go to Settings"),
    *(
        "Go to Your day",
        "Go to Your mailboxes",
        "Go to Your devices",
        "Go to Your feeds",
        "Go to Your data",
        "Show all keys",
    ),
}


@pytest.fixture
def three(engine: Engine) -> None:
    """Letters 1 to 3, in the mailbox and asleep."""
    letters(engine, 3)
    for number in (1, 2, 3):
        a_snooze(engine, subject=f"Letter {number}", remind_at=now() + 24 * number * HOUR)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def says(page: Page, words: str) -> None:
    expect(page.locator(".toast").last).to_contain_text(words)


def opens_sheet_keys_and_commands(page: Page, *acts: str) -> None:
    """Of the message that is chosen. Nothing but what is asked for here is done."""
    press(page, "b")
    expect(page.locator("[name=phrase]:focus")).to_have_count(1)
    press(page, "Escape")
    expect(page.locator("[name=phrase]:focus")).to_have_count(0)
    press(page, "z")
    says(page, "There is nothing to undo.")
    press(page, "?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    assert sorted(keys.locator("kbd").all_inner_texts()) == sorted(KEYS)
    press(page, "Escape")
    expect(keys).to_be_hidden()
    press(page, "Control+k")
    names = page.locator("#command-list b")
    expect(names.first).to_be_visible()
    shown = names.all_inner_texts()
    assert {*acts, *COMMANDS} <= {*shown}
    assert len(shown) == len({*shown})
    press(page, "Escape")
    expect(names.first).to_be_hidden()


def leads_from_place_to_place(page: Page) -> None:
    press(page, "g", "i")
    expect(page).to_have_title("Mailbox: Inbox · Snoozer")
    page.wait_for_load_state()
    press(page, "g", "a")
    expect(page).to_have_title("Asleep · Snoozer")


def acts_of(path: str) -> tuple[str, ...]:
    """What can be done with the open letter of a list."""
    if "mailbox" in path:
        return ("Snooze", "Done", "Download the original")
    return ("Change the time", "Add a note", "Back now", "Pause", "Cancel", "Details")


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.usefixtures("three")
def test_keys_of_a_list_and_of_what_is_open_beside_it(path: str, opened: Opened) -> None:
    page = opened(path, width=1440)
    for key in ("b", "e", "c", "x"):
        press(page, key)
        says(page, "choose a message first")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press(page, "j", "j", "ArrowDown", "ArrowDown", "k", "ArrowUp")
    assert focused(page) == "1"
    opens_sheet_keys_and_commands(page, *(["Snooze", "Done"] if "mailbox" in path else ["Change the time", "Cancel"]))
    press(page, "c" if "mailbox" in path else "e")
    says(page, "That cannot be done with this message.")
    press(page, "x", "j", "X")
    expect(page.locator("[data-pick]:checked")).to_have_count(2)
    press(page, "Escape")
    expect(page.locator("[data-pick]:checked")).to_have_count(0)
    pane = page.locator("#pane")
    press(page, "Enter")
    expect(pane.locator("h2").first).to_have_text("Letter 2")
    expect(pane).to_be_focused()
    press(page, "j")
    expect(pane.locator("h2").first).to_have_text("Letter 3")
    expect(pane).to_be_focused()
    assert page.locator("#place [aria-current=true]").inner_text() == "Letter 3"
    press(page, "k")
    expect(pane.locator("h2").first).to_have_text("Letter 2")
    opens_sheet_keys_and_commands(page, *acts_of(path))
    press(page, "x")
    expect(box_of(page, "Letter 2")).to_be_checked()
    press(page, "Escape", "u")
    expect(pane).to_have_count(0)
    assert focused(page) == "2"
    press(page, "/")
    expect(page.locator("[data-search]")).to_be_focused()
    page.locator(".row-title").first.focus()
    leads_from_place_to_place(page)


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.usefixtures("three")
def test_keys_of_what_was_opened_from_a_list_as_a_page_of_its_own(path: str, opened: Opened) -> None:
    page = opened(path, width=1000)
    press(page, "j", "j", "Enter")
    at(page, "Letter 2")
    press(page, "j")
    at(page, "Letter 3")
    press(page, "j")
    says(page, "This is the last message of its list.")
    press(page, "k")
    at(page, "Letter 2")
    opens_sheet_keys_and_commands(page, *acts_of(path))
    press(page, "x")
    says(page, "Messages are selected in their list.")
    press(page, "c" if "mailbox" in path else "e")
    says(page, "That cannot be done with this message.")
    press(page, "u")
    expect(page.get_by_role("link", name="Letter 2", exact=True)).to_be_focused()
    assert page.url.endswith(path)
    press(page, "Enter")
    at(page, "Letter 2")
    press(page, "/")
    expect(page.locator("[data-search]")).to_be_focused()
    assert path in page.url
    page.locator(".row-title").first.focus()
    leads_from_place_to_place(page)


@pytest.mark.usefixtures("three")
def test_keys_of_the_page_of_a_new_time(opened: Opened) -> None:
    page = opened("/mailbox?q=Letter", width=1000)
    press(page, "j", "j", "Enter")
    at(page, "Letter 2")
    page.goto(f"{page.url}/snooze")
    page.locator("main").focus()
    press(page, "b")
    expect(page.get_by_label("When should it come back?")).to_be_focused()
    page.locator("main").focus()
    press(page, "x")
    says(page, "Messages are selected in their list.")
    press(page, "e")
    says(page, "That cannot be done with this message.")
    press(page, "u")
    at(page, "Letter 2")
    page.go_back()
    page.locator("main").focus()
    press(page, "j")
    at(page, "Letter 3")
    press(page, "u")
    expect(page.get_by_role("link", name="Letter 3", exact=True)).to_be_focused()


def at(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()
    page.wait_for_load_state()
