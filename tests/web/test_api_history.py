"""What became of a snooze, page by page; search; settings, presets and mailboxes."""

from datetime import time
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.queue import events
from snoozer.snoozes import chosen_shape
from snoozer.timephrase.day_shape import DayShape
from tests.factories import HOUR, People, Person, a_mailbox, a_snooze, asked_for, now
from tests.web.reminders import a_sent_reminder


@pytest.fixture
def ann(people: People) -> Person:
    return people.ann()


def pages(client: FlaskClient, person: Person, path: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    url: str | None = f"/api/v1{path}"
    while url:
        page = client.get(url.removeprefix("http://snoozer.example"), headers=person.bearer).get_json()
        found += page[name]
        url = page["next"]
    return found


def test_events_are_paged_newest_first_without_addresses_and_names(
    client: FlaskClient, ann: Person, people: People, engine: Engine
) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        for number in range(5):
            detail = {"error": f"550 <ann{number}@mail.example> unknown", "token": "secret", "worker": "host-1"}
            events.append(connection, snooze_id=id, kind="failed", actor="host-1-abc", route="worker", **detail)
    found = pages(client, ann, f"/snoozes/{id}/events?limit=2", "events")
    assert [one["id"] for one in found] == sorted((one["id"] for one in found), reverse=True)
    assert len(found) == 5
    assert {one["by"] for one in found} == {"worker"}
    assert not {"ann0", "host-1", "secret"} & set(str(found).replace("@", " ").replace("<", " ").split("'"))
    assert "mail.example" not in str(found)
    eve = people.ann(email="eve@snoozer.example")
    assert client.get(f"/api/v1/snoozes/{id}/events", headers=eve.bearer).status_code == 404
    assert client.get(f"/api/v1/snoozes/{id}/sends", headers=eve.bearer).status_code == 404


def test_sends_are_paged(client: FlaskClient, ann: Person, engine: Engine) -> None:
    id = a_sent_reminder(engine)
    [send] = pages(client, ann, f"/snoozes/{id}/sends?limit=1", "sends")
    assert send["state"] == "sent"
    assert ann.email not in str(send)


def test_a_search_finds_what_the_page_finds(client: FlaskClient, ann: Person, engine: Engine) -> None:
    for number in range(3):
        a_snooze(engine, subject=f"Invoice {number}", remind_at=now() + (3 - number) * HOUR)
    a_snooze(engine, subject="Plants", remind_at=now() + HOUR)
    asked_for(engine, "every day 9am")
    found = pages(client, ann, "/snoozes?q=subject:invoice&limit=2", "snoozes")
    assert [one["subject"] for one in found] == ["Invoice 2", "Invoice 1", "Invoice 0"]
    assert found[0]["etag"] == client.get(f"/api/v1/snoozes/{found[0]['id']}", headers=ann.bearer).headers["ETag"]
    assert len(pages(client, ann, "/snoozes?q=repeats:", "snoozes")) == 1
    for wrong in ("q=state:nonsense", "q=due:never", "q=", "q=a&state=asleep", f"q={'x' * 201}"):
        refused = client.get(f"/api/v1/snoozes?{wrong}", headers=ann.bearer)
        assert (refused.status_code, [one["field"] for one in refused.get_json()["errors"]]) == (422, ["q"]), wrong


def test_settings_are_read_and_changed_by_the_validation_of_the_pages(
    client: FlaskClient, ann: Person, engine: Engine
) -> None:
    seen = client.get("/api/v1/settings", headers=ann.bearer)
    assert seen.get_json()["zone"] == "Europe/Berlin"
    asked_for(engine, "every day 9am")

    def patch(**body: Any) -> Any:
        return client.patch("/api/v1/settings", json=body, headers={**ann.bearer, "If-Match": etag})

    etag = seen.headers["ETag"]
    for wrong in ({"zone": "Nowhere/At_All"}, {"locale": "xx_XX"}, {"zone": "America/New_York"}, {"moving": "up"}):
        assert patch(**wrong).status_code == 422, wrong
    changed = patch(zone="America/New_York", moving="keep")
    assert changed.get_json()["zone"] == "America/New_York"
    assert patch(locale="de_DE").status_code == 412
    etag = changed.headers["ETag"]
    assert etag == client.get("/api/v1/settings", headers=ann.bearer).headers["ETag"]
    assert patch(locale="de_DE").get_json()["locale"] == "de_DE"


def test_presets_are_replaced_and_reset(client: FlaskClient, ann: Person) -> None:
    def put(presets: object) -> Any:
        return client.put("/api/v1/settings/presets", json={"presets": presets}, headers=ann.bearer)

    usual = client.get("/api/v1/settings/presets", headers=ann.bearer).get_json()
    assert not usual["own"]
    own = put([{"label": "Soon", "phrase": "in 2 hours"}, {"phrase": "tomorrow 8am"}]).get_json()
    assert own["presets"] == [
        {"label": "Soon", "phrase": "in 2 hours"},
        {"label": "tomorrow 8am", "phrase": "tomorrow 8am"},
    ]
    wrongs: tuple[object, ...] = ([], [{"phrase": "gibberish"}], [{"label": "x"}], [5], 13 * [{"phrase": "tomorrow"}])
    for wrong in wrongs:
        assert put(wrong).status_code == 422, wrong
    assert client.delete("/api/v1/settings/presets", headers=ann.bearer).get_json() == usual


def test_the_day_is_replaced_as_a_whole(client: FlaskClient, ann: Person, engine: Engine) -> None:
    url = "/api/v1/settings/day"

    def put(**body: Any) -> Any:
        return client.put(url, json=body, headers={**ann.bearer, "If-Match": etag})

    unchosen = client.get(url, headers=ann.bearer)
    etag = unchosen.headers["ETag"]
    night = {"quiet_from": "22:00", "quiet_until": "07:00", "working_days": [1, 2, 4], "gathers_over": 3}
    saved = put(**night)
    assert saved.get_json() == unchosen.get_json() | night
    assert put(**night).status_code == 412
    etag = saved.headers["ETag"]
    read = client.get(url, headers=ann.bearer)
    assert (read.get_json(), read.headers["ETag"]) == (saved.get_json(), etag)
    with engine.connect() as connection:
        shape = chosen_shape.find(connection, account_id=ann.id)
    assert shape == DayShape(
        working_days=frozenset({1, 2, 4}), quiet_from=time(22), quiet_until=time(7), gathers_over=3
    )
    assert put(**read.get_json()).get_json() == read.get_json()
    assert put().get_json() == unchosen.get_json()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"quiet_from": "22:00"}, "quiet_until"),
        ({"quiet_from": "10pm", "quiet_until": "07:00"}, "quiet_from"),
        ({"work_until": None}, "work_until"),
        ({"working_days": []}, "working_days"),
        ({"working_days": [0]}, "working_days"),
        ({"working_days": [1, 1]}, "working_days"),
        ({"gathers_over": 2}, "gathers_over"),
        ({"rests_on_days_off": "yes"}, "rests_on_days_off"),
        ({"away_from": "2027-02-30", "back_on": "2027-03-04"}, "away_from"),
        ({"away_from": "2001-01-01", "back_on": "2001-01-09"}, "back_on"),
        ({"bedtime": "22:00"}, "bedtime"),
    ],
)
def test_a_day_that_makes_no_sense_names_its_field(
    client: FlaskClient, ann: Person, body: dict[str, object], field: str
) -> None:
    before = client.get("/api/v1/settings/day", headers=ann.bearer).get_json()
    refused = client.put("/api/v1/settings/day", json=body, headers=ann.bearer)
    assert refused.status_code == 422
    assert [one["field"] for one in refused.get_json()["errors"]] == [field]
    assert client.get("/api/v1/settings/day", headers=ann.bearer).get_json() == before


def test_mailboxes_are_listed_without_secrets(client: FlaskClient, ann: Person, people: People, engine: Engine) -> None:
    id = a_mailbox(engine)
    [listed] = client.get("/api/v1/mailboxes", headers=ann.bearer).get_json()["mailboxes"]
    assert listed == client.get(f"/api/v1/mailboxes/{id}", headers=ann.bearer).get_json()
    assert not {"secret", "username", "password", "login_method"} & set(listed)
    eve = people.ann(email="eve@snoozer.example")
    assert client.get(f"/api/v1/mailboxes/{id}", headers=eve.bearer).status_code == 404
    assert client.get("/api/v1/mailboxes", headers=eve.bearer).get_json() == {"mailboxes": []}


@pytest.mark.parametrize(("method", "path"), [("GET", "/nope"), ("POST", "/when"), ("PUT", "/snoozes/1"), ("GET", "")])
def test_what_is_no_route_is_a_problem(client: FlaskClient, ann: Person, method: str, path: str) -> None:
    answer = client.open(f"/api/v1{path}", method=method, headers=ann.bearer)
    assert answer.mimetype == "application/problem+json"
    assert answer.status_code in {404, 405}
