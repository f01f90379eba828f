"""What axe finds on a page, in every size and both colour schemes."""

from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Page

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
