"""An operator stops a mail server until it is reset, with a reason, in the audit log."""

import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from tests.web.cases import page, visible_text
from tests.web.overviews import (
    a_breaker,
    all_is_well,
    verdict,
)


def trip(client: FlaskClient, act: str = "trip", **fields: str) -> str:
    answer = client.post(f"/admin/breakers/{act}", data={"server": "mail.example:25", "reason": "Moved", **fields})
    assert answer.status_code == 303
    return visible_text(page(client, "/admin"))


def test_an_operator_stops_a_mail_server_with_a_reason_and_resets_it(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    a_breaker(engine)
    assert "Nothing was done: say why first." in trip(operator, reason=" ")
    shown = trip(operator, reason="The relay of ann@mail.example is moved")
    assert "Nothing is sent by mail.example:25 until you reset it." in shown
    assert re.search(
        r"Nothing is sent by mail.example:25 since operator 1 stopped it at \d\d:\d\d \(The relay of …@…", shown
    )
    assert "stopped by an operator" in shown
    assert "was stopped already" in trip(operator)
    assert "Workers send by mail.example:25 again." in trip(operator, "reset")
    assert "is in use already" in trip(operator, "reset")
    assert verdict(operator)[0] == "well"
    with engine.connect() as connection:
        log = connection.execute(
            text("SELECT actor, act, reason, target, before, after FROM audit_log ORDER BY id")
        ).all()
    assert [(row.actor, row.act, row.target) for row in log] == [
        ("operator:1", "trip_breaker", "breaker:mail.example:25"),
        ("operator:1", "reset_breaker", "breaker:mail.example:25"),
    ]
    assert (log[0].before["state"], log[0].after["state"], log[1].after["state"]) == ("closed", "open", "closed")
    assert "ann@" not in str(log)


def test_who_confirmed_long_ago_is_asked_before_a_mail_server_is_stopped(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    a_breaker(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE sessions SET confirmed_at = now() - INTERVAL '11 minutes'"))
    asked = operator.post("/admin/breakers/trip", data={"server": "mail.example:25", "reason": "Moved"})
    assert (asked.status_code, asked.headers["Location"]) == (303, "/admin/confirm")
    with engine.begin() as connection:
        assert (
            connection.execute(text("SELECT count(*) FROM circuit_breakers WHERE tripped_at IS NOT NULL")).scalar() == 0
        )
        connection.execute(text("UPDATE sessions SET confirmed_at = now()"))
    assert "until you reset it" in trip(operator)
    with engine.begin() as connection:
        connection.execute(text("UPDATE sessions SET confirmed_at = NULL"))
    assert "send by mail.example:25 again" in trip(operator, "reset")


@pytest.mark.parametrize("server", ["", "another.example:25", "mail.example:25\0"])
def test_a_mail_server_that_is_not_known_cannot_be_stopped(operator: FlaskClient, engine: Engine, server: str) -> None:
    a_breaker(engine)
    for act in ("trip", "reset"):
        answer = operator.post(f"/admin/breakers/{act}", data={"server": server, "reason": "x"})
        assert answer.status_code == 404


def test_a_viewer_sees_all_and_is_offered_no_act(viewer: FlaskClient, engine: Engine) -> None:
    a_breaker(engine)
    assert "Stop sending" not in page(viewer, "/admin")
    assert viewer.post("/admin/breakers/trip", data={"server": "mail.example:25", "reason": "x"}).status_code == 403
