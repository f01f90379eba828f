"""Swipes on a list: each presses a button of the row, only when it goes far enough, and the page scrolls as ever."""

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import Opened
from tests.browser.rows import folders, letters, shown
from tests.browser.touch import PHONE, Finger
from tests.browser.waiting import wait_for
from tests.factories import HOUR, a_kept_message, a_snooze, now

SHORT, FAR, LONG = 60, 150, 260


@pytest.fixture
def mailbox(opened: Opened, engine: Engine) -> Page:
    letters(engine, 12)
    return opened("/mailbox", **PHONE)


def row(page: Page, number: int) -> Locator:
    return page.locator(".row", has=page.get_by_role("link", name=f"Letter {number}", exact=True))


def words(page: Page) -> str:
    return page.locator(".swipe-hint").inner_text().strip()


def test_a_swipe_to_the_right_is_done_and_can_be_undone(mailbox: Page, engine: Engine) -> None:
    finger = Finger(mailbox, row(mailbox, 2)).move(FAR)
    expect(mailbox.locator(".swipe-hint.right.enough")).to_have_count(1)
    assert words(mailbox) == "Done"
    finger.lift()
    expect(row(mailbox, 2)).to_have_count(0)
    mailbox.get_by_role("button", name="Undo").click()
    expect(row(mailbox, 2)).to_be_visible()
    assert folders(engine)["2"] == "inbox"


def test_a_short_swipe_to_the_left_is_tomorrow_and_a_long_one_opens_the_sheet(mailbox: Page, engine: Engine) -> None:
    finger = Finger(mailbox, row(mailbox, 3)).move(-FAR)
    assert words(mailbox).startswith("Tomorrow")
    finger.move(FAR - LONG)
    assert words(mailbox) == "Snooze"
    expect(mailbox.locator(".swipe-hint.long")).to_have_count(1)
    finger.lift()
    expect(mailbox.locator("dialog[open] [data-title]")).to_have_text("Letter 3")
    expect(mailbox.locator(".swipe-hint")).to_have_count(0)
    mailbox.keyboard.press("Escape")
    expect(mailbox.locator("dialog[open]")).to_have_count(0)
    Finger(mailbox, row(mailbox, 3)).move(-FAR).lift()
    expect(mailbox.get_by_role("status").first).to_contain_text("Asleep until tomorrow")
    expect(mailbox.locator("dialog[open]")).to_have_count(0)
    assert folders(engine)["3"] == "snoozed"
    mailbox.get_by_role("button", name="Undo").click()
    expect(row(mailbox, 3)).to_be_visible()


def test_a_swipe_that_is_taken_back_or_short_does_nothing(mailbox: Page, engine: Engine) -> None:
    Finger(mailbox, row(mailbox, 2)).move(FAR).move(-FAR + 10).lift()
    Finger(mailbox, row(mailbox, 2)).move(SHORT).lift()
    Finger(mailbox, row(mailbox, 2)).move(-SHORT).lift()
    expect(mailbox.locator(".swipe-hint, .swiped")).to_have_count(0)
    assert len(shown(mailbox)) == 12
    assert set(folders(engine).values()) == {"inbox"}
    assert mailbox.locator("dialog[open]").count() == 0


def test_the_page_scrolls_up_and_down_under_a_finger(mailbox: Page) -> None:
    Finger(mailbox, row(mailbox, 4)).move(5, -200).lift()
    wait_for(mailbox, "scrollY > 100")
    assert mailbox.locator(".swipe-hint").count() == 0
    assert len(shown(mailbox)) == 12


def test_a_tap_still_opens_the_message_and_keys_reach_the_buttons(mailbox: Page) -> None:
    for name in ("Snooze: Letter 1", "Done: Letter 2"):
        control = mailbox.get_by_label(name, exact=True)
        assert width(control.locator("xpath=..")) <= 1
        control.focus()
        assert width(control.locator("xpath=..")) > 60
        assert control.evaluate("one => getComputedStyle(one.closest('.row-acts')).opacity") == "1"
    row(mailbox, 5).get_by_role("link", name="Letter 5", exact=True).tap()
    expect(mailbox.get_by_role("heading", level=1, name="Letter 5")).to_be_visible()


def width(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["width"]


def test_a_subject_has_the_width_of_the_row_and_more_than_one_line(opened: Opened, engine: Engine) -> None:
    subject = "The lease of the flat in Lindenstraße ends in March: sign the new one, or tell them that you leave"
    a_kept_message(engine, subject=subject)
    title = opened("/mailbox", **{**PHONE, "width": 360}).locator(".row-title")
    assert width(title) > 240
    assert title.evaluate("one => one.scrollHeight <= one.clientHeight + 1")


def test_fourteen_messages_take_at_most_two_taps_each(opened: Opened, engine: Engine) -> None:
    """By swipes, one each; by taps alone, two each."""
    letters(engine, 14)
    page = opened("/mailbox", **{**PHONE, "width": 360})
    taps = 0
    for number in range(1, 15):
        if number % 3 == 0:
            # At once after a swipe: the link is followed when that is saved.
            row(page, number).locator(".row-title").click()
            page.locator("main .message-acts").get_by_role("button", name="Done").click()
            expect(page.get_by_role("status").first).to_contain_text("Done.")
            page.wait_for_load_state()
        else:
            Finger(page, row(page, number)).move(FAR if number % 3 == 1 else -FAR).lift()
        expect(row(page, number)).to_have_count(0)
        taps += 2 if number % 3 == 0 else 1
    expect(page.get_by_role("heading", name="The inbox is clear")).to_be_visible()
    assert taps <= 2 * 14
    assert sorted(folders(engine).values()) == ["done"] * 9 + ["snoozed"] * 5


def test_what_is_asleep_is_not_cancelled_by_a_swipe(opened: Opened, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + HOUR, subject="Lease")
    page = opened("/", **PHONE)
    lease = page.locator(".row", has_text="Lease")
    finger = Finger(page, lease).move(FAR)
    assert lease.evaluate("one => parseFloat(getComputedStyle(one).getPropertyValue('--swipe'))") < FAR or words(page)
    finger.lift()
    expect(lease).to_be_visible()
    Finger(page, lease).move(-LONG).lift()
    expect(page.locator("dialog[open] [data-title]")).to_have_text("Lease")


def test_a_mouse_does_not_swipe(opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = opened("/mailbox")
    box = row(page, 1).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 10, steps=5)
    assert page.locator(".swipe-hint").count() == 0
    page.mouse.up()
