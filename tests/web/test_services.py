"""Services such as ntfy: added on the page of notifications, shown without their secrets, removed and brought back."""

import html
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.notify.push_devices import MAX_DEVICES
from snoozer.notify.services import SERVICES
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.factories import People
from tests.push_service import states

PAGE = "/settings/devices"
FIELDS = {
    "ntfy": {"url": "https://ntfy.example/my-very-secret-topic", "token": "tk_secret-token"},
    "gotify": {"url": "https://gotify.example", "token": "AbCdEf.123-secret"},
    "slack": {"url": "https://hooks.slack.example/services/T1/B1/secret-of-slack"},
    "teams": {"url": "https://teams.example/workflows/1/invoke?sig=secret-of-teams"},
    "telegram": {"token": "123:secret-of-telegram", "chat": "-1005550001234"},
    "apprise": {"url": "https://apprise.example/notify/secret-of-apprise"},
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"channels": tuple(SERVICES)})


def added(client: FlaskClient, service: str = "ntfy", **changes: str) -> str:
    form = FIELDS[service] | {"service": service} | changes
    answer = client.post(f"{PAGE}/services", data=form, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_each_service_is_added_and_shown_without_its_secrets(ann: FlaskClient, engine: Engine) -> None:
    for service in FIELDS:
        shown = added(ann, service)
    for service, fields in FIELDS.items():
        assert f"{SERVICES[service].label}, " in shown
        for value in fields.values():
            assert value == "https://gotify.example" or value not in shown
    assert "secret" not in shown
    assert "ntfy.example …opic" in shown
    with engine.connect() as connection:
        assert "secret" not in str(connection.execute(text("SELECT * FROM push_devices")).all())


def test_without_the_setting_there_is_no_form_and_nothing_is_added(
    engine: Engine, settings: Settings, people: People
) -> None:
    app = create_app(engine=engine, settings=settings.model_copy(update={"channels": ()}))
    app.config["WTF_CSRF_ENABLED"] = False
    client = app.test_client()
    client.set_cookie("snoozer_session", people.ann().session)
    assert "Another service" not in client.get(PAGE).text
    answer = client.post(f"{PAGE}/services", data={"service": "ntfy"} | FIELDS["ntfy"])
    assert (answer.status_code, "do not allow this service" in answer.text) == (422, True)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM push_devices")).scalar_one() == 0


@pytest.mark.parametrize("url", ["http://ntfy.example/a", "https://ntfy.example", "https://10.0.0.1:80/a", "a b", ""])
def test_an_address_that_cannot_be_used_is_refused_and_kept_in_its_field(url: str, ann: FlaskClient) -> None:
    answer = ann.post(f"{PAGE}/services", data={"service": "ntfy", "url": url, "token": "tk_typed"})
    assert answer.status_code == 422
    assert "no address of this service that can be used. It looks like https://ntfy.sh/topic." in answer.text
    assert f'value="{url}" aria-invalid="true"' in answer.text
    assert "tk_typed" not in answer.text


def test_one_address_is_added_once_and_the_limit_is_that_of_devices(ann: FlaskClient) -> None:
    added(ann)
    again = ann.post(f"{PAGE}/services", data=FIELDS["ntfy"] | {"service": "ntfy"})
    assert (again.status_code, "in the list already" in again.text) == (422, True)
    for number in range(MAX_DEVICES - 1):
        added(ann, url=f"https://ntfy.example/topic-{number}")
    full = ann.post(f"{PAGE}/services", data=FIELDS["slack"] | {"service": "slack"})
    assert (full.status_code, "Remove one first" in full.text) == (422, True)


def test_a_removed_service_comes_back_by_undo(ann: FlaskClient, engine: Engine) -> None:
    added(ann, subject="on")
    page = ann.post(f"{PAGE}/1/remove", follow_redirects=True).text
    assert "That service gets no notifications any more" in page
    assert "secret" not in page
    fields = {
        name: html.unescape(value)
        for name, value in re.findall(r'name="(service|sealed|subject)" value="([^"]*)"', page)
        if name != "service" or value == "ntfy"
    }
    assert (fields["service"], fields["subject"]) == ("ntfy", "on")
    assert "in the list again" in ann.post(f"{PAGE}/services", data=fields, follow_redirects=True).text
    with engine.connect() as connection:
        [row] = connection.execute(text("SELECT service, name, shows_subject FROM push_devices")).all()
    assert tuple(row) == ("ntfy", "ntfy.example …opic", True)
    changed = fields | {"sealed": fields["sealed"][:-8] + "AAAAAAA="}
    assert ann.post(f"{PAGE}/services", data=changed).status_code == 404


def test_the_service_of_another_person_cannot_be_tested_or_removed(
    app: Flask, ann: FlaskClient, engine: Engine, people: People
) -> None:
    added(ann)
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.ann("bob@snoozer.example").session)
    assert browser.post(f"{PAGE}/1/test").status_code == 404
    assert "removed already" in browser.post(f"{PAGE}/1/remove", follow_redirects=True).text
    assert "A test is on its way" in ann.post(f"{PAGE}/1/test", follow_redirects=True).text
    assert states(engine) == ["reserved"]


def test_the_page_says_why_a_service_gets_nothing(ann: FlaskClient, engine: Engine, settings: Settings) -> None:
    added(ann)
    for problem, words in (("refused", "Check its address and token"), ("key", "no longer be read here")):
        with engine.begin() as connection:
            connection.execute(text("UPDATE push_devices SET problem = :problem"), {"problem": problem})
        assert words in ann.get(PAGE).text
    site = create_app(engine=engine, settings=settings.model_copy(update={"channels": ("gotify",)})).test_client()
    cookie = ann.get_cookie("snoozer_session")
    assert cookie is not None
    site.set_cookie("snoozer_session", cookie.value)
    assert "do not allow this service" in site.get(PAGE).text


def test_an_operator_chooses_where_alarms_are_sent(ann: FlaskClient, engine: Engine) -> None:
    assert "Alarms, too" not in added(ann)
    assert ann.post(f"{PAGE}/1/alarms", data={"alarms": "on"}).status_code == 403
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET role = 'viewer'"))
    assert "Alarms, too" in ann.get(PAGE).text
    for alarms, words in (("on", "No alarms"), ("off", "Alarms, too")):
        shown = ann.post(f"{PAGE}/1/alarms", data={"alarms": alarms}, follow_redirects=True).text
        assert f">{words}</button>" in shown
    assert ann.post(f"{PAGE}/2/alarms", data={"alarms": "on"}).status_code == 404
