"""The setup page in a browser: from the printed link to the first admin, without a violation that axe knows of."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import Engine

from snoozer.mail import message_parser
from snoozer.people import setup
from snoozer.settings import Settings
from tests.api_sites import a_site
from tests.browser.axe import at_every_size
from tests.conftest import HANG_MILLISECONDS
from tests.factories import ANN
from tests.mail.scripted_server import ScriptedServer

pytestmark = pytest.mark.browser

REFUSED = f"550 5.1.1 {'Donaudampfschifffahrtsgesellschaftskapitaen' * 5} unknown"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(rcpt=[REFUSED, "250 2.1.5 OK"]) as server:
        yield server


@pytest.fixture
def page(chromium: Browser, engine: Engine, settings: Settings, server: ScriptedServer) -> Iterator[Page]:
    """The page of the printed link; there is no account."""
    with engine.connect() as connection:
        token = setup.make_token(connection, keys=settings.keys)
    own = Settings(
        **settings.model_dump(by_alias=True) | {"SMTP_URL": f"smtp://127.0.0.1:{server.port}", "SNOOZER_SINK": False}
    )
    with a_site(engine, own) as url:
        context = chromium.new_context(base_url=url, timezone_id="Europe/Berlin", reduced_motion="reduce")
        context.set_default_timeout(HANG_MILLISECONDS)
        page = context.new_page()
        page.goto(f"/setup/{token}")
        yield page
        context.close()


def test_from_the_printed_link_to_the_first_admin(page: Page, server: ScriptedServer) -> None:
    expect(page.get_by_label("Your mail address")).to_be_focused()
    found = at_every_size(page)
    page.get_by_label("Your mail address").fill(ANN)
    page.get_by_role("button", name="Send a test mail").click()
    expect(page.get_by_text("The mail server refused the test mail.")).to_be_visible()
    found += at_every_size(page)
    page.get_by_role("button", name="Send another test mail").click()
    expect(page.get_by_text("The mail server accepted the test mail.")).to_be_visible()
    found += at_every_size(page)
    [mail] = server.received
    page.goto(f"/setup/{message_parser.parse(mail.data).text.split('/setup/')[1].split()[0]}")
    found += at_every_size(page)
    page.get_by_role("button", name="Make this my Snoozer").click()
    expect(page.get_by_role("link", name="Admin")).to_be_visible()
    found += at_every_size(page)
    assert found == []
