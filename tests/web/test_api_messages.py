"""A program asks for the state of many messages in one request, such as for a list of mail."""

from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import Engine, event

from tests.factories import HOUR, People, a_snooze, now

SNOOZES = "/api/v1/snoozes"


def test_each_message_has_its_live_or_newest_snooze_in_the_order_that_was_asked(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann, over = people.ann(), {"inactive": True, "finished_at": now(), "scheduled_for": now() - HOUR}
    live = a_snooze(engine, message_id="<live@x>", remind_at=now() + HOUR)
    a_snooze(engine, message_id="<live@x>", outcome="cancelled", **over)
    a_snooze(engine, message_id="<over@x>", outcome="cancelled", **over)
    newest = a_snooze(engine, message_id="<over@x>", outcome="sent", **over | {"scheduled_for": now() - 2 * HOUR})
    a_snooze(engine, message_id="<other@x>", remind_at=now() + HOUR)
    a_snooze(engine, user_email="bob@snoozer.example", message_id="<bob@x>", remind_at=now() + HOUR)
    asked = ["<over@x>", "<unknown@x>", "<live@x>", "<bob@x>", "<over@x>"]
    answer = client.get(SNOOZES, query_string={"message_id": asked}, headers=ann.bearer)
    assert answer.status_code == 200
    body = answer.get_json()
    assert [(one["message_id"], one["id"], one["state"]) for one in body["snoozes"]] == [
        ("<over@x>", newest, "sent"),
        ("<live@x>", live, "asleep"),
    ]
    assert body["next"] is None
    alone = client.get(SNOOZES, query_string={"message_id": "<live@x>"}, headers=ann.bearer).get_json()
    shown = client.get(f"{SNOOZES}/{live}", headers=ann.bearer).get_json()
    assert [(one["scheduled_for"], one["etag"]) for one in alone["snoozes"]] == [
        (shown["scheduled_for"], shown["etag"])
    ]
    nothing = client.get(SNOOZES, query_string={"message_id": "<unknown@x>"}, headers=ann.bearer)
    assert (nothing.status_code, nothing.get_json()["snoozes"]) == (200, [])


def test_an_answer_that_the_program_has_is_empty_until_a_snooze_changes(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    id = a_snooze(engine, message_id="<a@x>", remind_at=now() + HOUR)
    ask = {"query_string": {"message_id": ["<a@x>", "<b@x>"]}}
    etag = client.get(SNOOZES, **ask, headers=ann.bearer).headers["ETag"]
    known = {**ann.bearer, "If-None-Match": etag}
    same = client.get(SNOOZES, **ask, headers=known)
    assert (same.status_code, same.data, same.headers["ETag"]) == (304, b"", etag)
    a_snooze(engine, message_id="<b@x>", remind_at=now() + HOUR)
    added = client.get(SNOOZES, **ask, headers=known)
    assert (added.status_code, len(added.get_json()["snoozes"])) == (200, 2)
    known["If-None-Match"] = added.headers["ETag"]
    client.delete(f"{SNOOZES}/{id}", headers=ann.bearer)
    cancelled = client.get(SNOOZES, **ask, headers=known)
    assert [one["state"] for one in cancelled.get_json()["snoozes"]] == ["cancelled", "asleep"]


def test_the_etag_stays_while_only_the_distance_in_words_changes(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    """A late reminder is a little later at each request."""
    ann = people.ann()
    a_snooze(engine, message_id="<late@x>", remind_at=now() - HOUR)
    first, second = (client.get(f"{SNOOZES}?message_id=<late@x>", headers=ann.bearer) for _ in range(2))
    late = [answer.get_json()["snoozes"][0]["late_seconds"] for answer in (first, second)]
    assert late[0] < late[1]
    assert first.headers["ETag"] == second.headers["ETag"]


def test_fifty_messages_are_one_statement(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    for number in range(50):
        a_snooze(engine, message_id=f"<{number}@x>", remind_at=now() + HOUR)
    executed: list[str] = []

    def record(*given: Any) -> None:
        executed.append(given[2])

    event.listen(engine, "before_cursor_execute", record)
    try:
        ask = {"message_id": [f"<{number}@x>" for number in range(50)]}
        answer = client.get(SNOOZES, query_string=ask, headers=ann.bearer)
    finally:
        event.remove(engine, "before_cursor_execute", record)
    assert len(answer.get_json()["snoozes"]) == 50
    assert len([statement for statement in executed if "email_snoozes" in statement]) == 1
