"""Waiting for what a page's own script does."""

import time
from typing import Any

from playwright.sync_api import Error, Page

from tests.conftest import HANG_MILLISECONDS


def wait_for(page: Page, expression: str, arg: Any = None) -> None:
    """Wait until this JavaScript is true in the page. Playwright's own way compiles it anew at each look, inside of the
    page, which the policy of our pages refuses on a slow machine."""
    end = time.monotonic() + HANG_MILLISECONDS / 1000
    while not _is_true(page, expression, arg):
        assert time.monotonic() < end, f"this did not come true: {expression}"
        page.wait_for_timeout(20)


def _is_true(page: Page, expression: str, arg: Any) -> bool:
    try:
        return bool(page.evaluate(expression, arg))
    except Error as error:
        # It went to another page meanwhile.
        if "context was destroyed" not in error.message:
            raise
        return False
