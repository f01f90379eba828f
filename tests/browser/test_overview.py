"""The overview in a browser: it shows new figures while it is open, and moves nothing that is in use."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import Engine, text

from snoozer.delivery.chores import chores
from tests.browser.axe import at_every_size
from tests.browser.conftest import Opened
from tests.browser.live import a_browser, listening, site_with_streams
from tests.factories import People, Person, a_mailbox, a_snooze, now
from tests.web.cases import an_uncertain_case
from tests.web.live_site import LiveSite
from tests.web.overviews import MINUTE, SECOND, a_breaker, a_worker, all_is_well, housekeeping, sent, waits

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def live(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with site_with_streams(postgres_url, tmp_path_factory.mktemp("overview")) as site:
        yield site


@pytest.fixture
def olga(people: People) -> Person:
    return people.operator()


@pytest.fixture
def page(chromium: Browser, live: LiveSite, engine: Engine, olga: Person) -> Iterator[Page]:
    """The overview of a queue that is well, once it listens."""
    all_is_well(engine)
    a_breaker(engine)
    context = a_browser(chromium, live, olga)
    page = listening(context, "/admin")
    page.evaluate("window.sameDocument = true")
    yield page
    context.close()


def due(page: Page, number: int) -> None:
    expect(page.locator("#now")).to_contain_text(re.compile(rf"Due now\s*{number}\s*snooze"))


def refreshed(page: Page) -> None:
    """Returns once the page has asked for figures again, whatever it does with them."""
    with page.expect_response(lambda answer: answer.url.endswith("/admin") and answer.status == 200):
        pass


def test_new_figures_and_another_verdict_are_shown_without_a_reload_and_the_focus_stays(
    page: Page, engine: Engine
) -> None:
    expect(page.locator("#verdict-first")).to_contain_text("All is well")
    page.locator("#workers").evaluate("part => { part.isTheSame = true; }")
    page.get_by_role("link", name="Mailboxes", exact=True).first.focus()
    waits(engine)
    due(page, 3)
    expect(page.locator("#verdict-first")).to_contain_text("Reminders go out late")
    expect(page.locator("#watch-news")).to_contain_text("Reminders go out late")
    assert page.evaluate("document.activeElement.textContent") == "Mailboxes"
    assert page.evaluate("window.sameDocument")


def test_what_is_typed_in_it_is_not_replaced(page: Page, engine: Engine) -> None:
    page.locator("#trip-1 summary").click()
    page.get_by_label("Why?").fill("The relay is")
    expect(page.locator("#watch-state")).to_contain_text("Paused while something has the focus")
    waits(engine)
    # Another operator's page has the news by now.
    fresh = page.context.new_page()
    fresh.goto("/admin")
    due(fresh, 3)
    fresh.close()
    due(page, 0)
    page.keyboard.type(" moved")
    expect(page.get_by_label("Why?")).to_have_value("The relay is moved")
    # What is open stays open when the focus leaves it.
    page.locator("h1").click()
    due(page, 3)
    expect(page.locator("#trip-1")).to_have_attribute("open", "")


def test_it_pauses_while_text_is_selected_and_goes_on_after(page: Page, engine: Engine) -> None:
    page.locator("#now dt").first.select_text()
    expect(page.locator("#watch-state")).to_contain_text("Paused while something is selected")
    waits(engine)
    with page.expect_event("console", predicate=lambda one: one.text == "turn", timeout=60_000):
        page.evaluate(
            "() => { const source = new EventSource('/admin/live?seen=1:1:');"
            " let turns = 0; source.addEventListener('change', () => { turns += 1;"
            " if (turns === 2) { console.log('turn'); source.close(); } }); }"
        )
    due(page, 0)
    page.evaluate("getSelection().removeAllRanges()")
    due(page, 3)


def test_a_button_pauses_it(page: Page, engine: Engine) -> None:
    pause = page.get_by_role("button", name="Pause")
    pause.click()
    expect(pause).to_have_attribute("aria-pressed", "true")
    waits(engine)
    page.wait_for_timeout(10)
    expect(page.locator("#watch-state")).to_contain_text("Paused:")
    pause.click()
    due(page, 3)


def test_who_has_no_role_any_more_sees_no_figures(page: Page, engine: Engine, olga: Person) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET role = 'user' WHERE id = :id"), {"id": olga.id})
    expect(page.get_by_role("heading", level=1)).to_have_text("This page is not for your account")
    expect(page.locator("#now")).to_have_count(0)


def test_without_scripts_all_figures_are_there_and_a_mail_server_can_be_stopped(quiet: Opened, engine: Engine) -> None:
    all_is_well(engine)
    a_breaker(engine)
    sent(engine, ago=2 * MINUTE)
    chores.record_minutes(engine)
    page = quiet("/admin", java_script_enabled=False)
    expect(page.locator("#watch-state")).to_contain_text("Load the page again")
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    page.locator("#chart-hour-table summary").click()
    expect(page.locator("#chart-hour-table tbody tr")).to_have_count(60)
    page.locator("#trip-1 summary").click()
    page.get_by_label("Why?").fill("Moved")
    page.get_by_role("button", name="Stop sending by it").click()
    expect(page.locator("#verdict-first")).to_contain_text("Nothing is sent by mail.example:25")


def full(engine: Engine) -> None:
    """Something in each of its parts, with names that are long."""
    for number in (1, 2):
        a_worker(engine, f"worker-ant-{number}.internal.mail.example-31337-1a2b3c4d")
    a_worker(engine, "bee-2-991-77aabbcc", silent=40 * SECOND)
    housekeeping(engine)
    for number in range(9):
        held_by = "worker-ant-1.internal.mail.example-31337-1a2b3c4d" if number else "bee-2-991-77aabbcc"
        a_snooze(engine, claimed_by=held_by, claimed_at=now() - 2 * SECOND)
    an_uncertain_case(engine)
    waits(engine, reminders=12)
    reply = "the mail server greeted us with 421 4.3.2 Service not available, closing transmission channel"
    a_breaker(engine, state="open", failures=7, away_since=now() - 8 * MINUTE, last_failure=reply)
    a_breaker(engine, server="relay.example:587", last_success_at=now())
    a_mailbox(engine)
    for minutes in range(30):
        sent(engine, ago=minutes * MINUTE, late=minutes**3 * SECOND)
    chores.record_minutes(engine)


@pytest.mark.parametrize("filled", [True, False])
def test_it_fits_every_screen_and_axe_finds_nothing(opened: Opened, engine: Engine, filled: bool) -> None:
    if filled:
        full(engine)
    page = opened("/admin")
    for number in range(page.locator("#charts summary").count()):
        page.locator("#charts summary").nth(number).click()
    assert at_every_size(page) == []
    for width in (320, 360, 768, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
    assert len(page.content().encode()) < 100_000


def test_a_letter_behind_g_goes_to_the_operators_pages(opened: Opened, engine: Engine) -> None:
    page = opened("/admin")
    for keys, path in (("gc", "/admin/cases"), ("gm", "/admin/mailboxes"), ("go", "/admin")):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(re.compile(rf"{path}$"))
