"""A finger on the page, as the browser's own touch input: it decides what scrolls and what is cancelled."""

import time

from playwright.sync_api import Locator, Page

from tests.conftest import HANG_MILLISECONDS

PHONE = {"width": 390, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


class Finger:
    """Goes down in the middle of a place, moves by steps, and is lifted."""

    def __init__(self, page: Page, place: Locator) -> None:
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        until = time.monotonic() + HANG_MILLISECONDS / 1000
        # The script of the page may replace the whole list between two looks.
        while box is None:
            assert time.monotonic() < until, "the place is not on the page"
            page.wait_for_timeout(20)
            box = place.bounding_box()
        self._session = page.context.new_cdp_session(page)
        self.x, self.y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self._send("touchStart")

    def move(self, dx: float, dy: float = 0, *, steps: int = 8) -> "Finger":
        for _ in range(steps):
            self.x, self.y = self.x + dx / steps, self.y + dy / steps
            self._send("touchMove")
        return self

    def lift(self) -> None:
        self._session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def _send(self, kind: str) -> None:
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": self.x, "y": self.y}]})
