"""`snoozer.client` against the API itself, and against servers that fail."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from pydantic import BaseModel
from sqlalchemy import Engine

from snoozer.client import (
    ApiError,
    Client,
    Conflict,
    Failed,
    Invalid,
    NotFound,
    PreconditionFailed,
    Unauthorized,
    Unreachable,
    WaitTooLong,
    models,
)
from snoozer.settings import Settings
from tests.api_sites import Answer, a_script, a_site
from tests.factories import HOUR, People, a_snooze, asked_for, now, the_row
from tests.web.reminders import a_sent_reminder

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "programs.md"
SNOOZE = {
    "id": 7,
    "state": "asleep",
    "message_id": "<7@x>",
    "subject": "Lease",
    "sender_email": None,
    "note": None,
    "remind_at": "2027-03-21T09:00:00+01:00",
    "scheduled_for": "2027-03-21T09:00:00+01:00",
    "reading": "Sunday.",
    "repeats": None,
    "late_seconds": None,
    "late_because": None,
    "reply_policy": "keep",
    "reply_scope": "message",
    "at_any_hour": False,
    "links": {"self": "http://x/1", "page": "http://x/2"},
    "something_new": 1,
}


def answered(body: Any = SNOOZE, status: int = 200, **headers: str) -> Answer:
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode()


def problem(status: int, **headers: str) -> Answer:
    return answered(
        {"type": "about:blank", "title": "T", "status": status, "code": "c", "detail": "Why."}, status, **headers
    )


@pytest.fixture
def client(engine: Engine, settings: Settings, people: People) -> Iterator[Client]:
    token = people.ann().bearer["Authorization"].removeprefix("Bearer ")
    with a_site(engine, settings) as url, Client(url, token, attempts=1) as client:
        yield client


def test_a_snooze_from_the_first_to_the_last(client: Client, engine: Engine) -> None:
    made = client.snooze(subject="Lease", when="in 3 days", note="ask", zone="Europe/Berlin")
    assert (made.state, made.note, made.scheduled_for.tzinfo is not None) == ("asleep", "ask", True)
    at = datetime(2033, 5, 1, 8, tzinfo=UTC)
    moved = client.change(made.id, remind_at=at)
    assert (moved.scheduled_for, moved.note) == (at, "ask")
    assert client.change(made.id, note=None).note is None
    assert client.get(made.id).attempts == 0
    assert client.cancel(made.id).state == "cancelled"
    with pytest.raises(Conflict) as over:
        client.cancel(made.id)
    assert (over.value.code, over.value.status) == ("over", 409)
    assert the_row(engine, made.id).outcome == "cancelled"


def test_a_phrase_is_read_or_refused_with_others_that_would_do(client: Client) -> None:
    reading = client.when("friday 9am")
    assert (reading.kind, reading.at is not None) == ("instant", True)
    with pytest.raises(Invalid) as refused:
        client.when("frday 9am")
    assert refused.value.code
    assert "friday 9am" in refused.value.problem.suggestions


def test_all_pages_of_a_list_are_read_and_no_more_than_are_asked_for(client: Client, engine: Engine) -> None:
    ids = [a_snooze(engine, remind_at=now() + HOUR) for _ in range(5)]
    assert [snooze.id for snooze in client.list(page_size=2)] == ids[::-1]
    assert next(client.list(page_size=2)).id == ids[-1]
    assert list(client.list(state="sent")) == []
    asked = [a_snooze(engine, message_id=f"<{name}&b=c@x>", remind_at=now() + HOUR) for name in ("a", "b")]
    assert [snooze.id for snooze in client.list(message_id=["<a&b=c@x>", "<b&b=c@x>"])] == asked


def test_the_examples_of_the_guide_run_as_they_stand_there(
    engine: Engine,
    settings: Settings,
    people: People,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, many = re.findall(r"^```python\n(import os\n.+?)^```$", GUIDE.read_text(), re.M | re.S)
    monkeypatch.setenv("SNOOZER_TOKEN", people.ann().bearer["Authorization"].removeprefix("Bearer "))
    with a_site(engine, settings) as url:
        monkeypatch.setenv("SNOOZER_URL", url)
        for block in (one, many):
            exec(compile(block, str(GUIDE), "exec"), {})  # noqa: S102 - the page is ours
    first, listed, refused, missing, put_back, *found = capsys.readouterr().out.splitlines()
    assert first.startswith("1 ")
    assert listed == "1 Ask about the lease"
    assert "friday" in refused
    assert (missing, put_back, found) == ("4711 You have no snooze 4711.", "2", ["Call Ann", "Call Bob"])
    assert {the_row(engine, id).outcome for id in (1, 2, 3, 4)} == {"cancelled"}


def test_acts_are_done_to_the_state_that_was_seen_and_undone(client: Client, engine: Engine) -> None:
    id = asked_for(engine, "every day 9am")
    seen = client.get(id)
    skipped = client.skip(id, scheduled_for=seen.scheduled_for, if_match=seen.etag)
    assert skipped.scheduled_for > seen.scheduled_for
    with pytest.raises(PreconditionFailed):
        client.pause(id, if_match=seen.etag)
    assert client.undo(id, event=skipped.event).scheduled_for == seen.scheduled_for
    assert client.end(id, until=date(2040, 1, 1)).recurrence == {**(seen.recurrence or {}), "until": "2040-01-01"}
    assert [client.pause(id).state, client.resume(id).state] == ["paused", "asleep"]
    assert client.wake(id).scheduled_for <= seen.scheduled_for
    assert client.done(a_sent_reminder(engine)).state == "sent"


def test_an_act_whose_answer_is_lost_is_asked_for_again_by_the_same_key() -> None:
    with a_script(None, answered(), None, answered({"done": 1, "left": {}})) as server:
        client = Client(server.url, "t", sleep=lambda _: None)
        assert client.wake(7, if_match='"x"').id == 7
        assert client.undo_many("8f2c").done == 1
        client.close()
    keys = [headers["Idempotency-Key"] for _, _, headers, _ in server.requests]
    assert (keys[0], keys[2]) == (keys[1], keys[3])
    assert keys[0] != keys[2]
    assert [path for _, path, *_ in server.requests][::2] == ["/api/v1/snoozes/7/wake", "/api/v1/bulk/8f2c/undo"]
    assert server.requests[1][2]["If-Match"] == '"x"'


def test_one_key_is_one_snooze(client: Client) -> None:
    first, second = (client.snooze(subject="Backup", when="in 3 days", idempotency_key="nightly") for _ in range(2))
    assert first == second
    assert len(list(client.list())) == 1
    with pytest.raises(Invalid, match="another body"):
        client.snooze(subject="Other", when="in 3 days", idempotency_key="nightly")


def test_errors_are_of_what_the_server_says(client: Client, engine: Engine, settings: Settings) -> None:
    with pytest.raises(NotFound, match="no snooze 99"):
        client.get(99)
    with pytest.raises(Invalid) as invalid:
        client.snooze(subject="x", when="in 3 days", nonsense=1)
    assert [error.field for error in invalid.value.problem.errors] == ["nonsense"]
    assert client.request("GET", "/when", query={"phrase": "tomorrow"})["kind"] == "instant"
    with a_site(engine, settings) as url, Client(url, "snz_wrong") as stranger, pytest.raises(Unauthorized):
        stranger.get(1)


def test_a_lost_answer_is_asked_for_again_by_the_same_key() -> None:
    waits: list[float] = []
    with a_script(None, problem(500), problem(503), answered()) as server:
        client = Client(server.url, "t", sleep=waits.append)
        assert client.snooze(subject="Lease", when="friday").model_extra == {"something_new": 1}
        client.close()
    keys = {headers["Idempotency-Key"] for _, _, headers, _ in server.requests}
    assert (len(server.requests), len(keys)) == (4, 1)
    assert len({body for *_, body in server.requests}) == 1
    assert len(waits) == 3
    assert all(0.25 <= wait <= 0.75 * 2**number for number, wait in enumerate(waits))


def test_a_change_whose_answer_is_lost_is_not_sent_again_and_says_so() -> None:
    with a_script(None) as server, Client(server.url, "t", sleep=lambda _: None) as client:
        with pytest.raises(Unreachable) as lost:
            client.cancel(7)
        assert lost.value.may_be_done
    assert len(server.requests) == 1
    client = Client(server.url, "t", attempts=3, sleep=lambda _: None)
    with pytest.raises(Unreachable) as away:
        client.cancel(7)
    assert not away.value.may_be_done
    client.close()


def test_the_server_says_how_long_to_wait() -> None:
    waits: list[float] = []
    with (
        a_script(problem(429, Retry_After="7"), answered()) as server,
        Client(server.url, "t", sleep=waits.append) as client,
    ):
        assert client.change(7, note="x").id == 7
    assert waits == [7.0]


def test_a_wait_that_is_too_long_is_left_to_the_caller() -> None:
    waits: list[float] = []
    with (
        a_script(problem(429, Retry_After="3600")) as server,
        Client(server.url, "t", sleep=waits.append) as client,
        pytest.raises(WaitTooLong, match="Why") as refused,
    ):
        client.get(7)
    assert (refused.value.retry_after, waits, len(server.requests)) == (3600.0, [], 1)


def test_so_many_attempts_and_no_more() -> None:
    with (
        a_script(problem(502)) as server,
        Client(server.url, "t", attempts=3, sleep=lambda _: None) as client,
        pytest.raises(Failed),
    ):
        client.get(7)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "answer",
    [
        (302, {"Location": "http://elsewhere.example/"}, b""),
        (404, {"Content-Type": "text/html"}, b"<h1>A proxy</h1>"),
    ],
    ids=["a redirect", "a page"],
)
def test_what_is_no_answer_of_the_api_is_an_error_and_no_redirect_is_followed(answer: Answer) -> None:
    with (
        a_script(answer) as server,
        Client(server.url, "t") as client,
        pytest.raises(ApiError, match=str(answer[0])),
    ):
        client.get(7)
    assert len(server.requests) == 1


def test_the_next_page_is_asked_for_at_the_server_of_the_token() -> None:
    """Behind another name, `next` names BASE_URL: the token goes nowhere else."""
    first = {"snoozes": [SNOOZE], "next": "https://elsewhere.example/mail/api/v1/snoozes?limit=1&cursor=abc"}
    with (
        a_script(answered(first), answered({"snoozes": [], "next": None})) as server,
        Client(server.url, "t") as client,
    ):
        assert [snooze.id for snooze in client.list()] == [7]
    assert server.requests[1][1] == "/api/v1/snoozes?limit=1&cursor=abc"


@pytest.mark.parametrize("url", ["", "snooze.example.org", "ftp://x", "https://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="such as https://"):
        Client(url, "t")


MODELS = [
    "Snooze",
    "SnoozeHistory",
    "SnoozePage",
    "Send",
    "Reading",
    "Links",
    "Problem",
    "FieldError",
    "BulkReply",
    "BulkResult",
    "Undone",
]


def kinds(schema: dict[str, Any], names: dict[str, Any]) -> set[str]:
    """The types of JSON that a schema allows."""
    if "$ref" in schema:
        return kinds(names[schema["$ref"].rpartition("/")[2]], names)
    if "anyOf" in schema:
        return {kind for each in schema["anyOf"] for kind in kinds(each, names)}
    if "enum" in schema or "const" in schema:
        return {"string"}
    named = {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    return {"number" if kind == "integer" else kind for kind in named}


def test_the_models_agree_with_the_description(app: Flask) -> None:
    """Each field of the client is one of the API, of its types; what the API may leave out has a default here."""
    described = app.test_client().get("/api/v1/openapi.json").get_json()["components"]["schemas"]
    for name in MODELS:
        model: type[BaseModel] = getattr(models, name)
        own = model.model_json_schema()
        [theirs] = [schema for title, schema in described.items() if title.partition(".")[0] == name]
        for field, schema in own["properties"].items():
            assert field in theirs["properties"], (name, field)
            wanted = kinds(theirs["properties"][field], described)
            assert kinds(schema, own.get("$defs", {})) == wanted, (name, field)
        assert set(own.get("required", ())) <= set(theirs["required"]), name
