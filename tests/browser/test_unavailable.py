"""The page of a database that is away: it tries again by itself, and its button says when that was in vain."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from snoozer.db.engine import make_engine
from snoozer.settings import Settings
from snoozer.web import auth
from tests.api_sites import a_site
from tests.browser.conftest import Opened, Site

pytestmark = pytest.mark.browser


class Road:
    """A port of the loopback that leads to another one, while it is open."""

    def __init__(self, to: int) -> None:
        self._to = to
        with socket.create_server(("127.0.0.1", 0)) as held:
            self.port: int = held.getsockname()[1]

    @contextmanager
    def opened(self) -> Iterator[None]:
        with socket.create_server(("127.0.0.1", self.port)) as listener:
            threading.Thread(target=self._accept, args=[listener], daemon=True).start()
            yield

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                threading.Thread(target=_carry, args=[near, far], daemon=True).start()


def _carry(near: socket.socket, far: socket.socket) -> None:
    with near, far, suppress(OSError):
        while True:
            ready, _, _ = select.select([near, far], [], [])
            for one in ready:
                data = one.recv(65536)
                if not data:
                    return
                (far if one is near else near).sendall(data)


@pytest.fixture
def road(engine: Engine) -> Road:
    assert engine.url.port is not None
    return Road(engine.url.port)


@pytest.fixture
def away(quiet: Opened, site: Site, engine: Engine, settings: Settings, road: Road) -> Iterator[Page]:
    """The settings of a site whose database is away, as Ann opens them."""
    url = engine.url.set(port=road.port).render_as_string(hide_password=False)
    other = make_engine(url, name="web")
    with a_site(other, settings) as at:
        page = quiet("about:blank")
        name = auth.cookie_name(settings.model_copy(update={"base_url": at}), "session")
        page.context.add_cookies([{"name": name, "value": site.ann.session, "url": at}])
        page.clock.install()
        page.goto(f"{at}/settings?from=here")
        expect(page.get_by_role("heading", name="The database cannot be reached")).to_be_visible()
        yield page
    other.dispose()


def test_its_button_says_that_the_database_is_still_away(away: Page) -> None:
    expect(away.get_by_text("503", exact=True)).to_have_count(0)
    asked: list[str] = []
    away.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    with away.expect_response("**/readyz"):
        away.get_by_role("link", name="Try again").click()
    expect(away.get_by_role("status").last).to_contain_text("It cannot be reached yet.")
    assert asked == ["readyz"]


def until_asked(page: Page, asked: list[str]) -> int:
    """Milliseconds until the page asks again."""
    count, passed = len(asked), 0
    while len(asked) == count:
        assert passed < 120_000
        page.clock.run_for(500)
        page.wait_for_timeout(10)
        passed += 500
    return passed


def test_it_asks_less_and_less_often_and_opens_the_page_once_that_can_be(away: Page, road: Road) -> None:
    asked: list[str] = []
    away.on("response", lambda response: asked.append(response.url))
    pauses = [until_asked(away, asked) for _ in range(5)]
    assert pauses[2] < pauses[3] < pauses[4]
    assert pauses[4] >= 3 * pauses[0]
    with road.opened():
        until_asked(away, asked)
        expect(away).to_have_title("Settings · Snoozer")
        assert away.url.endswith("/settings?from=here")
