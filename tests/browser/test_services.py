"""The form of a service in the browser: one at a time, on a wide screen and on a phone."""

import pytest
from playwright.sync_api import Page, expect

from snoozer.notify.services import SERVICES
from snoozer.settings import Settings
from tests.browser.conftest import Opened
from tests.browser.phone import CHECKS


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"channels": tuple(SERVICES)})


def looks_right(page: Page) -> bool:
    """As every page; the label of a tick is what a finger touches."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    found = [words for check in CHECKS for words in page.evaluate(check)]
    return [words for words in found if 'type="checkbox"' not in words] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_service_is_added_tested_and_brought_back(opened: Opened, scheme: str) -> None:
    page = opened("/settings/devices", width=360, color_scheme=scheme)
    page.get_by_text("ntfy", exact=True).click()
    page.get_by_text("Gotify", exact=True).click()
    expect(page.get_by_label("Address of the topic")).to_be_hidden()
    page.get_by_label("Address of the server").fill("https://gotify.example")
    page.get_by_label("Token of the application").fill("AbCdEf.123-secret")
    assert looks_right(page)
    page.get_by_role("button", name="Add").click()
    row = page.get_by_text("Gotify, gotify.example …cret")
    expect(row).to_be_visible()
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("A test is on its way")).to_be_visible()
    assert looks_right(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
