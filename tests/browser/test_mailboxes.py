"""Connecting a mailbox as a person does it: by keyboard and without scripts, with a wrong password first."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from snoozer.settings import Settings
from tests.browser.conftest import Opened
from tests.browser.phone import looks_right
from tests.conftest import missing
from tests.imap import dovecot
from tests.imap.dovecot import Dovecot

pytestmark = [pytest.mark.browser, pytest.mark.dovecot]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"allow_private_mailboxes": True})


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    if not dovecot.is_installed():
        missing("dovecot")
    with dovecot.running() as running:
        yield running


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_mailbox_is_connected_by_keyboard_after_a_wrong_password(
    quiet: Opened, server: Dovecot, scripts: bool
) -> None:
    page = quiet("/settings", width=360, java_script_enabled=scripts, has_touch=True, color_scheme="dark")
    page.get_by_role("link", name="Your mailboxes").press("Enter")
    page.get_by_role("link", name="Connect a mailbox").press("Enter")
    expect(page.get_by_label("Mail address")).to_be_focused()
    assert looks_right(page)
    page.keyboard.type("ann@no-such-domain.invalid")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No server was found for this address")).to_be_visible()
    assert looks_right(page)
    page.get_by_label("Server", exact=True).fill("localhost")
    page.get_by_label("Port").fill(str(server.imap_port))
    page.get_by_label("Security").select_option("None")
    page.get_by_label("User name", exact=True).fill("ann")
    page.get_by_label("Password", exact=True).fill("not-the-password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("did not accept the user name and the password")
    assert looks_right(page)
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    expect(page.get_by_label("Password", exact=True)).to_have_value("")
    expect(page.get_by_label("User name", exact=True)).to_have_value("ann")
    page.keyboard.type(dovecot.PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Move a message into Snooze / Tomorrow")).to_be_visible()
    assert looks_right(page)
    expect(page.get_by_role("status")).to_contain_text("The mailbox is connected.")
    page.get_by_text("Disconnect this mailbox").press("Enter")
    page.get_by_role("button", name="Disconnect").press("Enter")
    expect(page.get_by_text("Being disconnected", exact=True)).to_be_visible()
    assert looks_right(page)
