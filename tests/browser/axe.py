"""What axe finds on a page, in every size and both colour schemes."""

from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Page

WIDTHS = (360, 768, 1440)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# The rules that look at colours: a scheme changes nothing that another one sees.
OF_COLOURS = ("color-contrast", "link-in-text-block")


def violations(page: Page, *rules: str) -> list[str]:
    """Which of these rules, or of all, are broken, each with its first element. The frame of a stranger's message is
    not ours."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found: dict[str, Any] = page.evaluate("options => axe.run({exclude: ['.message-frame']}, options)", options)
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:160]}" for rule in found["violations"]]


def at_every_size(page: Page) -> list[str]:
    """Those of all rules at each width, and of those of colours in both colour schemes."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            rules = () if scheme == SCHEMES[0] else OF_COLOURS
            found += [f"{page.url} {width} {scheme} {violation}" for violation in violations(page, *rules)]
    return found
