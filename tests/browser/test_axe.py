"""Every page, sheet, bar and dialog has no violation that axe knows of, on a phone, a tablet and a desktop."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import Opened
from tests.factories import HOUR, a_kept_message, a_snooze, now

pytestmark = pytest.mark.browser


WIDTHS = (360, 768, 1440)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def violations(page: Page) -> list[str]:
    """The rules that are broken, each with its first element. The frame of a stranger's message is not ours."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("axe.run({exclude: ['.message-frame']}, {resultTypes: ['violations']})")
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:160]}" for rule in found["violations"]]


def at_every_size(page: Page) -> list[str]:
    """The same at each width and in both colour schemes."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            found += [f"{page.url} {width} {scheme} {violation}" for violation in violations(page)]
    return found


def test_a_violation_is_found(quiet: Opened) -> None:
    page = quiet("/nothing")
    page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    assert len(at_every_size(page)) >= len(WIDTHS) * len(SCHEMES)


def test_no_page_has_a_violation(quiet: Opened, paths: list[str], operator_paths: list[str]) -> None:
    page = quiet("/", reduced_motion="reduce")
    found = []
    for path in [*paths, *operator_paths]:
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


def act(page: Page) -> None:
    page.locator("[data-act]").first.click(force=True)
    expect(page.locator(".toast form[data-undo]")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/mailbox"])
@pytest.mark.parametrize("opens", [open_sheet, open_refusal, open_keys, open_commands, act])
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
