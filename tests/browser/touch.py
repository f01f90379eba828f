"""A finger on the page, as the browser's own touch input: it decides what scrolls and what is cancelled."""

from playwright.sync_api import Locator, Page

PHONE = {"width": 390, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


class Finger:
    """Goes down in the middle of a place, moves by steps, and is lifted."""

    def __init__(self, page: Page, place: Locator) -> None:
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        assert box is not None
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
