"""Pages and API of webhooks: an endpoint is added, shown with what it got, and switched, by its owner alone."""

import re
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.notify.send_loop import drain
from snoozer.settings import Settings
from tests.factories import HOUR, People, Person, a_snooze, now
from tests.web.problems import is_problem
from tests.webhook_receiver import Answer, Receiver, a_failed_webhook, an_endpoint, deliveries, the_endpoint, the_sender

PAGE = "/settings/webhooks"
API = "/api/v1/webhooks"
URL = "https://hooks.example/1"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def person(people: People) -> Person:
    return people.ann()


def test_a_webhook_is_added_its_secret_shown_once_and_it_is_removed(ann: FlaskClient, engine: Engine) -> None:
    answer = ann.post(PAGE, data={"url": URL, "event": ["sent", "due"], "subject": "on"})
    assert answer.status_code == 200
    [secret] = re.findall(r'value="(whsec_[A-Za-z0-9+/=]{44})"', answer.text)
    assert secret not in ann.get(PAGE).text
    row = the_endpoint(engine, 1)
    assert (row.url, row.events, row.shows_subject) == (URL, ["due", "sent"], True)
    page = ann.get(f"{PAGE}/1").text
    assert URL in page
    assert "whsec" not in page
    [new] = re.findall(r'value="(whsec_[A-Za-z0-9+/=]{44})"', ann.post(f"{PAGE}/1/secret").text)
    assert new != secret
    assert ann.post(f"{PAGE}/1/remove").status_code == 303
    assert ann.get(f"{PAGE}/1").status_code == 404


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"url": "http://hooks.example/", "event": "sent"}, "begins with https://"),
        ({"url": "https://10.0.0.1:8443/", "event": "sent"}, "begins with https://"),
        ({"url": URL}, "at least one event"),
        ({"url": URL, "event": "nonsense"}, "at least one event"),
    ],
)
def test_what_cannot_be_added_is_shown_and_what_was_typed_stays(
    form: dict[str, str], words: str, ann: FlaskClient, engine: Engine
) -> None:
    answer = ann.post(PAGE, data=form)
    assert answer.status_code == 422
    assert words in answer.text
    assert f'value="{form["url"]}"' in answer.text


def test_events_are_chosen_and_a_webhook_is_switched(ann: FlaskClient, engine: Engine) -> None:
    an_endpoint(engine, account_id=1)
    assert ann.post(f"{PAGE}/1/events", data={"event": "stuck"}).status_code == 303
    assert the_endpoint(engine, 1).events == ["stuck"]
    assert ann.post(f"{PAGE}/1/events", data={}).status_code == 422
    assert ann.post(f"{PAGE}/1/switch", data={"to": "off"}).status_code == 303
    assert the_endpoint(engine, 1).off_reason == "owner"
    assert "was switched off" not in ann.get("/settings").text, "they know"
    assert ann.post(f"{PAGE}/1/switch", data={"to": "on"}).status_code == 303
    assert the_endpoint(engine, 1).is_on


def test_an_answer_is_shown_as_text_and_what_failed_is_sent_again_by_hand(
    ann: FlaskClient, engine: Engine, receiver: Receiver, settings: Settings
) -> None:
    an_endpoint(engine, account_id=1, url=receiver.url(), keys=settings.keys)
    receiver.answers["/hook"] = [Answer(410, b"<script>alert(1)</script>" + b"x" * 3000)]
    assert ann.post(f"{PAGE}/1/test").status_code == 303
    sender = the_sender(engine, keys=settings.keys)
    drain(sender)
    page = ann.get(f"{PAGE}/deliveries/1").text
    assert "&lt;script&gt;" in page
    assert "<script>alert" not in page
    assert "webhook.test" in page
    assert deliveries(engine)[0].answer.count("x") < 2000
    assert "was switched off" in ann.get("/settings").text, "every page says so"
    assert "answered 410" in ann.get(f"{PAGE}/1").text
    ann.post(f"{PAGE}/1/switch", data={"to": "on"})
    assert ann.post(f"{PAGE}/deliveries/1/resend").status_code == 303
    drain(sender)
    assert [row.state for row in deliveries(engine)] == ["delivered"]


