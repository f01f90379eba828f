"""Toasts agree with the list: one at a time, with the Undo of its own act, and none that a later act made untrue."""

from datetime import timedelta

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

from snoozer.db.queries.snoozes import came_back
from tests.browser.conftest import Opened, Site
from tests.browser.rows import TOMORROW, folders, letters, shown
from tests.factories import ANN, HOUR, a_snooze, now

pytestmark = pytest.mark.browser

DAY = 24 * HOUR


def toasts(page: Page) -> Locator:
    return page.locator(".toast:visible")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_there_is_one_at_a_time_and_each_act_has_its_undo(opened: Opened, engine: Engine) -> None:
    letters(engine, 4)
    page = opened("/mailbox")
    press(page, "j", "e", "b", TOMORROW, "Enter")
    expect(toasts(page)).to_contain_text("Asleep until tomorrow")
    expect(toasts(page)).to_have_count(1)
    press(page, "z")
    expect(page.get_by_role("link", name="Letter 2", exact=True)).to_be_visible()
    press(page, "z")
    expect(page.get_by_role("link", name="Letter 1", exact=True)).to_be_visible()
    expect(toasts(page)).to_have_count(1)
    assert set(folders(engine).values()) == {"inbox"}


def test_a_later_act_takes_the_place_of_what_is_no_longer_true(opened: Opened, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + 3 * DAY, subject="Lease")
    page = opened("/")
    press(page, "j", "c")
    expect(toasts(page)).to_contain_text("Cancelled.")
    press(page, "z")
    expect(toasts(page)).to_contain_text("Asleep again until")
    press(page, "b")
    page.keyboard.type("in 9 days")
    press(page, "Enter")
    expect(toasts(page)).not_to_contain_text("again")
    expect(toasts(page)).to_contain_text("Asleep until")
    expect(toasts(page)).to_have_count(1)
    expect(toasts(page).get_by_role("button", name="Undo")).to_be_visible()


def test_a_notice_covers_the_undo_for_a_while(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = opened("/mailbox")
    page.clock.install()
    press(page, "j", "e")
    expect(toasts(page)).to_contain_text("Done.")
    press(page, "c")
    expect(toasts(page)).to_have_text("That cannot be done with this message.")
    page.clock.fast_forward(9000)
    expect(toasts(page)).to_contain_text("Done.")
    expect(toasts(page).get_by_role("button", name="Undo")).to_be_visible()
    page.clock.fast_forward(12_000)
    expect(toasts(page)).to_have_count(0)


def sent(engine: Engine, subject: str, *, days: int) -> None:
    a_snooze(
        engine,
        subject=subject,
        message_id=f"<{subject}@mail.example>",
        remind_at=now() - days * DAY,
        finished_at=now() - days * DAY,
        outcome="sent",
        inactive=True,
    )


def test_nothing_came_back_by_a_persons_own_act(opened: Opened, site: Site, engine: Engine) -> None:
    """A message whose second snooze was cancelled is listed as back again; so is an older one in its place."""
    for number in range(6):
        sent(engine, f"Old {number}", days=number + 1)
    a_snooze(engine, subject="Old 0", message_id="<Old 0@mail.example>", remind_at=now() + HOUR)
    page = opened("/")
    assert "Old 5" in shown(page)
    press(page, "j", "c")
    expect(toasts(page)).to_contain_text("Cancelled.")
    assert shown(page) == [f"Old {number}" for number in range(5)]
    expect(toasts(page)).not_to_contain_text("came back")
    expect(page).to_have_title("Asleep · Snoozer")
    press(page, "j", "b", TOMORROW, "Enter")
    expect(page.get_by_role("link", name="Old 5", exact=True)).to_be_visible()
    expect(toasts(page)).to_contain_text("Asleep until")
    with engine.connect() as connection:
        assert len(came_back(connection, user_email=ANN, since=now() - timedelta(days=7))) == 5
