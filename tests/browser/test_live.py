"""An open list learns of what others change: once, with nothing moved under a person's hand."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import Engine, text

from snoozer.delivery.chores.returns import return_due
from tests.browser.conftest import Opened
from tests.browser.live import a_browser, listening, site_with_streams
from tests.browser.rows import focused, hold, is_same, letters, release, shown, watched
from tests.browser.waiting import wait_for
from tests.factories import HOUR, People, a_kept_message, a_snooze, now
from tests.web.live_site import LiveSite

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def live(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with site_with_streams(postgres_url, tmp_path_factory.mktemp("live")) as site:
        yield site


@pytest.fixture
def one(chromium: Browser, live: LiveSite, people: People) -> Iterator[BrowserContext]:
    context = a_browser(chromium, live, people.ann())
    yield context
    context.close()


@pytest.fixture
def another(chromium: Browser, live: LiveSite, people: People) -> Iterator[BrowserContext]:
    context = a_browser(chromium, live, people.ann())
    yield context
    context.close()


def snoozed(engine: Engine, subject: str) -> int:
    """A kept message whose snooze is due in an hour."""
    a_kept_message(engine, subject=subject, message_id=f"<{subject}@mail.example>")
    id = a_snooze(engine, subject=subject, message_id=f"<{subject}@mail.example>", remind_at=now() + HOUR)
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'snoozed' WHERE snooze_id = :id"), {"id": id})
    return id


def bring_back(engine: Engine, *ids: int) -> None:
    due = "UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second' WHERE id = ANY(:ids)"
    with engine.begin() as connection:
        connection.execute(text(due), {"ids": [*ids]})
    return_due(engine)


def test_an_act_in_one_browser_is_seen_in_the_other(
    one: BrowserContext, another: BrowserContext, engine: Engine
) -> None:
    letters(engine, 4)
    here, there = watched(listening(one, "/mailbox")), watched(listening(another, "/mailbox"))
    there.keyboard.press("j")
    there.keyboard.press("j")
    here.keyboard.press("j")
    here.keyboard.press("e")
    expect(there.get_by_role("link", name="Letter 1", exact=True)).to_have_count(0)
    assert shown(there) == ["2", "3", "4"]
    assert focused(there) == "2"
    expect(here.get_by_text("Done.")).to_be_visible()
    here.keyboard.press("z")
    expect(there.get_by_role("link", name="Letter 1", exact=True)).to_be_visible()
    assert focused(there) == "2"
    assert is_same(here)
    assert is_same(there)


def test_what_came_back_is_on_top_announced_once_and_counted_in_the_title_until_it_is_seen(
    one: BrowserContext, engine: Engine
) -> None:
    first, second, third = (snoozed(engine, name) for name in ("First", "Second", "Third"))
    page = watched(listening(one, "/mailbox"))
    look(page, hidden=True)
    bring_back(engine, first)
    expect(page.get_by_role("status")).to_have_text("A message came back.")
    expect(page).to_have_title("(1) Mailbox: Inbox · Snoozer")
    assert shown(page) == ["First"]
    bring_back(engine, second, third)
    expect(page.get_by_role("status")).to_contain_text("2 messages came back.")
    expect(page).to_have_title("(3) Mailbox: Inbox · Snoozer")
    look(page, hidden=False)
    expect(page).to_have_title("Mailbox: Inbox · Snoozer")
    a_kept_message(engine, subject="New")
    expect(page.get_by_role("link", name="New", exact=True)).to_be_visible()
    expect(page.locator(".toast")).to_have_text("2 messages came back.")
    assert is_same(page)


def look(page: Page, *, hidden: bool) -> None:
    """Another tab is looked at, or this one again."""
    page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


def test_a_reminder_that_was_sent_leaves_what_is_asleep(one: BrowserContext, engine: Engine) -> None:
    id = a_snooze(engine, subject="Lease", remind_at=now() + HOUR)
    a_snooze(engine, subject="Later", remind_at=now() + 48 * HOUR)
    page = watched(listening(one, "/"))
    page.keyboard.press("j")
    page.keyboard.press("j")
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET inactive = TRUE, outcome = 'sent', finished_at = now() WHERE id = :id"),
            {"id": id},
        )
    expect(page.get_by_role("heading", name="Came back")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("A message came back.")
    assert focused(page) == "Later"
    assert is_same(page)


def test_a_banner_comes_and_goes_where_the_list_is_open(one: BrowserContext, engine: Engine) -> None:
    id = a_snooze(engine, subject="Lease", remind_at=now() + HOUR)
    page = watched(listening(one, "/"))
    late = "UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 hour' WHERE id = :id"
    for change, banners in ((late, 1), ("DELETE FROM email_snoozes WHERE id = :id", 0)):
        with engine.begin() as connection:
            connection.execute(text(change), {"id": id})
        expect(page.get_by_role("heading", name="A reminder is late")).to_have_count(banners)
    assert is_same(page)


HOLDS = {
    "a row is selected": (
        "document.querySelector('.row').insertAdjacentHTML('afterbegin', '<input type=checkbox checked>')",
        "const box = document.querySelector('.row [type=checkbox]'); box.checked = false; "
        "box.dispatchEvent(new Event('change', { bubbles: true }))",
    ),
    "a sheet is open": ("document.getElementById('sheet').showModal()", "document.getElementById('sheet').close()"),
    "a search is being typed": ("document.querySelector('[data-search]').focus()", "document.activeElement.blur()"),
    "a finger is down on a row": (
        "document.querySelector('.row').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))",
        "window.dispatchEvent(new PointerEvent('pointerup'))",
    ),
}


@pytest.mark.parametrize("why", HOLDS)
def test_nothing_moves_while(why: str, one: BrowserContext, engine: Engine) -> None:
    letters(engine, 3)
    page = watched(listening(one, "/mailbox"))
    begin, end = HOLDS[why]
    page.evaluate(begin)
    row = page.locator(".row", has_text="Letter 2").element_handle()
    assert row is not None
    other = listening(one, "/mailbox")
    a_kept_message(engine, subject="New")
    expect(other.get_by_role("link", name="New", exact=True)).to_be_visible()
    assert row.evaluate("row => row.isConnected")
    assert "New" not in shown(page)
    page.evaluate(end)
    expect(page.get_by_role("link", name="New", exact=True)).to_be_visible()
    assert is_same(page)


def test_what_came_on_top_moves_nothing_that_is_read_below(one: BrowserContext, engine: Engine) -> None:
    letters(engine, 40)
    page = watched(listening(one, "/mailbox"))
    page.get_by_role("link", name="Letter 30", exact=True).focus()
    before = page.get_by_role("link", name="Letter 30", exact=True).bounding_box()
    a_kept_message(engine, subject="New")
    wait_for(page, "() => document.querySelector('.row-title').textContent.trim() === 'New'")
    assert page.get_by_role("link", name="Letter 30", exact=True).bounding_box() == before
    assert focused(page) == "30"
    assert is_same(page)


def test_the_tabs_of_a_browser_share_a_stream_and_hand_it_on(one: BrowserContext, engine: Engine) -> None:
    letters(engine, 2)
    asked: list[str] = []
    one.on("request", lambda request: asked.append(request.url) if "/live?" in request.url else None)
    tabs = [listening(one, "/mailbox") for _ in range(8)]
    assert len(asked) == 1, "browsers open six connections to a host"
    a_kept_message(engine, subject="New")
    for tab in tabs:
        expect(tab.get_by_role("link", name="New", exact=True)).to_be_visible()
    tabs.pop(0).close()
    a_kept_message(engine, subject="Newer")
    for tab in tabs:
        expect(tab.get_by_role("link", name="Newer", exact=True)).to_be_visible()
    assert len(asked) == 2


def test_an_act_in_one_tab_keeps_its_undo_while_another_tab_refreshes(one: BrowserContext, engine: Engine) -> None:
    letters(engine, 3)
    here, there = listening(one, "/mailbox"), listening(one, "/mailbox")
    held = hold(here, "**/mailbox")
    here.keyboard.press("j")
    here.keyboard.press("e")
    expect(there.get_by_role("link", name="Letter 1", exact=True)).to_have_count(0)
    release(here, held)
    expect(here.get_by_role("button", name="Undo")).to_be_visible()


def test_its_own_acts_are_no_news_to_a_list(one: BrowserContext, engine: Engine) -> None:
    letters(engine, 3)
    page = watched(listening(one, "/mailbox"))
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url) if "snoozer-refresh" in request.headers else None)
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_text("Done.")).to_be_visible()
    a_kept_message(engine, subject="New")
    expect(page.get_by_role("link", name="New", exact=True)).to_be_visible()
    assert len(fetched) == 1


def test_a_list_that_cannot_be_fetched_stays_and_is_fetched_later(one: BrowserContext, engine: Engine) -> None:
    letters(engine, 3)
    page = watched(listening(one, "/mailbox"))
    page.route("**/mailbox", lambda route: route.fulfill(status=503, body="<h1>Away</h1>"))
    with page.expect_event("response", lambda response: response.status == 503):
        a_kept_message(engine, subject="New")
    assert shown(page) == ["1", "2", "3"]
    expect(page.locator(".toast")).to_have_count(0)
    page.unroute("**/mailbox")
    expect(page.get_by_role("link", name="New", exact=True)).to_be_visible()
    assert is_same(page)


def test_a_list_that_is_known_to_be_old_is_fetched_at_once_although_a_retry_waits(
    one: BrowserContext, engine: Engine
) -> None:
    """After a long outage the next retry is a minute away."""
    page = listening(one, "/mailbox")
    fetched = page.evaluate(
        """async () => {
          let fetched = 0;
          window.refreshList = async () => { fetched += 1; return false; };
          for (const expected of [1, 2]) {
            document.dispatchEvent(new CustomEvent("list:stale"));
            if (fetched !== expected) break;
            await new Promise((resolve) => setTimeout(resolve));
          }
          return fetched;
        }"""
    )
    assert fetched == 2


def test_signing_out_elsewhere_takes_the_lists_away(one: BrowserContext, engine: Engine) -> None:
    letters(engine, 3)
    pages = [listening(one, "/mailbox"), listening(one, "/")]
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM sessions"))
    for page in pages:
        expect(page.get_by_label("Your mail address")).to_be_visible()


def test_without_streams_a_list_asks_twice_a_minute(quiet: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = quiet("about:blank")
    page.clock.install()
    page.goto("/mailbox")
    watched(page)
    wait_for(page, "() => document.documentElement.dataset.listening === 'poll'")
    a_kept_message(engine, subject="New")
    page.clock.fast_forward(31_000)
    expect(page.get_by_role("link", name="New", exact=True)).to_be_visible()
    assert is_same(page)


def test_a_toast_that_another_browser_made_untrue_goes(
    one: BrowserContext, another: BrowserContext, engine: Engine
) -> None:
    letters(engine, 2)
    here = listening(one, "/mailbox")
    here.keyboard.press("j")
    here.keyboard.press("e")
    expect(here.locator(".toast")).to_contain_text("Done.")
    there = listening(another, "/mailbox?folder=done")
    there.get_by_label("To the inbox: Letter 1").dispatch_event("click")
    expect(here.get_by_role("link", name="Letter 1", exact=True)).to_be_visible()
    expect(here.locator(".toast")).to_have_count(0)
