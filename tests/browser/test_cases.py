"""The operators' list of cases by the keyboard, and its live refresh."""

import re
from datetime import timedelta

from playwright.sync_api import Page, expect
from sqlalchemy import Engine, text

from tests.browser.conftest import Opened
from tests.factories import a_snooze, now

# In place of the half minute between two refreshes.
REFRESH = "window.refreshList()"


def a_case(engine: Engine, *, minutes: int, error: str = "rcpt: 550 5.1.1 no") -> int:
    at = now() - timedelta(minutes=minutes)
    return a_snooze(engine, inactive=True, outcome="retired", finished_at=at, remind_at=at, last_error=error)


def press(page: Page, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_cases_are_moved_through_selected_and_reactivated_by_keys(opened: Opened, engine: Engine) -> None:
    first, second, _ = (a_case(engine, minutes=minutes) for minutes in (1, 2, 3))
    page = opened("/admin/cases")
    press(page, "jj")
    expect(page.get_by_role("link", name=f"Case {second}", exact=True)).to_be_focused()
    press(page, "k")
    expect(page.get_by_role("link", name=f"Case {first}", exact=True)).to_be_focused()
    press(page, "xjjx")
    expect(page.get_by_text("2 cases selected")).to_be_visible()
    press(page, "r")
    expect(page.get_by_role("heading", name="Reactivate 2 cases?")).to_be_visible()
    page.go_back()
    page.goto("/admin/cases")
    press(page, "jjr")
    expect(page.get_by_role("heading", name="Reactivate 1 case?")).to_be_visible()
    assert page.locator("input[name=id]").get_attribute("value") == str(second)
    page.goto("/admin/cases")
    press(page, "/")
    expect(page.locator("#q")).to_be_focused()
    page.locator("#q").press("Escape")
    page.locator("#q").blur()
    press(page, "?")
    expect(page.get_by_text("Reactivate the case, or all that are selected")).to_be_visible()


def test_keys_lead_from_a_case_to_those_beside_it(opened: Opened, engine: Engine) -> None:
    first, second = (a_case(engine, minutes=minutes) for minutes in (1, 3))
    a_case(engine, minutes=2, error="rcpt: 451 4.7.1 later")
    page = opened("/admin/cases?class=5xx")
    press(page, "j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/admin/cases/{first}?class=5xx")
    press(page, "j")
    page.wait_for_url(f"**/admin/cases/{second}?class=5xx")
    press(page, "j")
    expect(page.get_by_text("This is the last message of its list.")).to_be_visible()
    press(page, "k")
    page.wait_for_url(f"**/admin/cases/{first}?class=5xx")
    press(page, "r")
    expect(page.get_by_label("Why stands in the paper trail")).to_be_focused()
    page.get_by_label("Why stands in the paper trail").blur()
    press(page, "u")
    page.wait_for_url("**/admin/cases?class=5xx")


def test_the_list_is_refreshed_but_not_while_something_is_selected(opened: Opened, engine: Engine) -> None:
    a_case(engine, minutes=10)
    page = opened("/admin/cases")
    expect(page.get_by_text("refreshed every 30 s")).to_be_visible()
    newer = a_case(engine, minutes=5)
    page.evaluate(REFRESH)
    expect(page.get_by_role("link", name=f"Case {newer}", exact=True)).to_be_visible()
    press(page, "jx")
    expect(page.get_by_text("not refreshed while cases are selected")).to_be_visible()
    newest = a_case(engine, minutes=1)
    page.evaluate(REFRESH)
    assert page.get_by_role("link", name=f"Case {newest}", exact=True).count() == 0
    page.get_by_role("button", name="Clear").click()
    page.evaluate(REFRESH)
    expect(page.get_by_role("link", name=f"Case {newest}", exact=True)).to_be_visible()


def test_a_hostile_case_is_text_in_the_browser_and_500_are_pages(opened: Opened, engine: Engine) -> None:
    a_case(engine, minutes=1, error="550 <img src=x onerror=alert(1)> \u202e" + "x" * 10_000)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes"
                " (user_email, message_id, remind_at, inactive, outcome, finished_at, last_error)"
                " SELECT 'p' || n || '@x.example', n || '@m', now(), TRUE, 'retired', now() - n * INTERVAL '1 hour',"
                " '451 4.7.1 wait ' || n FROM generate_series(1, 500) AS n"
            )
        )
    page = opened("/admin/cases", width=360)
    assert page.locator("main img").count() == 0
    assert page.locator("[data-row]").count() == 50
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page.get_by_role("link", name="Older cases").click()
    page.wait_for_url(re.compile("before="))
    page.get_by_role("link", name="Newer cases").click()
    page.wait_for_url(re.compile("after="))
    assert page.locator("[data-row]").count() == 50
