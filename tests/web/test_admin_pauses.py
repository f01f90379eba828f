"""Operators pause and resume on pages; people see it on theirs, and take back that their address is marked."""

import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.operators import chunks
from snoozer.settings import Settings
from tests.factories import ANN, HOUR, a_snooze, now, the_row
from tests.web.cases import page, visible_text


def pause(client: FlaskClient, **form: str) -> str:
    answer = client.post("/admin/pauses", data={"why": "their server is down", **form})
    assert answer.status_code == 303, answer.text
    return visible_text(page(client, answer.headers["Location"]))


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """What pages know of delivery is read anew for each."""
    return settings.model_copy(update={"poll": 0.0})


def test_a_domain_is_previewed_paused_and_resumed(operator: FlaskClient, engine: Engine) -> None:
    for _ in range(3):
        a_snooze(engine)
    a_snooze(engine, user_email="bob@other.example")
    shown = operator.post("/admin/pauses/preview", data={"kind": "domain", "domain": "Snoozer.Example"})
    assert "Pause people at snoozer.example?" in visible_text(shown.text)
    assert "Of the 4 that are due within an hour, it holds back 3 ." in visible_text(shown.text)
    assert "Paused. What is being delivered" in pause(operator, kind="domain", domain="snoozer.example")
    assert "It is paused already." in pause(operator, kind="domain", domain="snoozer.example")
    assert "People at snoozer.example their server is down" in visible_text(page(operator, "/admin/pauses"))
    answer = operator.post("/admin/pauses/1/resume", data={"why": "it is back"})
    assert answer.headers["Location"] == "/admin/operations/1"
    assert "Nothing is held back." in visible_text(page(operator, "/admin/pauses"))
    assert "It was over already." in visible_text(
        page(operator, operator.post("/admin/pauses/1/resume", data={"why": "x"}).headers["Location"])
    )


def test_two_pauses_are_resumed_from_one_page(operator: FlaskClient, engine: Engine) -> None:
    """Each end of a pause brings back what it had set aside, whatever form was posted."""
    ids = [a_snooze(engine), a_snooze(engine)]
    for number, id in enumerate(ids, 1):
        pause(operator, kind="class", priority=str(number))
        with engine.begin() as connection:
            aside = text("UPDATE email_snoozes SET inactive = TRUE, paused_by = :pause WHERE id = :id")
            connection.execute(aside, {"pause": number, "id": id})
    for number in (1, 2):
        answer = operator.post(f"/admin/pauses/{number}/resume", data={"why": "over", "form": "0" * 32})
        assert answer.headers["Location"].startswith("/admin/operations/")
    chunks.work(engine)
    assert [the_row(engine, id).inactive for id in ids] == [False, False]


def test_a_person_is_named_by_a_snooze_and_shown_masked(operator: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine)
    case_page = page(operator, f"/admin/cases/{id}")
    assert 'name="kind" value="person"' in case_page
    shown = operator.post("/admin/pauses/preview", data={"kind": "person", "row": str(id)}).text
    assert "Pause the person a…@s…?" in visible_text(shown)
    pause(operator, kind="person", row=str(id))
    everything = shown + page(operator, "/admin/pauses")
    assert ANN not in everything
    with engine.connect() as connection:
        assert connection.execute(text("SELECT value FROM pauses")).scalar_one() == ANN


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"kind": "everybody"},
        {"kind": "domain", "domain": "a@b"},
        {"kind": "domain", "domain": ""},
        {"kind": "channel", "channel": "pigeon"},
        {"kind": "class", "priority": "1001"},
        {"kind": "class", "priority": "high"},
        {"kind": "person", "row": "0"},
        {"kind": "person", "row": "99"},
        {"kind": "person", "row": str(2**63)},
    ],
)
def test_what_cannot_be_paused_says_so(operator: FlaskClient, engine: Engine, form: dict[str, str]) -> None:
    answer = operator.post("/admin/pauses/preview", data=form)
    assert answer.status_code == 303
    assert "Nothing was changed." in visible_text(page(operator, "/admin/pauses"))
    assert operator.post("/admin/pauses", data={**form, "why": "x"}).status_code == 400


@pytest.mark.parametrize("form", [{"why": ""}, {"why": "x", "span_amount": "0"}, {"why": "x", "span_amount": "9" * 9}])
def test_a_pause_needs_a_reason_and_a_time_that_can_be(operator: FlaskClient, form: dict[str, str]) -> None:
    answer = operator.post("/admin/pauses", data={"kind": "all", "span_unit": "hours", **form})
    assert answer.status_code == 422
    assert "Nothing was changed yet." in visible_text(answer.text)


def test_its_person_reads_that_everything_is_paused(operator: FlaskClient, ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() - HOUR)
    pause(operator, kind="all")
    assert "Reminders are paused An operator of this Snoozer paused them" in visible_text(page(ann, "/"))
    shown = visible_text(page(ann, f"/snoozes/{id}"))
    assert "Paused by an operator of this Snoozer since" in shown
    assert "no worker has taken it" not in shown


def test_its_person_reads_that_a_snooze_was_set_aside(operator: FlaskClient, ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine)
    pause(operator, kind="class", priority="0")
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET inactive = TRUE, paused_by = 1"))
    shown = page(ann, f"/snoozes/{id}")
    assert "Paused by an operator of this Snoozer since" in visible_text(shown)
    assert "Nothing comes until you resume it." not in visible_text(shown)
    assert "occurrences" not in shown or "/resume" not in shown


def test_its_person_takes_back_that_the_address_takes_no_mail(
    operator: FlaskClient, ann: FlaskClient, engine: Engine
) -> None:
    id = a_snooze(engine)
    pause(operator, kind="invalid", row=str(id))
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET inactive = TRUE, paused_by = 1"))
    shown = page(ann, "/")
    assert "No reminders are sent to your address" in visible_text(shown)
    assert re.search(r'action="/settings/mail-again"', shown)
    assert ann.post("/settings/mail-again").status_code == 303
    assert "No reminders are sent to your address" not in visible_text(page(ann, "/"))
    chunks.work(engine)
    assert not the_row(engine, id).inactive
    assert ann.post("/settings/mail-again").status_code == 303
    with engine.connect() as connection:
        ended = connection.execute(text("SELECT ended_by FROM pauses")).scalar_one()
        actors = connection.execute(text("SELECT DISTINCT actor FROM audit_log ORDER BY actor")).scalars().all()
    assert ended == "user:2"
    assert actors == ["operator:1", "user:2"]
