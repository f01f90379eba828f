"""What holds for every page on a phone."""

from pathlib import Path

from playwright.sync_api import Page

_HERE = Path(__file__).parent
CHECKS = [(_HERE / name).read_text(encoding="utf-8").partition("\n")[2] for name in ("accessibility.js", "contrast.js")]


def looks_right(page: Page) -> bool:
    """Fits the screen of 360 pixels; every control has a name and a size to touch; all text can be read."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert [page.evaluate(check) for check in CHECKS] == [[], []]
    return True
