"""Acts on one row from its page: what is offered, previewed, asked for, and done at once."""

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.operators import chunks
from snoozer.queue import workers
from tests.db.operations import the_operation
from tests.db.transitions import a_held_mail, authorise
from tests.factories import HOUR, a_snooze, now, the_row, the_send
from tests.web.cases import UNTIL, an_uncertain_case, page, visible_text


def preview(client: FlaskClient, act: str, **form: Any) -> str:
    answer = client.post("/admin/operations/preview", data={"act": act, "from": "case", **form})
    assert answer.status_code == 200
    return visible_text(answer.text)


def do(client: FlaskClient, act: str, id: int, **form: Any) -> str:
    """Acts on the row; returns the text of its page afterwards."""
    given = {"act": act, "id": id, "as_of": UNTIL, "why": "mended", "from": "case"} | form
    answer = client.post("/admin/operations", data=given)
    assert (answer.status_code, answer.headers.get("Location")) == (303, f"/admin/cases/{id}"), answer.text
    return visible_text(page(client, answer.headers["Location"]))


def offered(client: FlaskClient, id: int) -> list[str]:
    shown = page(client, f"/admin/cases/{id}")
    acts = ("resolve_sent", "resolve_resend", "resolve_drop", "delay", "raise_attempts", "release")
    return [act for act in acts if f'name="act" value="{act}"' in shown]


def test_what_is_offered_is_what_is_possible(operator: FlaskClient, engine: Engine, a_case: Callable[..., int]) -> None:
    assert offered(operator, an_uncertain_case(engine)) == [
        *("resolve_sent", "resolve_resend", "resolve_drop", "delay", "raise_attempts")
    ]
    assert offered(operator, a_case()) == ["delay", "raise_attempts"]
    assert offered(operator, a_snooze(engine, remind_at=now() + HOUR)) == ["delay", "raise_attempts"]
    assert offered(operator, a_snooze(engine, claimed_at=now())) == ["raise_attempts", "release"]
    assert offered(operator, a_snooze(engine, inactive=True, outcome="sent", finished_at=now())) == []


def test_what_may_have_been_sent_is_settled_from_its_page(operator: FlaskClient, engine: Engine) -> None:
    id = an_uncertain_case(engine)
    shown = preview(operator, "resolve_sent", id=id)
    assert "Settle 1 reminder as sent?" in shown
    assert "1 reminder may have been sent already It is never sent again." in shown
    assert "Settled it as sent." in do(operator, "resolve_sent", id)
    assert (the_row(engine, id).outcome, the_send(engine, id).resolved_by) == ("sent", "operator:1")
    assert "It stays as it was: it is known that it was sent." in do(operator, "resolve_resend", id)


def test_a_delay_is_read_in_the_zone_of_the_operator(operator: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine)
    shown = preview(operator, "delay", id=id)
    assert "Delay 1 snooze?" in shown
    when = (now() + 48 * HOUR).strftime("%Y-%m-%dT12:00")
    do(operator, "delay", id, delay_how="until", delay_until=when)
    until = the_row(engine, id).remind_at
    assert until.astimezone(ZoneInfo("Europe/Berlin")).strftime("%Y-%m-%dT%H:%M") == when
    do(operator, "delay", id, delay_how="by", delay_amount="2", delay_unit="days")
    assert the_row(engine, id).remind_at - until == 48 * HOUR


@pytest.mark.parametrize(
    ("act", "form", "problem"),
    [
        ("delay", {"delay_how": "by", "delay_amount": "0", "delay_unit": "hours"}, "How many hours?"),
        ("delay", {"delay_how": "by", "delay_amount": "1", "delay_unit": "years"}, "Say minutes, hours or days."),
        ("delay", {"delay_how": "by", "delay_amount": "367", "delay_unit": "days"}, "a number from 1 to 366"),
        ("delay", {"delay_how": "until", "delay_until": "soon"}, "Say until when, as a day and an hour."),
        ("delay", {"delay_how": "until", "delay_until": "2001-01-01T00:00"}, "Say a time to come, within a year."),
        ("delay", {"delay_how": "until", "delay_until": "9999-12-31T23:59"}, "Say a time to come, within a year."),
        ("delay", {"delay_how": "until", "delay_until": "0001-01-01T00:00"}, "Say a time to come, within a year."),
        ("raise_attempts", {"more_attempts": "101"}, "a number from 1 to 100"),
        ("raise_attempts", {"more_attempts": "²"}, "a number from 1 to 100"),
        ("raise_attempts", {"more_attempts": "5", "why": " "}, "Say why in a few words."),
    ],
)
def test_a_field_that_cannot_be_used_says_why_and_nothing_is_done(
    operator: FlaskClient, engine: Engine, act: str, form: dict[str, str], problem: str
) -> None:
    id = a_snooze(engine)
    before = the_row(engine, id)
    given = {"act": act, "id": id, "as_of": UNTIL, "why": "mended", "from": "case", **form}
    answer = operator.post("/admin/operations", data=given)
    assert answer.status_code == 422
    assert f"{problem}" in visible_text(answer.text)
    assert "Nothing was changed yet." in visible_text(answer.text)
    assert the_row(engine, id) == before


def test_attempts_are_raised_from_its_page(operator: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine)
    assert "It may be tried more often now." in do(operator, "raise_attempts", id, more_attempts="7")
    assert the_row(engine, id).max_attempts == 12


def test_the_claim_of_a_worker_that_is_alive_needs_a_tick(operator: FlaskClient, engine: Engine) -> None:
    held, send = a_held_mail(engine)
    with engine.begin() as connection:
        workers.register(connection, id="w")
    assert "Also from a worker that is alive" in preview(operator, "release", id=held.id)
    assert "It stays as it was: its worker w is alive." in do(operator, "release", held.id)
    assert "Took it back from its worker." in do(operator, "release", held.id, of_the_living="1")
    assert not authorise(engine, send)


def test_everything_that_a_worker_holds_is_taken_back(operator: FlaskClient, engine: Engine) -> None:
    ids = [a_snooze(engine, claimed_at=now(), claimed_by="host-1-abc") for _ in range(3)]
    other = a_snooze(engine, claimed_at=now(), claimed_by="host-2-abc")
    form = {"act": "release", "worker": "host-1-abc"}
    answer = operator.post("/admin/operations/preview", data=form)
    assert "Take back 3 claims?" in visible_text(answer.text)
    assert 'name="worker" value="host-1-abc"' in answer.text
    answer = operator.post("/admin/operations", data={**form, "as_of": UNTIL, "why": "it hangs"})
    assert answer.headers["Location"] == "/admin/operations/1"
    assert the_operation(engine, 1).members == 3
    chunks.work(engine)
    assert [the_row(engine, id).claimed_by for id in (*ids, other)] == [None, None, None, "host-2-abc"]


def test_claims_without_a_worker_or_a_row_are_refused(operator: FlaskClient) -> None:
    assert operator.post("/admin/operations/preview", data={"act": "release", "all": "1"}).status_code == 400
    assert operator.post("/admin/operations/preview", data={"act": "release", "worker": "\x00"}).status_code == 400
