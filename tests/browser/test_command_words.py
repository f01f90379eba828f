"""Synonyms and typed times in the command bar."""

import re

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened
from tests.browser.rows import folders, letters

pytestmark = pytest.mark.browser

# With a message under the cursor: the typed text, and a part of the first offer.
ENGLISH = {
    "settings": "Go to Settings",
    "preferences": "Go to Settings",
    "vacation": "Go to Your day",
    "holiday": "Go to Your day",
    "out of office": "Go to Your day",
    "quiet hours": "Go to Your day",
    "do not disturb": "Go to Your day",
    "weekend": "Snooze: ",
    "work days": "Go to Your day",
    "tokens": "Go to Your programs",
    "api token": "Go to Your programs",
    "api key": "Go to Your programs",
    "api docs": "Go to API",
    "webhooks": "Go to Your webhooks",
    "notifications": "Go to Your devices",
    "push": "Go to Your devices",
    "feed": "Go to Your feeds",
    "calendar": "Go to Your feeds",
    "rss": "Go to Your feeds",
    "export": "Go to Export",
    "download my data": "Go to Export",
    "backup": "Go to Export",
    "import": "Go to Import",
    "restore": "Undo",
    "mailboxes": "Go to Your mailboxes",
    "connect gmail": "Go to Connect a mailbox",
    "devices": "Go to Your devices",
    "sessions": "Go to Signed in",
    "log out everywhere": "Go to Signed in",
    "delete account": "Go to Delete the account",
    "close my account": "Go to Delete the account",
    "history": "Go to Done",
    "archive": "Done",
    "help": "Show all keys",
    "shortcuts": "Show all keys",
    "keyboard shortcuts": "Show all keys",
    "undo": "Undo",
    "revert": "Undo",
    "sign out": "Sign out",
    "log out": "Sign out",
    "logout": "Sign out",
    "theme": "Colours:",
    "dark": "Colours: Dark",
    "dark mode": "Colours: Dark",
    "turn on dark theme": "Colours: Dark",
    "light": "Colours: Light",
    "language": "Go to Language",
    "german": "Go to Language",
    "timezone": "Go to Time zone",
    "time zone": "Go to Time zone",
    "change my time zone": "Go to Time zone",
    "select all": "Select all",
    "snooze": "Snooze",
    "remind": "Snooze",
    "postpone": "Snooze",
    "done": "Done",
    "search": "Search",
    "inbox": "Go to Mailbox",
    "presets": "Go to Usual times",
    "new reminder": "Go to Add",
    "asleep": "Go to Asleep",
    "admin": "Go to Admin",
    "tomorrow": "Snooze: Tomorrow",
    "friday 6pm": r"Snooze: .*(18|6):00",
    "in 3 hours": "Snooze: ",
    "remind me in 2 weeks": "Snooze: ",
    "snooze until monday 9:30": r"Snooze: .*9:30",
    "every friday at 8": "Snooze: Every Friday",
}
GERMAN = {
    "urlaub": "Dein Tag",
    "ruhezeiten": "Dein Tag",
    "abwesenheit": "Dein Tag",
    "abmelden": "Abmelden",
    "dunkel": "Dunkel",
    "sprache": "Sprache",
    "zeitzone": "Zeitzone",
    "benachrichtigungen": "Geräte",
    "kalender": "Feeds",
    "herunterladen": "Export",
    "konto löschen": "Konto löschen",
    "rückgängig": "Rückgängig",
    "tastenkürzel": "Tasten",
    "alle auswählen": "Alle auswählen",
    "einstellungen": "Einstellungen",
    "erledigt": "Erledigt",
    "später": "Zurückstellen",
    "sitzungen": "Angemeldet",
    "api-schlüssel": "Programme",
    "freitag 18 uhr": r"Zurückstellen: .*18",
    "erinnere mich morgen um 9": r"Zurückstellen: .*9",
}


def offered(page: Page, typed: str) -> str:
    """What Enter would do once the answer about a typed time is there."""
    page.locator("#commands input").fill(typed)
    expect(page.locator("#command-list li, #commands [data-none]:visible").first).to_be_visible()
    first = page.locator("#command-list li b").first
    return first.inner_text() if first.count() else ""


def not_found(page: Page, table: dict[str, str]) -> dict[str, str]:
    page.keyboard.press("j")
    page.keyboard.press("Control+k")
    found = {typed: offered(page, typed) for typed in table}
    return {typed: first for typed, first in found.items() if not re.search(table[typed], first)}


def test_what_people_type_is_found(opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    assert not_found(opened("/mailbox"), ENGLISH) == {}
    assert len(ENGLISH) > 60


def test_what_people_type_in_german_is_found(opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = opened("/mailbox")
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET locale = 'de_DE'"))
    page.reload()
    assert not_found(page, GERMAN) == {}


def test_names_have_no_counts(opened: Opened, engine: Engine) -> None:
    letters(engine, 2)
    page = opened("/mailbox")
    page.keyboard.press("Control+k")
    names = page.locator("#command-list b").all_inner_texts()
    assert "Go to Snoozed" in names
    assert [name for name in names if re.search(r"\d$", name)] == []


def test_a_typed_time_is_shown_and_saved_for_the_row(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = opened("/mailbox")
    page.keyboard.press("j")
    page.keyboard.press("Control+k")
    page.keyboard.type("in 3 days")
    option = page.get_by_role("option", name="Snooze: ")
    expect(option.last).to_contain_text("Letter 1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Asleep until")
    assert folders(engine) == {"1": "snoozed", "2": "inbox", "3": "inbox"}


def test_a_typed_time_is_for_all_that_are_selected(opened: Opened, engine: Engine) -> None:
    letters(engine, 3)
    page = opened("/mailbox")
    for key in ("j", "x", "j", "x", "Control+k"):
        page.keyboard.press(key)
    page.keyboard.type("in 3 days")
    expect(page.get_by_role("option", name="Snooze: ").last).to_contain_text("2")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator("#place [aria-busy]")).to_have_count(0)
    assert sorted(folders(engine).values()) == ["inbox", "snoozed", "snoozed"]


def test_a_typed_time_without_a_row_begins_a_reminder(opened: Opened) -> None:
    page = opened("/settings")
    page.keyboard.press("Control+k")
    page.keyboard.type("remind me on friday 6pm")
    expect(page.get_by_role("option", name="Add a reminder: ")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_title("Add · Snoozer")
    expect(page.get_by_label("When should it come back?")).to_have_value("friday 6pm")
    expect(page.get_by_label("What is it about?")).to_be_focused()
    page.keyboard.type("Call the bank")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Call the bank", exact=True)).to_be_visible()


@pytest.mark.parametrize("typed", ["dark", "sign out"])
def test_acts_of_every_page_are_done(typed: str, opened: Opened) -> None:
    page = opened("/settings/feeds")
    page.keyboard.press("Control+k")
    page.keyboard.type(typed)
    page.keyboard.press("Enter")
    if typed == "dark":
        expect(page.locator("html[data-theme=dark]")).to_have_count(1)
        assert page.url.endswith("/settings/feeds")
    else:
        expect(page.get_by_label("Mail address").first).to_be_visible()
