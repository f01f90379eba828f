"""Triage: what operators see of cases."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text, update

from snoozer.db.models import Send
from snoozer.queue import events, ledger, queue, workers
from snoozer.queue.reminder import UncertainPolicy
from tests.factories import HOUR, a_snooze, now
from tests.web.cases import CANARY, an_uncertain_case, page, visible_text


def test_nothing_of_the_message_or_its_owner_is_shown(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    id = a_case(
        user_email="secret.person@private.example",
        sender_email="secret.sender@private.example",
        subject="SECRETSUBJECT",
        note="SECRETNOTE",
        last_error="rcpt: 550 <secret.person@private.example> unknown",
        last_error_at=now(),
    )
    with engine.begin() as connection:
        events.append(connection, snooze_id=id, kind="noted", actor="user", route="web", note="SECRETNOTE")
        terms = {"before": {"note": "SECRETNOTE"}, "after": {"note": "SECRETNOTE"}}
        events.append(connection, snooze_id=id, kind="edited", actor="user", route="web", scope="once", **terms)
    everything = page(operator, "/admin") + page(operator) + page(operator, f"/admin/cases/{id}")
    assert "scope: once" in everything
    everything += operator.post("/admin/operations/preview", data={"act": "dismiss", "id": id}).get_data(as_text=True)
    for secret in ("secret.person", "secret.sender", "private.example", "SECRETSUBJECT", "SECRETNOTE"):
        assert secret not in everything
    assert "s…@p…" in everything
    assert "&lt;…@…&gt; unknown" in everything


def test_no_text_from_outside_becomes_markup(operator: FlaskClient, engine: Engine) -> None:
    id = an_uncertain_case(engine, subject=CANARY, note=CANARY, sender_email=CANARY)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET last_error = :x, last_error_at = now()"), {"x": CANARY})
        connection.execute(
            text("UPDATE reminder_sends SET reply = :x, queue_id = :x, enhanced_code = :x"), {"x": CANARY}
        )
        connection.execute(
            text(
                "INSERT INTO circuit_breakers (server, state, failures, last_failure, opened_at)"
                " VALUES (:x, 'open', 5, :x, now())"
            ),
            {"x": CANARY},
        )
        connection.execute(
            text(
                "INSERT INTO snooze_events (snooze_id, kind, actor, route, detail)"
                " VALUES (:id, :x, :x, :x, jsonb_build_object(CAST(:x AS text), CAST(:x AS text)))"
            ),
            {"id": id, "x": CANARY},
        )
    fingerprint = re.search(r"reason=(\w+)", page(operator))
    assert fingerprint
    for shown in (
        page(operator, "/admin"),
        page(operator),
        page(operator, f"/admin/cases?reason={fingerprint.group(1)}"),
        page(operator, f"/admin/cases/{id}"),
        operator.post(
            "/admin/operations/preview", data={"act": "reactivate", "all": "1", "reason": fingerprint.group(1)}
        ).get_data(as_text=True),
    ):
        assert "<img" not in shown
        assert "&lt;img src=x" in shown


def test_failures_that_differ_in_an_address_or_a_number_only_are_one_reason(
    operator: FlaskClient, a_case: Callable[..., int]
) -> None:
    for number in range(3):
        a_case(user_email=f"p{number}@x.example", last_error=f"550 <p{number}@x.example> unknown, id 12345{number}")
    other = a_case(last_error="552 5.2.2 Mailbox full")
    shown = page(operator)
    assert "550 <…> unknown, id … 3 cases of 3 people" in visible_text(shown)
    fingerprint = re.search(r'reason=(\w+)">Show these 3<', shown)
    assert fingerprint
    alike = page(operator, f"/admin/cases?reason={fingerprint.group(1)}")
    assert alike.count('type="checkbox" name="id"') == 3
    assert f"/admin/cases/{other}" not in alike


def test_an_empty_reason_is_not_shown_as_if_nothing_failed(operator: FlaskClient, a_case: Callable[..., int]) -> None:
    a_case(last_error="552 5.2.2 Mailbox full")
    shown = visible_text(page(operator, f"/admin/cases?reason={'0' * 32}"))
    assert "No case fails like this any more Cases with other errors may still wait for you." in shown
    assert "Every reminder was delivered" not in shown


def test_an_empty_queue_explains_what_is_listed_here(operator: FlaskClient) -> None:
    shown = visible_text(page(operator))
    assert "No cases" in shown
    assert "What cannot be delivered turns up here" in shown
    assert "start it with: snoozer clock" in visible_text(page(operator, "/admin"))


def test_a_worker_that_deregistered_is_not_counted_as_lost(operator: FlaskClient, engine: Engine) -> None:
    with engine.begin() as connection:
        for id in ("left-1", "left-2", "silent", "declared_dead", "long-ago", "at-work"):
            workers.register(connection, id=id)
    silent_for = text("UPDATE workers SET heartbeat_at = heartbeat_at - CAST(:ago AS interval) WHERE id = :id")
    declared_dead = text(
        "UPDATE workers SET state = 'dead', stopped_at = now() - CAST(:ago AS interval) WHERE id = :id"
    )
    with engine.begin() as connection:
        workers.deregister(connection, id="left-1")
        workers.deregister(connection, id="left-2")
        for id, silent in (("silent", "1 minute"), ("declared_dead", "1 minute"), ("long-ago", "3 days")):
            connection.execute(silent_for, {"id": id, "ago": silent})
        for id, ago in (("declared_dead", "0 s"), ("long-ago", "2 days")):
            connection.execute(declared_dead, {"id": id, "ago": ago})
    assert "Workers 1 alive 0 draining, 2 lost in the last day; last heard" in visible_text(page(operator, "/admin"))


@pytest.mark.parametrize(
    ("columns", "answer"),
    [
        ({"remind_at": now() + HOUR, "scheduled_for": now() - HOUR, "attempts": 2}, "2 of 5 attempts failed; the next"),
        (
            {"inactive": True, "outcome": "retired", "finished_at": now(), "crash_count": 5},
            "its worker was lost 5 times",
        ),
    ],
)
def test_a_row_shows_what_it_has_been_through(
    operator: FlaskClient, engine: Engine, columns: dict[str, Any], answer: str
) -> None:
    id = a_snooze(engine, **columns)
    assert answer in visible_text(page(operator, f"/admin/cases/{id}"))


def test_a_due_row_that_no_worker_may_take_yet_is_not_next_in_line(operator: FlaskClient, engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="w1")
    newer = a_snooze(engine, schema_version=2)
    first, second = (a_snooze(engine, serialization_key="k", remind_at=now() - n * HOUR) for n in (2, 1))
    assert "written by a newer release" in visible_text(page(operator, f"/admin/cases/{newer}"))
    assert "next in line" in visible_text(page(operator, f"/admin/cases/{first}"))
    assert "behind 1 of its serialization key" in visible_text(page(operator, f"/admin/cases/{second}"))
    figures = visible_text(page(operator, "/admin"))
    for figure in ("Due now 1 snooze", "Behind others of their key 1 snooze", "For a newer release 1 snooze"):
        assert figure in figures


@pytest.mark.parametrize(
    ("columns", "answer"),
    [
        ({"state": "failed"}, "No. It was prepared"),
        ({"state": "sending", "dot_authorised_at": now(), "bytes_sha256": "x"}, "Perhaps. It is being handed over"),
        ({"state": "sent", "sent_at": now(), "smtp_code": 250, "reply": "queued as 4XyZ"}, "Yes. The mail server took"),
        ({"state": "failed", "smtp_code": 550, "reply": "unknown"}, "No. The mail server refused it: 550 unknown"),
        ({"state": "uncertain", "uncertain_at": now(), "dot_authorised_at": now()}, "Perhaps. All of it was handed"),
    ],
)
def test_every_row_shows_whether_it_was_sent(
    operator: FlaskClient, engine: Engine, columns: dict[str, Any], answer: str
) -> None:
    id = a_snooze(engine)
    assert "Was it sent? No. Nothing was ever handed" in visible_text(page(operator, f"/admin/cases/{id}"))
    with engine.begin() as connection:
        queue.claim(connection, worker="w1", batch_size=1, lease=HOUR)
        policy = UncertainPolicy(hold=HOUR)
        [send] = ledger.list_sendable(connection, worker="w1", ids=[id], domain="snoozer.example", uncertainty=policy)
        assert ledger.authorise(connection, dots=[(send, "0" * 64)], uncertainty=policy)
        connection.execute(update(Send).values(**columns))
    assert f"Was it sent? {answer}" in visible_text(page(operator, f"/admin/cases/{id}"))
