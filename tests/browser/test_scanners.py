"""Programs that open every link of a mail, run scripts and press buttons do nothing that one click cannot undo."""

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, text

from snoozer.mail import links
from tests.browser.conftest import Opened, Site
from tests.db.tables import checksum
from tests.factories import a_kept_message
from tests.web.reminders import a_link, a_sent_reminder

pytestmark = pytest.mark.browser

PAGES = ("", *(f"/{act}" for act in (*links.ACTS, links.STOP)))
BUTTONS = "main form[method=post] button[name=preset]:enabled, main form[method=post] button:not([name]):enabled"
STATE = """
SELECT
    (SELECT count(*) FROM email_snoozes WHERE NOT inactive) AS asleep,
    (SELECT folder FROM messages) AS folder
"""


@pytest.fixture
def link(site: Site, engine: Engine) -> str:
    a_kept_message(engine, message_id="<m@x>")
    return a_link(engine, site.settings, a_sent_reminder(engine, message_id="<m@x>"))


def state(engine: Engine) -> tuple[object, ...]:
    with engine.connect() as connection:
        return tuple(connection.execute(text(STATE)).one())


def test_a_browser_that_opens_every_link_and_runs_scripts_changes_nothing(
    link: str, opened: Opened, engine: Engine
) -> None:
    before = checksum(engine)
    for _ in range(2):
        for path in PAGES:
            page = opened(f"{link}{path}", signed_in=False)
            page.wait_for_load_state("networkidle")
            expect(page.locator("main")).to_be_visible()
    assert checksum(engine) == before


def test_each_button_that_a_program_presses_is_undone_by_one_click(link: str, opened: Opened, engine: Engine) -> None:
    before, pressed = state(engine), 0
    page = opened(link, signed_in=False, java_script_enabled=False)
    for path in PAGES:
        for number in range(_count(page, link + path)):
            page.goto(link + path)
            page.locator(BUTTONS).nth(number).click()
            pressed += 1
            page.get_by_role("button", name="Undo").first.click()
            expect(page.locator("main")).to_be_visible()
            assert state(engine) == before, (path, number)
    assert pressed > 2 * len(links.ACTS)


def _count(page: Page, path: str) -> int:
    page.goto(path)
    return page.locator(BUTTONS).count()
