"""A person who has just installed Snoozer: opens the printed link in a browser, and snoozes something for a minute."""

import re
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

EMAIL = "ann@people.example"
SUBJECT = "Call the dentist"
LINK = re.compile(r"http://(?:127\.0\.0\.1|localhost):\d+/(?:setup|sign-in)/[\w-]+")
# How long the commands may take until the link is printed, and the reminder from the snooze to its end.
LINK_SECONDS, REMINDER_SECONDS = 1200.0, 150.0
LOOK_SECONDS = 0.5


class NotBack(Exception):
    """The link or the reminder did not come; the text says which."""


def find_link(log: Path, *, is_running: Callable[[], bool]) -> str:
    """The link, once the commands have printed it."""
    ends = time.monotonic() + LINK_SECONDS
    while not (found := LINK.search(log.read_text(errors="replace"))):
        if not is_running() or time.monotonic() > ends:
            raise NotBack("The commands printed no link.")
        time.sleep(LOOK_SECONDS)
    return found[0]


def snooze(page: Page, link: str) -> None:
    """From the link to a snooze of a minute."""
    page.goto(link)
    if "/setup/" in link:
        page.get_by_label("Your mail address").fill(EMAIL)
        page.get_by_role("button", name="Send a test mail").click()
        expect(page.get_by_text("The mail server accepted the test mail.")).to_be_visible()
        page.get_by_role("button", name="Go on without the link").click()
    else:
        page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Add").first.click()
    page.get_by_role("textbox", name="What is it about?").fill(SUBJECT)
    page.get_by_label("When should it come back?").fill("in 1 minute")
    page.get_by_role("button", name="Snooze", exact=True).click()
    page.get_by_role("link", name="Asleep").first.click()
    expect(page.get_by_role("link", name=SUBJECT, exact=True)).to_be_visible()


def wait_for_the_reminder(page: Page, mails: Callable[[Page], bool]) -> None:
    """Until the mail server has the reminder, and the page says that the snooze came back."""
    ends = time.monotonic() + REMINDER_SECONDS
    while not mails(page):
        if time.monotonic() > ends:
            raise NotBack("The reminder did not come.")
        time.sleep(LOOK_SECONDS)
    page.reload()
    expect(page.locator("main")).to_contain_text("Came back")
