"""The primary is lost while a person types, and its standby takes over: a sentence says so, nothing typed is lost."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import Engine, text

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from snoozer.settings import Settings
from snoozer.web import auth
from tests.api_sites import a_site
from tests.chaos.storm.conftest import pair
from tests.chaos.storm.ground import create_database
from tests.chaos.storm.replication import Pair
from tests.conftest import HANG_MILLISECONDS
from tests.factories import People, asked_for, the_row

__all__ = ["pair"]

pytestmark = pytest.mark.browser

AWAY = "The database cannot be reached"
NOTE = 'Call them, and say "no"\nBefore noon.'
Visit = Callable[..., Page]


@pytest.fixture
def both(pair: Pair) -> Iterator[Engine]:
    """A new database on the pair, by an address that names both servers."""
    pair.make_whole(synchronous=True)
    name = f"pages_{secrets.token_hex(4)}"
    create_database(pair.primary.url, name)
    engine = make_engine(parse_url(pair.url(name)), name="web")
    schema.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def visit(chromium: Browser, both: Engine, settings: Settings) -> Iterator[Visit]:
    """Opens a page as Ann, of a site on both servers."""
    ann, contexts = People(both).ann(), list[BrowserContext]()
    with a_site(both, settings) as at:

        def open_page(path: str, **options: Any) -> Page:
            context = chromium.new_context(base_url=at, service_workers="block", **options)
            contexts.append(context)
            context.set_default_timeout(HANG_MILLISECONDS)
            name = auth.cookie_name(settings.model_copy(update={"base_url": at}), "session")
            context.add_cookies([{"name": name, "value": ann.session, "url": at}])
            page = context.new_page()
            page.goto(path)
            return page

        yield open_page
        for context in contexts:
            context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_form_that_was_on_its_way_is_sent_again(visit: Visit, both: Engine, pair: Pair, scripts: bool) -> None:
    page = visit("/add", java_script_enabled=scripts)
    page.get_by_role("textbox", name="What is it about?").fill("The dentist")
    page.get_by_role("textbox", name="When should it come back?").fill("in 40 days")
    page.get_by_role("textbox", name="Note").fill(NOTE)
    save = page.get_by_role("button", name="Snooze", exact=True)
    if not scripts:
        page.get_by_role("button", name="Read it").click()
    expect(save).to_be_enabled()
    pair.kill_primary()
    save.click()
    expect(page.get_by_role("heading", name=AWAY)).to_be_visible()
    with page.expect_response(lambda response: response.status == 503):
        page.get_by_role("button", name="Send it again").click()
    expect(page.get_by_text("What you typed is not lost")).to_be_visible()
    pair.promote()
    page.get_by_role("button", name="Send it again").click()
    expect(page.get_by_role("status").first).to_contain_text("Asleep until")
    with both.connect() as connection:
        [row] = connection.execute(text("SELECT subject, note FROM email_snoozes")).all()
    assert (row.subject, row.note.splitlines()) == ("The dentist", NOTE.splitlines())


def test_a_note_that_could_not_be_saved_is_still_in_its_field(visit: Visit, both: Engine, pair: Pair) -> None:
    id = asked_for(both, "every monday 9am")
    page = visit(f"/snoozes/{id}")
    page.locator("#note > summary").click()
    page.get_by_role("textbox", name="Note").fill(NOTE)
    save = page.get_by_role("button", name="Save the note")
    pair.kill_primary()
    save.click()
    expect(page.locator(".toast").last).to_contain_text(f"Not saved. {AWAY}.")
    expect(page.get_by_role("textbox", name="Note")).to_have_value(NOTE)
    pair.promote()
    save.click()
    expect(page.locator(".toast").last).to_contain_text("The note is saved.")
    assert the_row(both, id).note.splitlines() == NOTE.splitlines()


def test_a_time_that_is_typed_meanwhile_is_read_once_it_can_be(visit: Visit, both: Engine, pair: Pair) -> None:
    id = asked_for(both, "in 30 days")
    before = the_row(both, id).remind_at
    page = visit("/")
    pair.kill_primary()
    page.keyboard.press("j")
    page.keyboard.press("b")
    field = page.get_by_role("textbox", name="When should it come back?")
    expect(field).to_be_focused()
    page.keyboard.type("in 40 days")
    expect(page.locator("#reading")).to_contain_text("The server cannot be reached.")
    pair.promote()
    expect(page.locator("#reading .reading-words")).to_be_visible()
    expect(field).to_have_value("in 40 days")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Asleep until")
    assert the_row(both, id).remind_at > before


def test_a_time_that_could_not_be_saved_is_still_in_the_sheet(visit: Visit, both: Engine, pair: Pair) -> None:
    id = asked_for(both, "in 30 days")
    before = the_row(both, id).remind_at
    page = visit("/")
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.keyboard.type("in 40 days")
    expect(page.locator("#reading .reading-words")).to_be_visible()
    pair.kill_primary()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text(f"Not saved: Quarterly figures. {AWAY}.")
    pair.promote()
    page.keyboard.press("b")
    expect(page.get_by_role("textbox", name="When should it come back?")).to_have_value("in 40 days")
    expect(page.locator("#reading .reading-words")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Asleep until")
    assert the_row(both, id).remind_at > before
