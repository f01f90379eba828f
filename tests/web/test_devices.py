"""Devices that get notifications: subscribed by their browser, listed without their addresses, removed."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.notify.push_devices import MAX_DEVICES
from snoozer.notify.push_encryption import base64url
from tests.factories import People
from tests.push_service import Subscription, decoded

PUBLIC = "https://push.example/secret-address"
FIREFOX = {"User-Agent": "Mozilla/5.0 (Android 14; Mobile; rv:130.0) Gecko/130.0 Firefox/130.0"}


def fields(url: str = PUBLIC, **changes: str) -> dict[str, str]:
    public, auth = Subscription(url).keys
    return {"endpoint": url, "p256dh": public, "auth": auth} | changes


def listed(engine: Engine) -> list[tuple[str, bool]]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT name, shows_subject FROM push_devices ORDER BY id")).all()
    return [(row.name, row.shows_subject) for row in rows]


def test_a_device_is_listed_by_its_name_and_never_by_its_address(ann: FlaskClient, engine: Engine) -> None:
    answer = ann.post("/settings/devices", data=fields(subject="on"), headers=FIREFOX, follow_redirects=True)
    assert "This device shows when a message is back" in answer.text
    assert "Firefox on Android" in answer.text
    assert "secret-address" not in answer.text
    assert re.search(r'data-endpoint="[0-9a-f]{16}"', answer.text)
    assert listed(engine) == [("Firefox on Android", True)]


def test_the_key_is_made_by_the_first_who_asks_and_stays(ann: FlaskClient) -> None:
    first, second = (ann.post("/settings/devices/key").get_json() for _ in range(2))
    assert first == second
    assert len(decoded(first["key"])) == 65


def test_a_browser_that_subscribes_again_is_one_device(ann: FlaskClient, engine: Engine) -> None:
    same = fields()
    ann.post("/settings/devices", data=same)
    ann.post("/settings/devices", data={**same, "subject": "on"})
    assert [subject for _, subject in listed(engine)] == [True]


def test_a_browser_that_another_person_uses_since_is_that_persons(
    app: Flask, ann: FlaskClient, engine: Engine, people: People
) -> None:
    """What comes back for the first must not show on the screen of the second."""
    ann.post("/settings/devices", data=fields())
    browser = app.test_client()
    bob = people.ann("bob@snoozer.example")
    browser.set_cookie("snoozer_session", bob.session)
    browser.post("/settings/devices", data=fields())
    with engine.connect() as connection:
        assert connection.execute(text("SELECT account_id FROM push_devices")).scalars().all() == [bob.id]


def test_who_knows_an_address_alone_takes_no_device_over(
    app: Flask, ann: FlaskClient, engine: Engine, people: People
) -> None:
    ann.post("/settings/devices", data=fields())
    browser = app.test_client()
    eve = people.ann("eve@snoozer.example")
    browser.set_cookie("snoozer_session", eve.session)
    guessed = fields(auth=base64url(b"another 16 bytes"))
    assert browser.post("/settings/devices", data=guessed).status_code == 422
    with engine.connect() as connection:
        assert connection.execute(text("SELECT account_id FROM push_devices")).scalar_one() != eve.id


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": ""},
        {"endpoint": "http://push.example/1"},
        {"endpoint": "https://push.example:8080/1"},
        {"endpoint": "https://user@push.example/1"},
        {"endpoint": "https:///1"},
        {"endpoint": "https://push.example:port/1"},
        {"endpoint": "javascript:alert(1)"},
        {"endpoint": "https://push.example/a b"},
        {"endpoint": "https://push.example/1#fragment"},
        {"endpoint": "https://push.example/" + "x" * 1_000},
        {"endpoint": "https://püsh.example/1"},
        {"p256dh": ""},
        {"p256dh": "x" * 87},
        {"auth": ""},
        {"auth": "xxxx"},
    ],
)
def test_what_is_no_subscription_is_refused_in_words(changes: dict[str, str], ann: FlaskClient, engine: Engine) -> None:
    answer = ann.post("/settings/devices", data=fields(**changes))
    assert answer.status_code == 422
    assert "no subscription that can be used" in answer.get_json()["error"]
    assert listed(engine) == []


def test_an_account_has_ten_devices_at_most(ann: FlaskClient, engine: Engine) -> None:
    for number in range(MAX_DEVICES):
        assert ann.post("/settings/devices", data=fields(f"{PUBLIC}/{number}")).status_code == 303
    refused = ann.post("/settings/devices", data=fields(f"{PUBLIC}/one-more"))
    assert refused.status_code == 422
    assert "10 devices" in refused.get_json()["error"]
    assert ann.post("/settings/devices", data=fields(f"{PUBLIC}/3")).status_code == 303, "it is one of the ten"
    assert len(listed(engine)) == MAX_DEVICES


def test_the_subject_is_chosen_for_each_device(ann: FlaskClient, engine: Engine) -> None:
    ann.post("/settings/devices", data=fields())
    for choice, expected in (("on", True), ("off", False)):
        ann.post("/settings/devices/1/subject", data={"subject": choice})
        assert [subject for _, subject in listed(engine)] == [expected]
    assert ann.post("/settings/devices/7/subject", data={"subject": "on"}).status_code == 404


def test_a_device_is_removed_once_and_only_by_its_person(
    app: Flask, ann: FlaskClient, engine: Engine, people: People
) -> None:
    ann.post("/settings/devices", data=fields())
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.ann("bob@snoozer.example").session)
    browser.post("/settings/devices/1/remove")
    assert len(listed(engine)) == 1
    assert "no notifications any more" in ann.post("/settings/devices/1/remove", follow_redirects=True).text
    assert "removed already" in ann.post("/settings/devices/1/remove", follow_redirects=True).text
    assert listed(engine) == []


def test_a_device_whose_push_service_refuses_says_what_to_do(ann: FlaskClient, engine: Engine) -> None:
    ann.post("/settings/devices", data=fields())
    with engine.begin() as connection:
        connection.execute(text("UPDATE push_devices SET problem = 'refused'"))
    assert "switch it on again" in ann.get("/settings/devices").text


def test_a_device_goes_with_its_account(ann: FlaskClient, engine: Engine) -> None:
    ann.post("/settings/devices", data=fields())
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM accounts"))
    assert listed(engine) == []
