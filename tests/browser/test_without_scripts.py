"""The same work in a browser without scripts."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened, Site
from tests.factories import a_kept_message, a_snooze
from tests.web.reminders import a_link, a_sent_reminder

pytestmark = pytest.mark.browser


def test_keyboard_shortcuts_are_not_shown_without_scripts(opened: Opened, engine: Engine) -> None:
    a_kept_message(engine)
    a_snooze(engine)
    for path in ("/", "/mailbox"):
        expect(opened(path, java_script_enabled=False).locator(".keys")).to_be_hidden()


def test_a_usual_time_is_one_click(opened: Opened, engine: Engine) -> None:
    id = a_kept_message(engine)
    page = opened(f"/mailbox/{id}/snooze", java_script_enabled=False)
    page.get_by_role("group", name="Usual times").locator("button:enabled").first.click()
    expect(page.get_by_role("status")).to_contain_text("Asleep until")


def test_the_flash_message_covers_nothing_at_the_end_of_the_page(opened: Opened, engine: Engine) -> None:
    for _ in range(9):
        a_kept_message(engine)
    page = opened("/mailbox", java_script_enabled=False, width=360)
    page.get_by_role("button", name="Done: Hello").first.click()
    page.get_by_role("button", name="Dark").scroll_into_view_if_needed()
    page.evaluate("scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })")
    foot, toast = page.get_by_role("button", name="Dark").bounding_box(), page.locator(".toast").bounding_box()
    assert foot is not None
    assert toast is not None
    assert foot["y"] + foot["height"] <= toast["y"]


def test_a_message_is_opened_marked_and_done(opened: Opened, engine: Engine) -> None:
    id = a_kept_message(engine)
    page = opened(f"/mailbox/{id}", java_script_enabled=False)
    page.get_by_role("button", name="Mark as read").click()
    expect(page.get_by_role("button", name="Mark as read")).to_have_count(0)
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("status")).to_contain_text("Done.")


def test_the_reminders_link_reads_a_phrase_and_keeps_the_note(opened: Opened, site: Site, engine: Engine) -> None:
    path = a_link(engine, site.settings, a_sent_reminder(engine))
    page = opened(path, java_script_enabled=False, signed_in=False, width=360)
    page.get_by_text("Note", exact=True).click()
    page.get_by_label("Note to yourself").fill("call first")
    page.get_by_label("When should it come back?").fill("in 3 days")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Note to yourself")).to_have_value("call first")
    assert "call" not in page.url
    save = page.get_by_role("button", name="Snooze until")
    below, above = save.bounding_box(), page.locator(".offers").bounding_box()
    assert below is not None
    assert above is not None
    assert above["y"] - below["y"] - below["height"] >= 12, "the button stands apart from the usual times"
    save.click()
    expect(page.get_by_role("heading", name="It comes back")).to_be_visible()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT max(note) FROM email_snoozes")).scalar_one() == "call first"


def test_the_reminders_link_asks_and_its_button_acts(opened: Opened, site: Site, engine: Engine) -> None:
    path = a_link(engine, site.settings, a_sent_reminder(engine))
    page = opened(f"{path}/tomorrow", java_script_enabled=False, signed_in=False)
    page.get_by_role("button", name="Keep it as it is").click()
    expect(page.get_by_text("Nothing was changed.")).to_be_visible()
    page.get_by_role("button", name="Snooze until").click()
    expect(page.get_by_role("heading", name="It comes back")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Done with it").click()
    expect(page.get_by_role("heading", name="You are done with it")).to_be_visible()
