"""Many messages of a connected mailbox are chosen by keys, and one act and one Undo is for all of them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine

from snoozer.settings import Settings
from tests.browser.conftest import Opened, Site
from tests.browser.rows import TOMORROW, focused, is_same, shown
from tests.browser.rows import watched as noted
from tests.conftest import missing
from tests.imap import dovecot
from tests.imap.watched import Place, watched
from tests.web.letters import a_letter

pytestmark = [pytest.mark.browser, pytest.mark.dovecot]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"allow_private_mailboxes": True, "mailbox_poll": 1.0})


@pytest.fixture
def place(engine: Engine, site: Site) -> Iterator[Place]:
    """Ann's mailbox, connected and watched, with seven letters: Letter 1 is the newest."""
    if not dovecot.is_installed():
        missing("dovecot")
    with (
        dovecot.running() as server,
        watched(engine, site.settings, site.ann, port=server.imap_port, username="selects") as place,
    ):
        for number in range(7, 0, -1):
            place.program.deliver(bytes(a_letter(f"Letter {number}", Message_ID=f"<{number}@mail.example>")))
        place.start()
        yield place


def test_a_range_is_done_some_are_snoozed_and_both_are_undone_by_keys(opened: Opened, place: Place) -> None:
    page = noted(opened(f"/mailboxes/{place.mailbox_id}/mail", width=1440))
    for key in ("j", "j", "x", "j", "j", "Shift+X"):
        page.keyboard.press(key)
    expect(page.locator("[data-count]")).to_have_text("3 messages selected")
    page.keyboard.press("e")
    assert shown(page) == ["1", "5", "6", "7"], "they have left before anything was saved"
    expect(page.get_by_text("3 messages are done.")).to_be_visible()
    place.eventually(lambda: place.program.count("Archive") == 3)
    assert (shown(page), focused(page)) == (["1", "5", "6", "7"], "5")
    for key in ("x", "j", "x", "b"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="2 messages")).to_be_visible()
    page.keyboard.press(TOMORROW)
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 messages are asleep until")).to_be_visible()
    place.eventually(lambda: place.asleep() == 2)
    page.keyboard.press("z")
    expect(page.get_by_text("2 messages are as they were.")).to_be_visible()
    place.eventually(lambda: place.program.count("INBOX") == 4)
    page.keyboard.press("z")
    expect(page.get_by_text("3 messages are as they were.")).to_be_visible()
    place.eventually(lambda: place.program.count("INBOX") == 7)
    expect(page.locator(".row:visible")).to_have_count(7)
    page.keyboard.press("x")
    page.get_by_role("checkbox", name="All 7").check()
    page.locator("#bulk").get_by_role("button", name="Done").click()
    expect(page.get_by_role("heading", name="The inbox is clear")).to_be_visible()
    assert is_same(page)
