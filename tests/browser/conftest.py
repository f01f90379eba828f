"""The site on a loopback port, and pages of it in Chromium."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from sqlalchemy import Engine

from snoozer.settings import Settings
from snoozer.web import auth
from tests.api_sites import a_site
from tests.browser import every_page
from tests.conftest import HANG_MILLISECONDS
from tests.factories import People, Person


@dataclass(frozen=True)
class Site:
    """A running site, and the person with an account on it."""

    url: str
    settings: Settings
    ann: Person


@pytest.fixture
def site(engine: Engine, settings: Settings, people: People) -> Iterator[Site]:
    with a_site(engine, settings) as url:
        yield Site(url=url, settings=settings.model_copy(update={"base_url": url}), ann=people.ann(role="operator"))


Opened = Callable[..., Page]


@pytest.fixture
def quiet(chromium: Browser, site: Site) -> Iterator[Opened]:
    """`quiet("/mailbox", width=360)` opens a page as Ann; errors in its console are ignored."""
    contexts: list[BrowserContext] = []

    def open_page(path: str = "/", *, width: int = 1280, signed_in: bool = True, **options: Any) -> Page:
        # A service worker's requests do not pass the routes of tests.
        options.setdefault("service_workers", "block")
        context = chromium.new_context(base_url=site.url, viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        context.set_default_timeout(HANG_MILLISECONDS)
        if signed_in:
            session = auth.cookie_name(site.settings, "session")
            context.add_cookies([{"name": session, "value": site.ann.session, "url": site.url}])
        page = context.new_page()
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def opened(quiet: Opened) -> Iterator[Opened]:
    """The same, but an error or a dialog of the page fails the test."""
    errors: list[str] = []

    def open_page(path: str = "/", **options: Any) -> Page:
        page = quiet("about:blank", **options)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(f"a dialog: {dialog.message}"))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(path)
        return page

    yield open_page
    assert errors == []


@pytest.fixture
def page(opened: Opened) -> Page:
    """The list of what is asleep."""
    return opened("/")


@pytest.fixture
def paths(site: Site, engine: Engine) -> list[str]:
    """Every page of Ann's."""
    return every_page.of_a_person(site.settings, engine)


@pytest.fixture
def operator_paths(paths: list[str], engine: Engine) -> list[str]:
    """Every page of an operator, beside those of a person."""
    return every_page.of_an_operator(engine)
