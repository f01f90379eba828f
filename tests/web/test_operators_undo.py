"""Operators undo what they did, for ten minutes, as people can; a preview says what will fail again."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.operators import chunks
from tests.db.operations import an_operation, results
from tests.factories import a_snooze, now, the_events, the_row, the_send
from tests.web.cases import an_uncertain_case, page, visible_text
from tests.web.overviews import MINUTE, a_breaker, all_is_well, troubles_of

WHY = "The relay is moved"


def the_undo(client: FlaskClient, path: str) -> tuple[str, dict[str, str]]:
    """The form of the toast on this page."""
    found = re.search(r'<form method="post" action="([^"]+)" data-undo>(.*?)</form>', page(client, path), re.S)
    assert found is not None
    return found[1], dict(re.findall(r'name="([^"]+)" value="([^"]*)"', found[2]))


def a_case_of_one(engine: Engine, **columns: Any) -> int:
    return a_snooze(engine, inactive=True, outcome="retired", finished_at=now() - MINUTE, attempts=5, **columns)


@pytest.mark.parametrize("act", ["reactivate", "dismiss"])
def test_a_decision_about_one_case_is_undone_from_its_page(operator: FlaskClient, engine: Engine, act: str) -> None:
    id = a_case_of_one(engine)
    form = {"act": act, "id": id, "why": WHY, "from": "case", "as_of": "2099-01-01T00:00:00+00:00"}
    operator.post("/admin/operations", data=form)
    assert the_row(engine, id).outcome == {"reactivate": None, "dismiss": "cancelled"}[act]
    action, fields = the_undo(operator, f"/admin/cases/{id}")
    assert operator.post(action, data=fields).status_code == 303
    row = the_row(engine, id)
    assert (row.outcome, row.inactive) == ("retired", True)
    assert the_events(engine, id)[-1] == "act undone"
    assert "undone already" in visible_text(page(operator, operator.post(action).headers["Location"]))
    with engine.connect() as connection:
        acts = connection.execute(text("SELECT act FROM audit_log ORDER BY id")).scalars().all()
    assert acts == [act, "undo"]


@pytest.mark.parametrize("act", ["reactivate", "dismiss"])
def test_an_operation_on_many_is_undone_from_its_page_for_ten_minutes(
    operator: FlaskClient, engine: Engine, act: str
) -> None:
    ids = [a_case_of_one(engine) for _ in range(3)]
    id = an_operation(engine, act=act, ids=ids)
    chunks.work(engine)
    button = f'action="/admin/operations/{id}/undo"'
    assert button in page(operator, f"/admin/operations/{id}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE operations SET finished_at = finished_at - INTERVAL '11 minutes'"))
    assert button not in page(operator, f"/admin/operations/{id}")
    assert "too late" in visible_text(page(operator, operator.post(f"/admin/operations/{id}/undo").headers["Location"]))
    with engine.begin() as connection:
        connection.execute(text("UPDATE operations SET finished_at = now()"))
    operator.post(f"/admin/operations/{id}/undo")
    assert {the_row(engine, one).outcome for one in ids} == {"retired"}


def test_an_undo_leaves_what_changed_since(operator: FlaskClient, engine: Engine) -> None:
    sent, claimed, untouched = (a_case_of_one(engine) for _ in range(3))
    id = an_operation(engine, act="reactivate", ids=[sent, claimed, untouched])
    chunks.work(engine)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET inactive = TRUE, outcome = 'sent', finished_at = now() WHERE id = :id"),
            {"id": sent},
        )
        connection.execute(
            text(
                "UPDATE email_snoozes SET claimed_at = now(), claimed_by = 'w', claim_token = gen_random_uuid(),"
                " lease_expires_at = now() + INTERVAL '1 minute' WHERE id = :id"
            ),
            {"id": claimed},
        )
    new = operator.post(f"/admin/operations/{id}/undo").headers["Location"].rpartition("/")[2]
    found = results(engine, int(new))
    assert found[untouched] == ("done", None)
    assert (found[sent][0], found[claimed][0]) == ("unchanged", "unchanged")
    assert (the_row(engine, sent).outcome, the_row(engine, claimed).outcome) == ("sent", None)


def test_an_undone_dismissal_makes_an_uncertain_reminder_uncertain_again(operator: FlaskClient, engine: Engine) -> None:
    case = an_uncertain_case(engine)
    id = an_operation(engine, act="dismiss", ids=[case])
    chunks.work(engine)
    assert the_send(engine, case).state == "failed"
    operator.post(f"/admin/operations/{id}/undo")
    send = the_send(engine, case)
    assert (send.state, send.resolution) == ("uncertain", None)
    assert the_row(engine, case).outcome == "retired"


def stop(client: FlaskClient) -> str:
    return client.post("/admin/breakers/trip", data={"server": "mail.example:25", "reason": WHY}).headers["Location"]


def reset(client: FlaskClient) -> str:
    stop(client)
    page(client, "/admin")
    return client.post("/admin/breakers/reset", data={"server": "mail.example:25", "reason": WHY}).headers["Location"]


def pause(client: FlaskClient) -> str:
    return client.post("/admin/pauses", data={"kind": "class", "priority": "3", "why": WHY}).headers["Location"]


def resume(client: FlaskClient) -> str:
    page(client, pause(client))
    return client.post("/admin/pauses/1/resume", data={"why": WHY}).headers["Location"]


@pytest.mark.parametrize(("act", "kind", "before"), [
    (stop, "mail server tripped", False),
    (reset, "mail server tripped", True),
    (pause, "paused", False),
    (resume, "paused", True),
])  # fmt: skip
def test_a_stop_a_pause_and_their_ends_are_undone(
    operator: FlaskClient, engine: Engine, act: Callable[[FlaskClient], str], kind: str, before: bool
) -> None:
    all_is_well(engine)
    a_breaker(engine)
    path = act(operator)
    action, fields = the_undo(operator, path)
    assert (kind in troubles_of(operator)) is not before
    assert operator.post(action, data=fields).status_code == 303
    assert (kind in troubles_of(operator)) is before


@pytest.mark.parametrize("chosen", ["ids", "filter"])
def test_the_preview_of_a_reactivation_says_what_will_fail_again(
    operator: FlaskClient, engine: Engine, chosen: str
) -> None:
    wrong, right = a_case_of_one(engine, user_email="ann at mail"), a_case_of_one(engine)
    form: dict[str, Any] = {"id": [wrong, right]} if chosen == "ids" else {"all": "1"}
    shown = operator.post("/admin/operations/preview", data={"act": "reactivate", **form}).text
    assert "1 will fail again: the address is invalid." in visible_text(shown)
    shown = operator.post("/admin/operations/preview", data={"act": "dismiss", **form}).text
    assert "will fail again" not in shown
