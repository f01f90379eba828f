"""The audit log as a page: newest first, filtered, and strangers' text as text."""

import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import audit
from snoozer.db.audit import Entry
from snoozer.web.operators import audit as audit_page
from tests.factories import People


@pytest.fixture
def browser(client: FlaskClient, people: People) -> FlaskClient:
    client.set_cookie("snoozer_session", people.ann(role="viewer").session)
    return client


def an_act(engine: Engine, *entries: Entry, actor: str = "operator:7", act: str = "dismiss", reason: str = "x") -> None:
    with engine.begin() as connection:
        audit.append(connection, actor=actor, act=act, reason=reason, entries=entries)


def shown(browser: FlaskClient, query: str = "") -> list[str]:
    """The ids of the entries that the page shows."""
    return re.findall(r'<span class="quiet">#(\d+)</span>', browser.get(f"/admin/audit{query}").text)


def test_acts_are_shown_newest_first_by_pages(browser: FlaskClient, engine: Engine) -> None:
    assert "Nothing was done yet" in browser.get("/admin/audit").text
    an_act(engine, *[Entry(snooze_id=number) for number in range(1, 61)])
    first = shown(browser)
    assert first == [str(number) for number in range(60, 10, -1)]
    assert shown(browser, "?before=11") == [str(number) for number in range(10, 0, -1)]


def test_the_page_is_filtered_by_actor_act_snooze_and_time(browser: FlaskClient, engine: Engine) -> None:
    an_act(engine, Entry(snooze_id=3), Entry(snooze_id=4))
    an_act(engine, Entry(target="account:1"), actor="command", act="change_role")
    assert shown(browser, "?actor=command") == ["3"]
    assert shown(browser, "?actor=7") == shown(browser, "?actor=operator:7") == ["2", "1"]
    assert shown(browser, "?act=change_role&actor=&snooze=") == ["3"]
    assert shown(browser, "?snooze=4") == ["2"]
    assert shown(browser, "?since=2020-01-01T00:00&until=2020-01-02T00:00") == []
    assert shown(browser, "?since=2020-01-01T00:00&until=2199-01-01T00:00") == ["3", "2", "1"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        *(("snooze=x", 422), ("snooze=0", 422), (f"snooze={2**63}", 422), ("since=yesterday", 422)),
        *(("until=0001-01-01T00:00", 200), ("until=9999-12-31T23:59", 200), ("before=x", 404), ("before=0", 404)),
        *((f"before={2**64}", 404), ("actor=%00", 200), ("act=%ff%fe", 200), ("actor=%D9%A3", 200)),
    ],
)
def test_what_cannot_be_read_is_marked_or_not_found(
    browser: FlaskClient, engine: Engine, query: str, status: int
) -> None:
    an_act(engine, Entry())
    assert browser.get(f"/admin/audit?{query}").status_code == status


def test_a_page_comes_when_the_log_is_not_read_in_time(
    browser: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_page, "READ_SECONDS", 0.2)
    with engine.begin() as connection:
        connection.execute(text("LOCK TABLE audit_log IN ACCESS EXCLUSIVE MODE"))
        answer = browser.get("/admin/audit")
    assert (answer.status_code, "Not read in time" in answer.text) == (200, True)


def test_what_people_wrote_is_text(browser: FlaskClient, engine: Engine) -> None:
    hostile = "<script>alert(1)</script>"
    an_act(engine, Entry(target=hostile, before={hostile: hostile}, after={"a": hostile}), act=hostile, reason=hostile)
    page = browser.get(f"/admin/audit?act={hostile}").text
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 5
