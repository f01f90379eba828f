"""The site as gunicorn serves it, with streams, and browsers of one person on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.waiting import wait_for
from tests.conftest import HANG_MILLISECONDS
from tests.factories import Person
from tests.web.live_site import LiveSite, live_site

BASE_URL = "http://127.0.0.1:{port}"


@contextmanager
def site_with_streams(postgres_url: str, home: Path) -> Iterator[LiveSite]:
    with live_site(postgres_url, home, BASE_URL=BASE_URL) as site:
        yield site


def a_browser(chromium: Browser, site: LiveSite, person: Person) -> BrowserContext:
    """A browser in which the person is signed in, with cookies and tabs of its own."""
    url = BASE_URL.format(port=site.port)
    context = chromium.new_context(base_url=url, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(HANG_MILLISECONDS)
    context.add_cookies([{"name": f"snoozer_session_{site.port}", "value": person.session, "url": url}])
    return context


def listening(context: BrowserContext, path: str) -> Page:
    """A page of it, once it learns of changes: by its own stream, or by that of another tab."""
    page = context.new_page()
    page.goto(path)
    wait_for(page, "() => document.documentElement.dataset.listening !== undefined")
    return page
