"""Every page fits its screen, is small, accessible and readable, and escapes the texts of strangers."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, insert

from snoozer.db.models import Snooze
from tests.browser.axe import SCHEMES
from tests.browser.conftest import Opened
from tests.factories import ANN, HOUR, a_kept_message, now

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
ACCESSIBILITY = (HERE / "accessibility.js").read_text(encoding="utf-8").partition("\n")[2]

CONTRAST = (HERE / "contrast.js").read_text(encoding="utf-8").partition("\n")[2]


def fits(page: Page, path: str, *, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
    cut = page.locator(".row-title").evaluate_all(
        "titles => titles.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.clientWidth)"
    )
    assert min(cut, default=width) >= width / 4, (path, width)


def test_every_page_fits_a_phone_and_its_controls_can_be_touched(quiet: Opened, paths: list[str]) -> None:
    page = quiet("/", width=360, is_mobile=True, has_touch=True)
    for path in paths:
        page.goto(path)
        assert page.evaluate(ACCESSIBILITY) == [], path
        # 180: a phone of 360 whose owner has doubled the size of text.
        for width in (320, 180, 360):
            fits(page, path, width=width)


def test_every_page_fits_a_window_and_can_be_read(quiet: Opened, paths: list[str], operator_paths: list[str]) -> None:
    page = quiet("/", width=1440, reduced_motion="reduce")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    assert page.locator(".nav a").count() == 6
    for path in [*paths, *operator_paths]:
        page.goto(path)
        if path in paths:
            texts_are_read_as_texts(page, path)
        # A window of 1280 at a zoom of 200 % and 400 %; 305 is what a scroll bar leaves of 320.
        for width in (640, 320, 305):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            # The navigation stays in one line, and none of its words is cut.
            boxes = page.locator(".nav a").evaluate_all(
                "links => links.map(e => [e.getBoundingClientRect().top, e.scrollWidth - e.clientWidth])"
            )
            assert len({top for top, _ in boxes}) <= 1, path
            assert {cut for _, cut in boxes} <= {0}, path
    assert boxes
    assert dialogs == []


def texts_are_read_as_texts(page: Page, path: str) -> None:
    """Those of strangers are no markup, and all have enough contrast."""
    fits(page, path, width=1440)
    assert page.locator("img").count() == 0, path
    assert page.locator("main script").count() == 0, path
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == [], (path, scheme)


def test_the_navigation_does_not_shift_from_page_to_page(quiet: Opened, engine: Engine) -> None:
    page = quiet("/")
    places = []
    for path in ("/", "/mailbox", "/mailbox?folder=asleep", "/settings"):
        page.goto(path)
        places.append(page.locator(".nav a").evaluate_all("links => links.map(e => e.getBoundingClientRect().left)"))
    assert places == [places[0]] * 4


def test_a_page_with_five_hundred_rows_stays_under_100_kb(quiet: Opened, engine: Engine) -> None:
    rows = [
        {"user_email": ANN, "message_id": f"<{n}>", "subject": f"Row {n}", "remind_at": now() + n * HOUR}
        for n in range(500)
    ]
    with engine.begin() as connection:
        connection.execute(insert(Snooze), rows)
    page = quiet("/sign-in/forged")
    weights: list[float] = []
    network = page.context.new_cdp_session(page)
    network.on("Network.loadingFinished", lambda response: weights.append(response["encodedDataLength"]))
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.goto("/", wait_until="networkidle")
    assert page.locator("[data-row]").count() == 40
    assert 25_000 < sum(weights) <= 100_000, "as sent: compressed"


def test_the_current_page_and_choice_show_in_forced_colours(opened: Opened, engine: Engine) -> None:
    id = a_kept_message(engine)
    page = opened("/mailbox", forced_colors="active")
    colour = "e => getComputedStyle(e).borderBottomColor"
    here, elsewhere = (page.locator(f".tabs a{which}").first for which in ("[aria-current]", ":not([aria-current])"))
    assert here.evaluate(colour) != elsewhere.evaluate(colour)
    assert elsewhere.evaluate(colour) == page.evaluate("getComputedStyle(document.body).backgroundColor")
    line = page.locator(".nav a[aria-current]").evaluate("e => getComputedStyle(e, '::after').backgroundColor")
    assert line == here.evaluate(colour)
    page.goto(f"/mailbox/{id}/snooze")
    page.get_by_label("When should it come back?").fill("2")
    chosen = page.locator(".offers .chosen")
    assert chosen.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


def test_the_choice_of_colours_holds_on_every_page(opened: Opened) -> None:
    page = opened("/", color_scheme="light")
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    page.goto("/settings")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 20, 28)"
    page.get_by_role("button", name="As the device").click()
    expect(page.locator("html[data-theme=auto]")).to_be_attached()
    page.wait_for_load_state()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 244, 239)"
