"""A mailbox whose server says nothing: its page is there, and then says what failed, with and without scripts."""

import socket
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine

from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.settings import Settings
from tests.browser.conftest import Opened, Site
from tests.factories import ANN

pytestmark = pytest.mark.browser


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"allow_private_mailboxes": True})


@pytest.fixture
def path(site: Site, engine: Engine) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server, login = Server("localhost", silent.getsockname()[1], "plain"), Login("ann", "wordpass")
        with engine.begin() as connection:
            id = registry.connect(
                connection,
                account_id=site.ann.id,
                address=ANN,
                server=server,
                login=login,
                key_ring=site.settings.keys,
            )
        yield f"/mailboxes/{id}/mail"


@pytest.mark.parametrize("scripts", [True, False])
def test_its_page_is_there_and_then_says_what_failed(scripts: bool, quiet: Opened, path: str) -> None:
    page = quiet("about:blank", java_script_enabled=scripts)
    page.goto(path, wait_until="commit")
    expect(page.get_by_role("heading", name="Asking localhost …")).to_be_visible()
    expect(page.get_by_role("navigation", name="Mailboxes")).to_be_visible()
    expect(page.get_by_role("heading", name="The mailbox cannot be reached")).to_be_visible()
    expect(page.get_by_role("link", name="Try again")).to_have_attribute("href", path)
