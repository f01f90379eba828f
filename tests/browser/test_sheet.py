"""The sheet: at once, by one digit, by a finger, and without a connection."""

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from snoozer.db import accounts
from tests.browser.conftest import Opened
from tests.browser.rows import TOMORROW, folders, hold, letters, release, shown
from tests.browser.touch import PHONE
from tests.factories import HOUR, a_snooze, now

pytestmark = pytest.mark.browser

MOST_KEYS = 30
# Is the sheet open when the key's event has been handled, with no task in between?
OPENS_AT_ONCE = """() => {
    const sheet = document.getElementById("sheet");
    document.querySelector(".row-title").focus();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "b", bubbles: true }));
    const isOpen = sheet.open;
    sheet.close();
    return isOpen;
}"""


def test_it_is_open_at_once_and_asks_the_server_for_nothing_before(opened: Opened, engine: Engine) -> None:
    letters(engine, 50)
    page = opened("/mailbox")
    asked = hold(page, "**/when/**")
    assert page.evaluate(OPENS_AT_ONCE)
    assert asked == []
    # An old page asks for the usual times, behind the sheet.
    page.clock.install()
    page.clock.fast_forward(120_000)
    assert page.evaluate(OPENS_AT_ONCE)
    release(page, asked)


def test_a_digit_alone_saves(opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = opened("/mailbox")
    for key in ("j", "b", TOMORROW):
        page.keyboard.press(key)
    expect(page.locator("#reading")).to_contain_text("Saved in a moment")
    expect(page.get_by_role("status").first).to_contain_text("Asleep until tomorrow")
    assert folders(engine) == {"1": "snoozed", "2": "inbox"}


def test_a_digit_begins_a_longer_time(opened: Opened, engine: Engine) -> None:
    letters(engine, 1)
    page = opened("/mailbox")
    page.clock.install()
    for key in ("j", "b", "3", "Space", "d"):
        page.keyboard.press(key)
    page.clock.run_for(5000)
    expect(page.locator("#reading .reading-words")).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert folders(engine) == {"1": "inbox"}


def test_a_digit_alone_saves_nothing_where_letters_are_switched_off(opened: Opened, engine: Engine) -> None:
    letters(engine, 1)
    page = opened("/settings")
    page.get_by_role("button", name="Switch them off").click()
    expect(page.get_by_role("status")).to_contain_text("Single letters do nothing now")
    page.goto("/mailbox")
    page.clock.install()
    page.get_by_role("link", name="Snooze: Letter 1").focus()
    page.keyboard.press("Enter")
    page.keyboard.press(TOMORROW)
    expect(page.locator("#reading .reading-words")).to_be_visible()
    page.clock.run_for(5000)
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Asleep until tomorrow")


def test_fourteen_messages_take_at_most_thirty_keys(opened: Opened, engine: Engine) -> None:
    """Every second one is done, the others are snoozed until tomorrow."""
    letters(engine, 14)
    page = opened("/mailbox")
    keys = 0
    for press in ("j", *("e", "b" + TOMORROW) * 7):
        for key in press:
            page.keyboard.press(key)
            keys += 1
        if len(press) > 1:
            expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("heading", name="The inbox is clear")).to_be_visible()
    assert sorted(folders(engine).values()) == ["done"] * 7 + ["snoozed"] * 7
    assert keys <= MOST_KEYS


def places(page: Page) -> tuple[float, float]:
    """How far down the usual times and the field are."""
    boxes = [page.locator(f"#sheet {one}").bounding_box() for one in (".offers", "[name=phrase]")]
    return tuple(box["y"] for box in boxes if box)  # type: ignore[return-value]


def test_by_a_finger_the_usual_times_come_first_and_no_field_has_the_focus(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = opened("/mailbox", **{**PHONE, "width": 360})
    page.get_by_role("link", name="Letter 2", exact=True).tap()
    page.get_by_role("link", name="Snooze", exact=True).tap()
    offers, field = places(page)
    assert offers < field
    assert page.evaluate("document.activeElement.id") == "sheet-title"
    expect(page.get_by_label("Note")).to_be_hidden()
    page.locator("#sheet .offers button:enabled").first.tap()
    expect(page.get_by_role("status").first).to_contain_text("Asleep until")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_by_a_finger_the_field_is_in_sight_and_what_was_typed_lately_comes_after_it(
    opened: Opened, engine: Engine, scheme: str
) -> None:
    letters(engine, 3)
    with engine.begin() as connection:
        for phrase in ("in 3 days 4pm", "next tuesday 10:30am", "in 5 weeks"):
            accounts.save_phrase(connection, account_id=1, phrase=phrase, max_phrases=3)
    page = opened("/mailbox", **{**PHONE, "width": 360, "color_scheme": scheme})
    page.set_viewport_size({"width": 360, "height": 640})
    page.get_by_role("link", name="Letter 2", exact=True).tap()
    page.locator(".message-acts").evaluate("its => { its.dataset.count = 3; }")
    page.get_by_role("link", name="Snooze", exact=True).tap()
    expect(page.get_by_role("dialog").get_by_label("Only this message")).to_be_visible()
    last, field, lately, foot = (
        page.locator(f"#sheet {one}").last.bounding_box()
        for one in (".offers:not(.lately) > button", "[name=phrase]", ".lately button", ".sheet-foot")
    )
    assert last and field and lately and foot
    assert last["y"] < field["y"] < lately["y"]
    assert field["y"] + field["height"] <= foot["y"]
    page.locator("#sheet .lately button").last.tap()
    expect(page.get_by_role("status").first).to_contain_text("Asleep until")


def test_by_a_key_the_field_has_the_focus(opened: Opened, engine: Engine) -> None:
    letters(engine, 1)
    page = opened("/mailbox")
    page.keyboard.press("j")
    page.keyboard.press("b")
    offers, field = places(page)
    assert field < offers
    expect(page.get_by_label("When should it come back?")).to_be_focused()


def test_what_few_need_is_folded_unless_it_has_a_value(opened: Opened, engine: Engine) -> None:
    for number, values in enumerate([{}, {"note": "ask Bob"}, {"reply_policy": "until_reply"}]):
        a_snooze(engine, remind_at=now() + (30 + number) * HOUR, subject=f"Lease {number}", **values)
    page = opened("/")
    for is_open in (False, True, True):
        page.keyboard.press("j")
        page.keyboard.press("b")
        for name in ("Note", "If a reply comes"):
            expect(page.locator("#sheet").get_by_label(name)).to_be_visible(visible=is_open)
        page.keyboard.press("Escape")


def test_without_a_connection_the_sheet_says_so_and_stays(quiet: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = quiet("/mailbox")
    page.keyboard.press("j")
    page.keyboard.press("b")
    notice = page.locator("#sheet [data-offline]")
    expect(notice).to_be_hidden()
    page.context.set_offline(True)
    expect(notice).to_be_visible()
    page.keyboard.type("in 3 days")
    expect(page.locator("#reading")).to_contain_text("The server cannot be reached.")
    page.locator("#sheet .offers button:enabled").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert shown(page) == ["1", "2"]
    page.context.set_offline(False)
    expect(notice).to_be_hidden()
    page.locator("#sheet .offers button:enabled").first.click()
    expect(page.get_by_role("status").first).to_contain_text("Asleep until")
    assert folders(engine)["1"] == "snoozed"
