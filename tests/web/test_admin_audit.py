"""The audit log as a page: newest first, filtered, and strangers' text as text."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import audit
from snoozer.db.audit import Entry
from snoozer.db.roles import LEAST_ROLE
from snoozer.web.operators import audit as audit_page
from snoozer.web.operators.audit_texts import ACTS
from tests.factories import People
from tests.web.cases import page, visible_text


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


def test_entries_are_words(browser: FlaskClient, engine: Engine) -> None:
    stopped_at = datetime(2026, 11, 26, 19, 24, 36, 73066, tzinfo=UTC)
    closed, opened = {"state": "closed", "tripped_at": None}, {"state": "open", "tripped_at": stopped_at}
    an_act(engine, Entry(target="breaker:mail.example:25", before=closed, after=opened), act="trip_breaker")
    an_act(engine, Entry(target="breaker:mail.example:25", before=opened, after=closed), act="reset_breaker")
    an_act(engine, Entry(target="account:3", before={"role": None}, after={"role": "admin"}), act="change_role")
    an_act(engine, Entry(target="account:3", before={"role": "viewer"}, after={"role": None}), act="change_group_role")
    an_act(engine, Entry(target="pause:1", after={"kind": "all", "value": None}), act="pause", actor="clock")
    case = {"outcome": "retired", "attempts": 5, "claimed_by": None, "remind_at": "2026-11-26T19:24:36+00:00"}
    an_act(engine, Entry(snooze_id=4, before=case, after={"outcome": None, "attempts": 0}), act="reactivate")
    an_act(engine, Entry(snooze_id=5, before=case, after={"outcome": None, "remind_at": stopped_at}), act="unknown_act")
    shown = page(browser, "/admin/audit")
    by, at = "… by operator 7: x", "Thursday 26 November 2026, 20:24:36"
    for words in (
        f"Stopped sending mail server mail.example:25 {by} sending from on to off; stopped since {at}",
        f"Sending again mail server mail.example:25 {by} sending from off to on; stopped since no longer {at}",
        f"Changed the role account 3 {by} role admin",
        f"Changed the role by groups account 3 {by} role no longer viewer",
        "Paused pause 1 … by the clock: x what everything",
        f"Reactivated snooze 4 {by} state from a case to open; attempts from 5 to 0",
        f"Unknown act snooze 5 {by} state from a case to open; next try from {at} to {at}",
    ):
        assert re.search(re.escape(words).replace("…", ".{10,99}"), visible_text(shown)), words
    assert not re.search(r"\bNone\b|\w_\w|\d\dT\d\d", visible_text(shown))


def test_every_act_of_the_product_has_words() -> None:
    """Also the acts of commands, of the clock and of sign-ins."""
    root, recorded = (
        Path(__file__).parents[2] / "snoozer",
        re.compile(r'audit\.append\([^)]*?act="(\w+)"|_audit\(connection, "(\w+)"'),
    )
    written = {one or other for path in root.rglob("*.py") for one, other in recorded.findall(path.read_text())}
    assert {"change_role", "print_sign_in", "erase_account"} <= written
    by_operators = {act for act in LEAST_ROLE if not act.startswith("view")}
    assert (written | by_operators) - ACTS.keys() == set()


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
