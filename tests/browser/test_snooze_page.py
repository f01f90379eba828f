"""The page of a snooze by keyboard, in place and without scripts: nothing is lost and nothing is reloaded."""

import re
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from snoozer.snoozes.acts import Annotate
from tests.acting import done
from tests.browser.conftest import Opened
from tests.browser.rows import is_same, watched
from tests.factories import HOUR, asked_for, now, the_row

pytestmark = pytest.mark.browser

MESSAGE = "<m@mail.example>"


def weekly(engine: Engine, **columns: Any) -> int:
    return asked_for(engine, "every monday 9am", message_id=MESSAGE, **columns)


def the_page(opened: Opened, id: int) -> Page:
    return watched(opened(f"/snoozes/{id}"))


def toast(page: Page, words: str) -> None:
    expect(page.locator(".toast").last).to_contain_text(words)


def test_a_time_is_changed_by_keys_where_it_stands_and_undone(opened: Opened, engine: Engine) -> None:
    id = weekly(engine)
    before = the_row(engine, id)
    page = the_page(opened, id)
    page.keyboard.press("b")
    expect(page.get_by_label("When should it come back?")).to_be_focused()
    page.keyboard.type("saturday 11:00")
    page.keyboard.press("Enter")
    toast(page, "Asleep until")
    expect(page.locator("#time > summary")).to_be_focused()
    moved = the_row(engine, id)
    assert (moved.remind_at != before.remind_at, moved.recurrence["at"]) == (True, "09:00:00")
    page.keyboard.press("z")
    toast(page, "as before")
    assert the_row(engine, id).remind_at == before.remind_at
    assert the_row(engine, id).recurrence == before.recurrence
    assert is_same(page)


