"""Lists keep their place: an act is seen at once, saved behind the list, and put back with the reason if it is not."""

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened
from tests.factories import HOUR, a_kept_message, a_snooze, now

pytestmark = pytest.mark.browser

# The key of the preset that is offered at every hour.
TOMORROW = "3"


def letters(engine: Engine, count: int = 10) -> None:
    """Letter 1 is the first row."""
    for number in range(count, 0, -1):
        a_kept_message(engine, subject=f"Letter {number}", message_id=f"<{number}@mail.example>")


def folders(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT subject, folder FROM kept_messages")).all()
    return {row.subject.removeprefix("Letter "): row.folder for row in rows}


def shown(page: Page) -> list[str]:
    return [words.removeprefix("Letter ") for words in page.locator(".row:visible .row-title").all_inner_texts()]


def focused(page: Page) -> str:
    words: str = page.evaluate("document.activeElement.textContent.trim()")
    return words.removeprefix("Letter ")


def watched(page: Page) -> Page:
    """The page says later whether it was loaded anew."""
    page.evaluate("window.same = true")
    return page


def is_same(page: Page) -> bool:
    return bool(page.evaluate("window.same === true"))


def hold(page: Page, pattern: str) -> list[Route]:
    """Requests to the pattern wait in the list until they are continued or aborted."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))  # noqa: PLW0108 - playwright looks into the function
    return held


def release(page: Page, held: list[Route]) -> None:
    """Lets the next request go, as soon as it was made."""
    while not held:
        page.wait_for_timeout(10)
    held.pop(0).continue_()


def test_ten_messages_are_triaged_by_keys_without_a_reload(opened: Opened, engine: Engine) -> None:
    letters(engine)
    page = watched(opened("/mailbox"))
    left = [str(number) for number in range(1, 11)]
    page.keyboard.press("j")
    page.keyboard.press("j")
    here = 1
    for step in range(9):
        assert focused(page) == left[here]
        left.pop(here)
        if step % 3 == 2:
            page.keyboard.press("b")
            page.keyboard.press(TOMORROW)
            page.keyboard.press("Enter")
        else:
            page.keyboard.press("e")
        assert shown(page) == left, "the row has left before anything was saved"
        here = min(here, len(left) - 1)
    expect(page.locator(".toast")).to_have_count(3)
    page.wait_for_function("() => window.undoLast && document.querySelectorAll('.row').length === 1")
    assert is_same(page)
    assert shown(page) == left == ["1"]
    states = list(folders(engine).values())
    assert (states.count("done"), states.count("snoozed"), states.count("inbox")) == (6, 3, 1)


def test_an_act_is_seen_before_it_is_saved_and_the_scroll_stays(opened: Opened, engine: Engine) -> None:
    letters(engine, 40)
    page = watched(opened("/mailbox"))
    held = hold(page, "**/done")
    page.get_by_role("link", name="Letter 30", exact=True).focus()
    top = page.evaluate("scrollY")
    assert top > 0
    page.keyboard.press("e")
    page.keyboard.press("e")
    assert focused(page) == "32"
    assert "30" not in shown(page)
    assert "31" not in shown(page)
    assert page.evaluate("scrollY") == top
    assert folders(engine)["30"] == "inbox"
    release(page, held)
    release(page, held)
    expect(page.locator(".toast")).to_have_count(2)
    assert focused(page) == "32"
    assert page.evaluate("scrollY") == top
    assert (folders(engine)["30"], folders(engine)["31"]) == ("done", "done")
    assert is_same(page)


def test_what_the_server_cannot_take_is_put_back_with_the_reason(quiet: Opened, engine: Engine) -> None:
    letters(engine, 5)
    page = watched(quiet("/mailbox"))
    page.route("**/done", lambda route: route.abort())
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.keyboard.press("e")
    expect(page.locator(".toast")).to_have_count(2)
    for number, toast in zip("23", page.locator(".toast").all(), strict=True):
        expect(toast).to_have_text(f"Not saved: Letter {number}. The server cannot be reached. It is back in the list.")
    assert shown(page) == ["1", "2", "3", "4", "5"]
    assert focused(page) == "4"
    page.unroute("**/done")
    page.keyboard.press("e")
    expect(page.get_by_text("Done.")).to_be_visible()
    assert shown(page) == ["1", "2", "3", "5"]
    assert is_same(page)


def test_a_refusal_of_the_server_is_shown_in_its_words(quiet: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = watched(quiet("/mailbox"))
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM kept_messages WHERE subject = 'Letter 1'"))
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_role("status")).to_contain_text("Not saved: Letter 1.")
    assert is_same(page)


def test_undo_puts_the_row_back_where_it_was(opened: Opened, engine: Engine) -> None:
    letters(engine, 5)
    page = watched(opened("/mailbox"))
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("e")
    page.keyboard.press("z")
    expect(page.get_by_text("It is in your inbox.")).to_be_visible()
    expect(page.get_by_role("link", name="Letter 3", exact=True)).to_be_focused()
    assert shown(page) == ["1", "2", "3", "4", "5"]
    assert folders(engine)["3"] == "inbox"
    assert is_same(page)


def test_acts_of_a_later_page_and_of_a_search_stay_there(opened: Opened, engine: Engine) -> None:
    letters(engine, 60)
    page = watched(opened("/mailbox"))
    page.get_by_role("link", name="Older ones").click()
    expect(page.get_by_text("To the newest")).to_be_visible()
    first = shown(page)[0]
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_text("Done.")).to_be_visible()
    assert "after=" in page.url
    assert first not in shown(page)
    assert len(shown(page)) > 0
    page.goto("/mailbox?q=Letter+42")
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name="Nothing was found")).to_be_visible()
    assert "q=Letter" in page.url
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="Letter 42", exact=True)).to_be_visible()


def test_a_changed_time_moves_the_row_and_keeps_the_focus(opened: Opened, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + 30 * HOUR, subject="Sooner")
    a_snooze(engine, remind_at=now() + 60 * HOUR, subject="Later")
    page = watched(opened("/"))
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.keyboard.type("in 9 days")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Asleep until")
    assert shown(page) == ["Later", "Sooner"]
    assert focused(page) == "Sooner"
    assert is_same(page)


def test_a_list_that_changed_is_not_replaced_under_an_open_sheet(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = watched(opened("/mailbox"))
    held = hold(page, "**/done")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.keyboard.press("b")
    expect(page.get_by_role("heading", name="Letter 2")).to_be_visible()
    row = page.locator(".row", has_text="Letter 2").element_handle()
    assert row is not None
    release(page, held)
    expect(page.get_by_text("Done.")).to_be_attached()
    assert row.evaluate("row => row.isConnected")
    page.keyboard.press("Escape")
    page.wait_for_function("row => !row.isConnected", arg=row)
    assert shown(page) == ["2", "3"]


def test_a_time_that_means_something_else_by_now_is_shown_once_all_else_is_saved(
    opened: Opened, engine: Engine
) -> None:
    letters(engine, 3)
    page = opened("/mailbox")
    page.locator("[data-key='3']").evaluate("button => { button.value = 'tomorrow|2026-01-02T08:00:00+00:00'; }")
    held = hold(page, "**/snooze")
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.keyboard.press(TOMORROW)
    page.keyboard.press("Enter")
    page.keyboard.press("e")
    assert shown(page) == ["3"]
    release(page, held)
    release(page, held)
    expect(page.get_by_text("Nothing was saved yet.")).to_be_visible()
    expect(page.get_by_role("heading", name="Letter 1")).to_be_visible()
    assert folders(engine) == {"1": "inbox", "2": "done", "3": "inbox"}


def test_a_key_that_needs_a_row_says_so_and_does_nothing(opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = opened("/mailbox")
    for key in "be":
        page.keyboard.press(key)
        expect(page.get_by_role("status")).to_contain_text("choose a message first")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert set(folders(engine).values()) == {"inbox"}


def test_the_keys_are_listed_and_lead_from_place_to_place(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = opened("/")
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page).to_have_title("Mailbox: Inbox · Snoozer")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    assert focused(page) == "1"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Letter 1", exact=True)).to_be_visible()
    page.keyboard.press("u")
    expect(page).to_have_title("Mailbox: Inbox · Snoozer")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page).to_have_title("Asleep · Snoozer")
    assert set(folders(engine).values()) == {"inbox"}


def test_a_session_that_ended_leads_to_the_sign_in(quiet: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = quiet("/mailbox")
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM sessions"))
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_label("Your mail address")).to_be_visible()
    assert set(folders(engine).values()) == {"inbox"}


def test_what_is_asleep_is_searched_by_keys_and_acted_on_there(opened: Opened, engine: Engine) -> None:
    for number in range(3):
        a_snooze(engine, remind_at=now() + (30 + number) * HOUR, subject=f"Invoice {number}")
    a_snooze(engine, remind_at=now() + 30 * HOUR, subject="Dinner")
    page = opened("/")
    page.keyboard.press("/")
    page.keyboard.type("subject:invoice")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(3)
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
    page.keyboard.press("Control+k")
    page.keyboard.type("mailbox")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Mailbox: Inbox · Snoozer")
