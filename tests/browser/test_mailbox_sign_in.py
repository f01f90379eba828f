"""Signing in to a mailbox in a real browser: to the provider's host and back, under our own security headers."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from pydantic import SecretStr

from snoozer.settings import Settings
from tests.browser.conftest import Opened
from tests.browser.phone import looks_right
from tests.conftest import missing
from tests.imap import dovecot, oauth_provider
from tests.imap.oauth_provider import CLIENT_ID, CLIENT_SECRET, Provider

pytestmark = [pytest.mark.browser, pytest.mark.dovecot]


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with oauth_provider.running() as provider:
        yield provider


@pytest.fixture
def settings(settings: Settings, provider: Provider) -> Iterator[Settings]:
    if not dovecot.is_installed():
        missing("dovecot")
    with dovecot.running(introspection_url=provider.introspection_url) as server:
        yield settings.model_copy(
            update={
                "allow_private_mailboxes": True,
                "oauth_microsoft_client_id": CLIENT_ID,
                "oauth_microsoft_client_secret": SecretStr(CLIENT_SECRET),
                "oauth_microsoft_authorize_url": f"{provider.url}/authorize",
                "oauth_microsoft_token_url": f"{provider.url}/token",
                "oauth_microsoft_imap_url": f"imap://127.0.0.1:{server.imap_port}",
            }
        )


def test_a_mailbox_is_connected_on_the_providers_own_pages_without_scripts(quiet: Opened, provider: Provider) -> None:
    page = quiet("/settings/mailboxes/connect", width=360, java_script_enabled=False, has_touch=True)
    page.keyboard.type("ann.of-a-rather-long-name.who-does-not-break@outlook.com")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This is a mailbox of Outlook")).to_be_visible()
    expect(page.get_by_label("Password", exact=True)).to_have_count(0)
    assert looks_right(page)
    page.get_by_role("button", name="Sign in with Microsoft").press("Enter")
    # To the provider, which leads back at once: the person is signed in there.
    expect(page.get_by_role("button", name="Connect this mailbox")).to_be_focused()
    assert looks_right(page)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Move a message into Snooze / Tomorrow")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("The mailbox is connected.")
    expect(page.get_by_text("by sign-in at Microsoft, without a password")).to_be_visible()
    assert looks_right(page)
    page.get_by_text("Sign in again", exact=True).click()
    provider.consents = False
    page.get_by_role("button", name="Sign in again with Microsoft").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The provider gave Snoozer no access")
    assert looks_right(page)
