"""Figures of a database that does not answer are not shown as current ones: measured in an open overview."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import Engine

from tests.browser.conftest import Opened
from tests.browser.live import a_browser, listening, site_with_streams
from tests.factories import People
from tests.stalling import StallingWay
from tests.web.live_site import LiveSite
from tests.web.overviews import a_breaker, all_is_well

pytestmark = pytest.mark.browser

# The page shows it within five seconds of the last figures; the rest is for a busy machine.
WITHIN_MILLISECONDS = 8000


@pytest.fixture
def way(postgres_url: str) -> Iterator[StallingWay]:
    with StallingWay(postgres_url) as way:
        yield way


@pytest.fixture
def live(migrated: Engine, way: StallingWay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with site_with_streams(way.url, tmp_path_factory.mktemp("silence")) as site:
        yield site


@pytest.mark.parametrize("is_paused", [False, True])
def test_the_verdict_gives_way_while_the_database_does_not_answer(
    chromium: Browser, live: LiveSite, way: StallingWay, engine: Engine, people: People, is_paused: bool
) -> None:
    all_is_well(engine)
    a_breaker(engine)
    context = a_browser(chromium, live, people.operator())
    page = listening(context, "/admin")
    silence, verdict, place = page.locator("#silence"), page.locator("#verdict"), page.locator("#place")
    expect(silence).to_be_hidden()
    expect(verdict).to_contain_text("All is well")
    page.evaluate("window.old = 0; document.addEventListener('list:stale', () => { window.old += 1; })")
    read_at = place.get_attribute("data-read-at")
    assert read_at
    if is_paused:
        page.get_by_role("button", name="Pause").click()
    way.stall()
    expect(silence).to_contain_text(
        re.compile(r"The database has not answered for [4-9] s; these figures are of \d\d:\d\d:\d\d\."),
        timeout=WITHIN_MILLISECONDS,
    )
    expect(verdict).to_be_hidden()
    expect(place).to_have_css("filter", "grayscale(1)")
    # No other page can be opened now.
    expect(silence.locator(".remedy > code")).to_have_text("snoozer doctor")
    silence.get_by_text("Runbook").click()
    expect(silence).to_contain_text("Start PostgreSQL")
    way.flow()
    expect(silence).to_be_hidden()
    expect(verdict).to_be_visible()
    expect(place).to_have_css("filter", "none")
    if is_paused:
        assert page.evaluate("window.old") == 0
    else:
        # New figures are fetched at once, unless a message of the server was quicker.
        expect(place).not_to_have_attribute("data-read-at", read_at)
    context.close()


def test_silence_is_shown_within_five_seconds_of_the_last_answer(quiet: Opened, engine: Engine) -> None:
    """At whatever moment between two looks of the page that was."""
    all_is_well(engine)
    page = quiet("about:blank")
    silence = page.locator("#silence")
    page.clock.install()
    page.route("**/admin/live**", lambda route: None)
    page.goto("/admin")
    page.clock.run_for(650)
    assert page.evaluate("window.refreshList()")
    page.clock.run_for(3000)
    assert silence.is_hidden()
    page.clock.run_for(1800)
    assert silence.is_visible()


def test_figures_from_before_a_silence_are_not_shown_as_current_ones_after_it(quiet: Opened, engine: Engine) -> None:
    """The database answers again, and the page cannot be fetched yet."""
    all_is_well(engine)
    page = quiet("about:blank")
    silence, verdict, place = page.locator("#silence"), page.locator("#verdict"), page.locator("#place")
    page.clock.install()
    page.route("**/admin/live**", lambda route: route.abort())
    page.goto("/admin")
    page.clock.run_for(5000)
    expect(silence).to_be_visible()
    page.route("**/admin", lambda route: route.fulfill(status=503, body="<h1>Away</h1>"))
    page.unroute("**/admin/live**")
    page.clock.run_for(5000)
    expect(silence).to_be_hidden()
    expect(place).to_have_css("filter", "grayscale(1)")
    assert verdict.is_hidden()
    page.unroute("**/admin")
    expect(verdict).to_be_visible()
    expect(place).to_have_css("filter", "none")


def test_a_process_that_does_not_answer_is_not_taken_for_the_database(
    chromium: Browser, live: LiveSite, engine: Engine, people: People
) -> None:
    all_is_well(engine)
    context = a_browser(chromium, live, people.operator())
    page = listening(context, "/admin")
    context.set_offline(True)
    expect(page.locator("#silence")).to_contain_text(
        re.compile(r"Snoozer has not answered for \d+ s"), timeout=WITHIN_MILLISECONDS
    )
    context.set_offline(False)
    expect(page.locator("#silence")).to_be_hidden()
    context.close()
