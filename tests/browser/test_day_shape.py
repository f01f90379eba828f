"""A person gives their day a shape by keyboard, with scripts and without, and takes one time anyway."""

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened
from tests.browser.phone import CHECKS
from tests.factories import a_snooze, now, the_row

pytestmark = pytest.mark.browser


def type_night(page: Page) -> None:
    page.get_by_label("From", exact=True).first.fill("22:00")
    page.get_by_label("Until", exact=True).first.fill("07:00")


def test_quiet_hours_are_seen_and_then_saved_without_scripts(opened: Opened, engine: Engine) -> None:
    midnight = now().replace(hour=23, minute=30) + timedelta(days=2)
    a_snooze(engine, subject="Lease", remind_at=midnight)
    page = opened("/settings/day", java_script_enabled=False)
    type_night(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 snooze moves")).to_be_visible()
    expect(page.locator(".moves")).to_contain_text("Lease")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved")
    expect(page.get_by_label("Until", exact=True).first).to_have_value("07:00")
    page.goto("/")
    expect(page.locator("[data-row]")).to_contain_text("asked for")


def test_enter_on_the_field_saves_only_what_was_seen(opened: Opened, engine: Engine) -> None:
    page = opened("/settings/day")
    type_night(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Nothing that is asleep moves")).to_be_visible()
    page.get_by_label("Until", exact=True).first.fill("08:00")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Nothing that is asleep moves")).to_be_visible()
    expect(page.get_by_label("Until", exact=True).first).to_have_value("08:00")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM day_shapes")).scalar_one() == 0


def test_a_time_in_quiet_hours_is_taken_anyway(opened: Opened, engine: Engine) -> None:
    id = a_snooze(engine, subject="Lease", remind_at=now() + timedelta(hours=5))
    page = opened("/settings/day")
    type_night(page)
    page.get_by_role("button", name="Show what changes").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"/snoozes/{id}#time")
    page.get_by_label("When should it come back?").fill("tomorrow 22:30")
    expect(page.locator("#reading")).to_contain_text("in your quiet hours")
    page.get_by_label("Take tomorrow 22:30 anyway").check()
    page.get_by_role("button", name="Save the time").click()
    expect(page.get_by_role("status")).to_contain_text("Asleep until tomorrow 22:30")
    assert the_row(engine, id).at_any_hour


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1440, "dark")])
def test_the_page_its_preview_and_its_errors_can_be_read_and_reached(
    scheme: str, width: int, quiet: Opened, engine: Engine
) -> None:
    a_snooze(engine, subject="L" * 200, remind_at=now().replace(hour=23, minute=30) + timedelta(days=2))
    page = quiet("/settings/day", width=width, color_scheme=scheme)
    for quiet_until in ("07:00", "22:00"):
        type_night(page)
        page.get_by_label("Until", exact=True).first.fill(quiet_until)
        page.get_by_role("button", name="Show what changes").click()
        expect(page.locator(".preview, .error").first).to_be_visible()
        assert [page.evaluate(check) for check in CHECKS] == [[], []]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
