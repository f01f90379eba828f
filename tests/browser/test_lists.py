"""Lists keep their place: an act is seen at once, saved behind the list, and put back with the reason if it is not."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine, text

from tests.acting import cancel
from tests.browser.conftest import Opened
from tests.browser.rows import TOMORROW, focused, folders, hold, is_same, letters, release, shown, watched
from tests.browser.waiting import wait_for
from tests.factories import HOUR, a_snooze, now

pytestmark = pytest.mark.browser


def test_ten_messages_are_triaged_by_keys_without_a_reload(opened: Opened, engine: Engine) -> None:
    """In the middle of a list that is longer than the window."""
    letters(engine, 48)
    page = watched(opened("/mailbox"))
    left = [str(number) for number in range(1, 49)]
    page.get_by_role("link", name="Letter 21", exact=True).focus()
    here, top = 20, page.evaluate("scrollY")
    assert top > 0
    for step in range(10):
        assert focused(page) == left[here]
        assert page.evaluate("scrollY") == top
        left.pop(here)
        if step % 3 == 2:
            page.keyboard.press("b")
            page.keyboard.press(TOMORROW)
            page.keyboard.press("Enter")
        else:
            page.keyboard.press("e")
        assert shown(page) == left, "the row has left before anything was saved"
    assert focused(page) == left[here] == "31"
    wait_for(page, "() => document.querySelectorAll('.row').length === 38")
    expect(page.locator(".toast:visible")).to_have_count(1)
    assert is_same(page)
    assert shown(page) == left
    assert focused(page) == "31"
    states = list(folders(engine).values())
    assert (states.count("done"), states.count("snoozed"), states.count("inbox")) == (7, 3, 38)


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
    expect(page.locator("form[data-undo]")).to_have_count(2)
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
    failures = page.locator(".toast > span")
    expect(failures).to_have_count(2)
    for number, failure in zip("23", failures.all(), strict=True):
        words = f"Not saved: Letter {number}. The server cannot be reached. It is back in the list."
        expect(failure).to_have_text(words)
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
        connection.execute(text("DELETE FROM messages WHERE subject = 'Letter 1'"))
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
    page.wait_for_load_state()
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
    a_snooze(engine, remind_at=now() + 30 * HOUR, subject="Sooner", note="ask Bob", reply_policy="until_reply")
    a_snooze(engine, remind_at=now() + 60 * HOUR, subject="Later")
    page = watched(opened("/"))
    page.keyboard.press("j")
    page.keyboard.press("b")
    expect(page.get_by_label("Note")).to_have_value("ask Bob")
    expect(page.get_by_label("If a reply comes")).to_have_value("until_reply")
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
    wait_for(page, "row => !row.isConnected", arg=row)
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


def test_a_session_that_ended_leads_to_the_sign_in(quiet: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = quiet("/mailbox")
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM sessions"))
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_label("Your mail address")).to_be_visible()
    assert set(folders(engine).values()) == {"inbox"}


def test_undo_of_what_was_done_last_is_not_that_of_what_was_done_before(opened: Opened, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + 30 * HOUR, subject="First")
    other = a_snooze(engine, remind_at=now() + 60 * HOUR, subject="Other")
    page = opened("/")
    page.keyboard.press("j")
    page.keyboard.press("c")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    with engine.begin() as connection:
        assert cancel(connection, other)
    page.keyboard.press("c")
    expect(page.get_by_text("It was over already")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_text("What was done last cannot be undone.")).to_be_visible()
    assert shown(page) == []
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_what_was_saved_is_not_called_unsaved_where_the_list_cannot_be_shown(quiet: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = watched(quiet("/mailbox"))
    page.keyboard.press("j")
    page.route("**/mailbox", lambda route: route.abort())
    page.keyboard.press("e")
    expect(page.get_by_text("It is saved, but the list cannot be shown")).to_be_visible()
    assert shown(page) == ["2", "3"]
    assert folders(engine)["1"] == "done"
    page.unroute("**/mailbox")
    page.keyboard.press("e")
    expect(page.get_by_text("It is saved, but")).to_have_count(0)
    expect(page.get_by_role("button", name="Undo")).to_have_count(1)
    assert shown(page) == ["3"]
    assert is_same(page)


def test_a_search_that_is_being_typed_is_not_replaced(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = watched(opened("/mailbox"))
    held = hold(page, "**/done")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.keyboard.press("/")
    page.keyboard.type("zeal")
    release(page, held)
    expect(page.get_by_text("Done.", exact=True)).to_be_visible()
    page.keyboard.type("ous")
    expect(page.get_by_role("combobox")).to_have_value("zealous")
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox")).to_have_value("")
    assert is_same(page)


def test_what_was_typed_is_kept_where_a_snooze_is_not_saved(quiet: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = watched(quiet("/mailbox"))
    page.route("**/snooze", lambda route: route.abort())
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.locator("dialog summary").click()
    page.get_by_label("Note").fill("ask Bob")
    page.get_by_label("When should it come back?").fill("in 3 days")
    expect(page.get_by_role("button", name="Snooze", exact=True)).to_be_enabled()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Not saved: Letter 1.")
    page.keyboard.press("k")
    page.keyboard.press("b")
    expect(page.get_by_label("Note")).to_have_value("ask Bob")
    expect(page.get_by_label("When should it come back?")).to_have_value("in 3 days")
    page.unroute("**/snooze")
    expect(page.locator("#reading")).to_contain_text("Europe/Berlin")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Asleep until")
    assert folders(engine)["1"] == "snoozed"