def test_pages_of_deliveries_go_on(ann: FlaskClient, engine: Engine) -> None:
    an_endpoint(engine, account_id=1, events=("created",))
    for _ in range(51):
        a_snooze(engine, remind_at=now() + HOUR)
    page = ann.get(f"{PAGE}/1").text
    assert page.count("/deliveries/") == 50
    [before] = re.findall(r"before=(\d+)", page)
    assert ann.get(f"{PAGE}/1?before={before}").text.count("/deliveries/") == 1
    assert ann.get(f"{PAGE}/1?before=nonsense").status_code == 200


def test_a_program_has_webhooks_from_the_first_to_the_last(client: FlaskClient, engine: Engine, person: Person) -> None:
    made = client.post(API, json={"url": URL, "events": ["sent", "due"]}, headers=person.bearer)
    assert made.status_code == 201
    body = made.get_json()
    assert body["secret"].startswith("whsec_")
    path = f"{API}/{body['id']}"
    shown = client.get(path, headers=person.bearer).get_json()
    assert "secret" not in shown
    assert (shown["events"], shown["enabled"], shown["off_reason"]) == (["due", "sent"], True, None)
    assert client.get(API, headers=person.bearer).get_json() == {"webhooks": [shown]}
    changed = client.patch(path, json={"enabled": False, "subject": True}, headers=person.bearer).get_json()
    assert (changed["enabled"], changed["off_reason"], changed["subject"]) == (False, "owner", True)
    is_problem(client.post(f"{path}/test", headers=person.bearer), 409, "not_sent")
    client.patch(path, json={"enabled": True, "events": ["created"]}, headers=person.bearer)
    assert client.post(f"{path}/test", headers=person.bearer).get_json()["type"] == "webhook.test"
    for _ in range(2):
        a_snooze(engine, remind_at=now() + HOUR)
    page = client.get(f"{path}/deliveries?limit=2", headers=person.bearer).get_json()
    assert [one["type"] for one in page["deliveries"]] == ["snooze.created"] * 2
    rest = client.get(page["next"], headers=person.bearer).get_json()
    assert [one["type"] for one in rest["deliveries"]] == ["webhook.test"]
    assert rest["next"] is None
    assert client.post(f"{path}/rotate", headers=person.bearer).get_json()["secret"] != body["secret"]
    assert client.delete(path, headers=person.bearer).status_code == 200
    is_problem(client.get(path, headers=person.bearer), 404, "not_found")


def test_a_program_is_refused_what_makes_no_sense(client: FlaskClient, engine: Engine, person: Person) -> None:
    for body in (
        {"url": "http://hooks.example/", "events": ["due"]},
        {"url": URL, "events": []},
        {"url": URL, "events": ["nonsense"]},
        {"url": URL},
        {"url": URL, "events": ["due"], "more": 1},
    ):
        is_problem(client.post(API, json=body, headers=person.bearer), 422, "invalid_fields")
    an_endpoint(engine, account_id=person.id, url=URL)
    is_problem(client.post(API, json={"url": URL, "events": ["due"]}, headers=person.bearer), 409, "no_room")
    is_problem(client.get(f"{API}/1/deliveries?cursor=x", headers=person.bearer), 422, "invalid_fields")
    is_problem(client.patch(f"{API}/1", json={}, headers=person.bearer), 422, "invalid_fields")


def test_a_program_sends_something_again(client: FlaskClient, engine: Engine, person: Person) -> None:
    _, delivery = a_failed_webhook(engine, url=URL, answer="no")
    path = f"{API}/deliveries/{delivery}/resend"
    is_problem(client.post(path, headers=person.bearer), 409, "not_sent")
    client.patch(f"{API}/1", json={"enabled": True}, headers=person.bearer)
    assert client.post(path, headers=person.bearer).get_json()["state"] == "waiting"
    is_problem(client.post(f"{API}/deliveries/999/resend", headers=person.bearer), 404, "not_found")