def test_every_time_is_chosen_by_keys(opened: Opened, engine: Engine) -> None:
    id = weekly(engine)
    # Neither today nor tomorrow, which would be called so.
    day = (now() + 72 * HOUR).astimezone(ZoneInfo("Europe/Berlin"))
    name = f"{day:%A}"
    page = the_page(opened, id)
    page.keyboard.press("b")
    expect(page.get_by_label("When should it come back?")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_label("Only this time")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.type(f"{name.lower()} 14:00")
    reading = page.locator("#reading")
    expect(reading).to_contain_text(f"Every {name} at 14:00")
    page.get_by_label("Only this time").check()
    expect(reading).to_contain_text(f"{name} 14:00")
    expect(reading).not_to_contain_text("Every")
    page.get_by_label("Every time").check()
    expect(reading).to_contain_text(f"Every {name} at 14:00")
    page.get_by_label("When should it come back?").press("Enter")
    expect(page.get_by_role("heading", name=f"Every {name} at 14:00")).to_be_visible()
    assert the_row(engine, id).recurrence["weekdays"] == [day.weekday()]
    assert is_same(page)


def test_escape_leaves_a_note_as_it_was_and_an_undo_of_one_compares(opened: Opened, engine: Engine) -> None:
    id = weekly(engine, note="Call them")
    page = the_page(opened, id)
    page.locator("#note > summary").focus()
    page.keyboard.press("Enter")
    note = page.get_by_role("textbox", name="Note")
    expect(note).to_be_focused()
    note.fill("Something else")
    page.keyboard.press("Escape")
    expect(page.locator("#note > summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(note).to_have_value("Call them")
    note.fill("Write to them")
    page.get_by_role("button", name="Save the note").click()
    toast(page, "The note is saved.")
    expect(page.locator("#note > summary")).to_contain_text("Write to them")
    with engine.begin() as connection:
        assert done(connection, id, Annotate(note="From elsewhere"))
    page.keyboard.press("z")
    toast(page, "changed since")
    assert the_row(engine, id).note == "From elsewhere"
    assert is_same(page)


def test_what_is_refused_stands_at_its_field(quiet: Opened, engine: Engine) -> None:
    id = weekly(engine)
    page = the_page(quiet, id)
    page.locator("#end > summary").click()
    field = page.get_by_label("When does it end?")
    expect(field).to_be_focused()
    page.keyboard.type("10")
    page.keyboard.press("Enter")
    expect(page.locator("#end-error")).to_be_visible()
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#end-error")).to_contain_text("cannot be read as an end")
    field.fill("10 times")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Every Monday at 09:00 10 times")).to_be_visible()
    expect(page.locator("#end > summary")).to_be_focused()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="Every Monday at 09:00", exact=True)).to_be_visible()
    assert the_row(engine, id).recurrence["times"] is None
    assert is_same(page)


def test_what_repeats_is_skipped_paused_and_resumed_in_place(opened: Opened, engine: Engine) -> None:
    id = weekly(engine)
    first = the_row(engine, id).remind_at
    page = the_page(opened, id)
    expect(page.locator(".upcoming li")).to_have_count(5)
    page.get_by_role("button", name="Skip once").click()
    toast(page, "Skipped.")
    expect(page.get_by_role("button", name="Skip once")).to_be_focused()
    assert (the_row(engine, id).remind_at - first).days in {6, 7}
    page.get_by_role("button", name="Pause").click()
    toast(page, "Paused.")
    assert the_row(engine, id).inactive
    page.get_by_role("button", name="Resume").click()
    toast(page, "Resumed.")
    assert not the_row(engine, id).inactive
    assert is_same(page)


def test_all_of_it_works_without_scripts(opened: Opened, engine: Engine) -> None:
    id = weekly(engine)
    page = opened(f"/snoozes/{id}", java_script_enabled=False)
    page.locator("#time > summary").click()
    page.get_by_label("When should it come back?").fill("saturday 11:00")
    page.get_by_role("button", name="Read it").click()
    page.get_by_label("Every time").check()
    page.get_by_role("button", name="Save the time").click()
    expect(page.get_by_role("heading", name=re.compile("^Every (?!Monday)"))).to_be_visible()
    page.locator("#note > summary").click()
    page.get_by_role("textbox", name="Note").fill("Call")
    page.get_by_role("button", name="Save the note").click()
    expect(page.locator("#note > summary")).to_contain_text("Call")
    page.locator("#end > summary").click()
    page.get_by_label("When does it end?").fill("2 times")
    page.get_by_role("button", name="Save the end").click()
    expect(page.locator(".upcoming li")).to_have_count(2)
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Undo").click()
    row = the_row(engine, id)
    assert (row.inactive, row.note, row.recurrence["times"]) == (False, "Call", 2)


def test_the_sheet_of_a_list_asks_which_times_a_new_one_is_for(opened: Opened, engine: Engine) -> None:
    weekly(engine, subject="Weekly")
    other = asked_for(engine, "in 30 days", subject="Once")
    page = opened("/")
    page.keyboard.press("j")
    page.keyboard.press("b")
    expect(page.get_by_label("Only this time")).to_be_checked()
    page.keyboard.type("in 3 days")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("then every Monday at 09:00")
    page.get_by_role("link", name="Once", exact=True).focus()
    page.keyboard.press("b")
    expect(page.get_by_label("Only this time")).to_be_hidden()
    page.keyboard.press("Escape")
    assert the_row(engine, other).recurrence is None


def test_a_second_browser_hears_what_changed_and_saves_what_it_kept(quiet: Opened, engine: Engine) -> None:
    id = weekly(engine, note="Call them")
    first, second = the_page(quiet, id), quiet(f"/snoozes/{id}")
    second.locator("#note > summary").click()
    note = second.get_by_role("textbox", name="Note")
    note.fill("Write to them")
    first.locator("#time > summary").click()
    first.get_by_label("When should it come back?").fill("in 9 days at 15:10")
    first.keyboard.press("Enter")
    toast(first, "Asleep until")
    second.get_by_role("button", name="Save the note").click()
    alert = second.get_by_role("alert").filter(has_text="It was changed meanwhile: its time is now")
    expect(alert).to_contain_text("15:10 (it was")
    expect(note).to_be_focused()
    expect(note).to_have_value("Write to them")
    expect(note).to_have_accessible_description(re.compile("It was changed meanwhile"))
    assert the_row(engine, id).note == "Call them"
    second.get_by_role("button", name="Save the note").click()
    toast(second, "The note is saved.")
    assert the_row(engine, id).note == "Write to them"


def test_a_second_browser_keeps_a_typed_time(quiet: Opened, engine: Engine) -> None:
    id = weekly(engine)
    first, second = the_page(quiet, id), the_page(quiet, id)
    second.locator("#time > summary").click()
    field = second.get_by_label("When should it come back?")
    field.fill("in 10 days at 16:20")
    expect(second.locator("#reading")).to_contain_text("16:20")
    first.get_by_role("button", name="Pause").click()
    toast(first, "Paused")
    second.keyboard.press("Enter")
    expect(second.get_by_role("alert").filter(has_text="it is paused")).to_be_visible()
    expect(field).to_be_focused()
    expect(field).to_have_value("in 10 days at 16:20")
    expect(second.locator("#reading")).to_contain_text("16:20")
    second.keyboard.press("Enter")
    toast(second, "Asleep until")
    assert not the_row(engine, id).inactive
    assert is_same(second)
