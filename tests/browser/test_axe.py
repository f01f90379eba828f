"""Every page, sheet, bar and dialog has no violation that axe knows of, on a phone, a tablet and a desktop."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.axe import SCHEMES, WIDTHS, at_every_size
from tests.browser.conftest import Opened
from tests.factories import HOUR, a_kept_message, a_snooze, now

pytestmark = pytest.mark.browser

PARTS = 3


def test_a_violation_is_found(quiet: Opened) -> None:
    page = quiet("/nothing")
    page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    assert len(at_every_size(page)) == len(WIDTHS)
    page.evaluate("document.querySelector('main p').style.color = 'rgb(128 128 128 / 20%)'")
    assert len(at_every_size(page)) == len(WIDTHS) + len(WIDTHS) * len(SCHEMES)


# Looking at all pages takes minutes, in which other workers of a test run would wait for one.
@pytest.mark.parametrize("part", range(PARTS))
def test_no_page_has_a_violation(quiet: Opened, paths: list[str], operator_paths: list[str], part: int) -> None:
    page = quiet("/", reduced_motion="reduce")
    found = []
    for path in [*paths, *operator_paths][part::PARTS]:
        page.goto(path)
        found += at_every_size(page)
    assert found == []


def test_no_page_for_visitors_has_a_violation(quiet: Opened) -> None:
    page = quiet("/sign-in", signed_in=False, reduced_motion="reduce")
    found = at_every_size(page)
    page.get_by_label("Your mail address").fill("unknown@x.example")
    page.get_by_role("button", name="Mail me").click()
    expect(page.get_by_label("Code from the mail")).to_be_visible()
    assert found + at_every_size(page) == []


def open_sheet(page: Page) -> None:
    page.keyboard.press("b")
    expect(page.locator("#sheet")).to_be_visible()
    page.locator("#sheet [name=phrase]").fill("every friday at 9:00")
    expect(page.locator("#sheet .reading-words")).to_be_visible()


def open_refusal(page: Page) -> None:
    page.keyboard.press("b")
    page.locator("#sheet [name=phrase]").fill("whenever")
    expect(page.locator("#sheet .reading .error")).to_be_visible()


def open_keys(page: Page) -> None:
    page.keyboard.press("?")
    expect(page.locator("#all-keys")).to_be_visible()


def open_commands(page: Page) -> None:
    page.keyboard.press("Control+k")
    expect(page.locator("#commands")).to_be_visible()


def open_pane(page: Page) -> None:
    page.keyboard.press("Enter")
    expect(page.locator("#pane h2").first).to_be_visible()


def act(page: Page) -> None:
    page.locator("[data-act]").first.click(force=True)
    expect(page.locator(".toast form[data-undo]")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/mailbox"])
@pytest.mark.parametrize("opens", [open_sheet, open_refusal, open_keys, open_commands, open_pane, act])
def test_no_sheet_bar_or_dialog_has_a_violation(
    path: str, opens: Callable[[Page], None], quiet: Opened, engine: Engine
) -> None:
    for number in range(3):
        a_snooze(engine, subject=f"Asleep {number}", note="call them", remind_at=now() + 5 * HOUR)
        a_kept_message(engine)
    page = quiet(path, reduced_motion="reduce")
    page.keyboard.press("j")
    opens(page)
    assert at_every_size(page) == []
