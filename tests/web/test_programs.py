"""Settings, Programs: tokens are made with scopes and an end, shown once, and revoked by their owner; what programs did
today is undone by one button."""

import re
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.people import api_tokens
from snoozer.queue.limits import MAX_CHOSEN
from tests.factories import ANN, HOUR, People, a_snooze, now, the_row
from tests.web.reminders import a_sent_reminder

PAGE = "/settings/programs"
TODAY = f"{PAGE}/today"
LEFT = "It cannot be undone: the snooze was changed since, or its reminder is out."
KEPT = ("remind_at", "note", "inactive", "outcome", "recurrence", "wall_time")
FORM = {"name": "Backup script", "scope": ["snoozes:read"], "lifetime": "30"}


@pytest.fixture
def ann(app: Flask, people: People) -> FlaskClient:
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.ann().session)
    return browser


def secret_in(page: str) -> str:
    [secret] = re.findall(r'value="(snz_[\w-]{43})"', page)
    return str(secret)


def test_a_token_is_shown_once_and_does_what_was_chosen(ann: FlaskClient, engine: Engine) -> None:
    made = ann.post(PAGE, data=FORM)
    secret = secret_in(made.text)
    assert made.headers["Cache-Control"] == "no-store"
    assert secret not in ann.get(PAGE).text
    assert "Backup script" in ann.get(PAGE).text
    with engine.connect() as connection:
        found = api_tokens.find(connection, secret=secret)
        assert found is not None
        assert found.scopes == frozenset({"snoozes:read"})
        [token] = [each for each in api_tokens.list_all(connection, email=ANN) if each.id == found.id]
        assert token.expires_at is not None
        assert timedelta(days=29) < token.expires_at - now() < timedelta(days=31)
        stored = connection.execute(text("SELECT string_agg(t::text, '') FROM api_tokens t")).scalar_one()
    assert secret not in stored


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"name": " "}, 422), ({"scope": []}, 422), ({"scope": ["root"]}, 400), ({"lifetime": "7"}, 400)],
)
def test_a_form_that_is_not_whole_makes_no_token(
    changed: dict[str, object], status: int, ann: FlaskClient, engine: Engine
) -> None:
    answer = ann.post(PAGE, data=FORM | changed)
    assert answer.status_code == status
    assert "snz_" not in answer.text
    with engine.connect() as connection:
        assert len(api_tokens.list_all(connection, email=ANN)) == 1


def test_a_name_is_one_line_of_what_can_be_shown(ann: FlaskClient) -> None:
    assert "a b &lt;b&gt;" in ann.post(PAGE, data=FORM | {"name": " a\x00\n b <b>"}).text


def test_a_revoked_token_is_refused_and_only_its_owner_revokes_it(
    ann: FlaskClient, app: Flask, people: People, caplog: pytest.LogCaptureFixture
) -> None:
    secret = secret_in(ann.post(PAGE, data=FORM).text)
    [path] = re.findall(r"/settings/programs/\d+/revoke", ann.get(PAGE).text)[:1]
    ask = {"Authorization": f"Bearer {secret}"}
    bob = app.test_client()
    bob.set_cookie("snoozer_session", people.ann("bob@snoozer.example").session)
    bob.post(path)
    assert bob.get("/api/v1/snoozes", headers=ask).status_code == 200
    with caplog.at_level("INFO", logger="snoozer.security"):
        assert "refused from now on" in ann.post(path, follow_redirects=True).text
    assert "tokens_revoked account=" in caplog.text
    assert secret not in caplog.text
    assert bob.get("/api/v1/snoozes", headers=ask).status_code == 401
    assert "revoked already" in ann.post(path, follow_redirects=True).text


def test_a_person_has_only_so_many_tokens(ann: FlaskClient, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO api_tokens (account_id, token_hash) SELECT 1, n::text FROM generate_series(2, 50) n")
        )
    answer = ann.post(PAGE, data=FORM)
    assert (answer.status_code, "You have 50 tokens, which is the limit" in answer.text) == (422, True)
    assert 'value="Backup script"' in answer.text


def a_program(browser: FlaskClient, name: str) -> dict[str, str]:
    """The headers of a new program of Ann's."""
    made = browser.post(PAGE, data=FORM | {"name": name, "scope": ["snoozes:read", "snoozes:write"]})
    return {"Authorization": f"Bearer {secret_in(made.text)}"}


def undo_all(browser: FlaskClient) -> str:
    page = browser.get(TODAY).text
    fields = {name: re.findall(rf'name="{name}" value="([^"]+)"', page)[0] for name in ("day", "newest")}
    return browser.post(f"{TODAY}/undo", data=fields, follow_redirects=True).text


def test_what_programs_did_today_is_named_and_undone_by_one_button(ann: FlaskClient, engine: Engine) -> None:
    robot = a_program(ann, "Robot <b>")
    moved, over = (a_snooze(engine, remind_at=now() + 3 * HOUR, subject=subject) for subject in ("Lease", "Offer"))
    back = a_sent_reminder(engine)
    before = {id: the_row(engine, id) for id in (moved, over)}
    created = ann.post("/api/v1/snoozes", headers=robot, json={"subject": "New", "remind_at": f"{now() + HOUR}"})
    made = created.get_json()["id"]
    for method, path, body in (
        ("PATCH", f"{moved}", {"when": "in 3 days"}),
        ("PATCH", f"{moved}", {"note": "Both floors", "when": "in 4 days"}),
        ("POST", f"{moved}/pause", {}),
        ("DELETE", f"{over}", None),
        ("POST", f"{back}/done", {}),
    ):
        answer = ann.open(f"/api/v1/snoozes/{path}", method=method, headers=robot, json=body)
        assert answer.status_code == 200, answer.text
    page = ann.get(TODAY).text
    assert page.count("by the program “Robot &lt;b&gt;”") == 6
    assert "Undo all 6 acts" in page
    assert "by the program “Robot &lt;b&gt;”" in ann.get(f"/snoozes/{moved}").text
    assert "4 messages are as they were." in undo_all(ann)
    for id, row in before.items():
        found = the_row(engine, id)
        assert [getattr(found, name) for name in KEPT] == [getattr(row, name) for name in KEPT]
    assert the_row(engine, made).outcome == "cancelled"
    page = ann.get(TODAY).text
    assert page.count("Undone since.") == 6
    assert "Nothing is left to undo." in page


def test_undo_leaves_what_its_person_changed_since_and_what_the_page_did_not_show(
    ann: FlaskClient, engine: Engine
) -> None:
    robot = a_program(ann, "Robot")
    mine, late = (a_snooze(engine, remind_at=now() + 3 * HOUR) for _ in range(2))
    ann.patch(f"/api/v1/snoozes/{mine}", headers=robot, json={"when": "in 3 days"})
    page = ann.get(TODAY).text
    fields = {name: re.findall(rf'name="{name}" value="([^"]+)"', page)[0] for name in ("day", "newest")}
    assert "Undo 1 act<" in page
    ann.post(f"/snoozes/{mine}/cancel")
    ann.delete(f"/api/v1/snoozes/{late}", headers=robot)
    answer = ann.post(f"{TODAY}/undo", data=fields, follow_redirects=True).text
    assert "1 could not be undone: 1 was cancelled already." in answer
    assert [the_row(engine, id).outcome for id in (mine, late)] == ["cancelled", "cancelled"]
    page = ann.get(TODAY).text
    assert "Undo 1 act<" in page
    assert page.count(LEFT) == 1
    assert "1 message is as it was." in undo_all(ann)
    assert the_row(engine, late).outcome is None
    page = ann.get(TODAY).text
    assert "Nothing is left to undo." in page
    assert page.count(LEFT) == 1


def test_an_act_below_one_that_cannot_be_undone_is_not_counted(ann: FlaskClient, engine: Engine) -> None:
    robot = a_program(ann, "Robot")
    id = a_snooze(engine, remind_at=now() + HOUR)
    for when in ("in 3 days", "in 4 days"):
        assert ann.patch(f"/api/v1/snoozes/{id}", headers=robot, json={"when": when}).status_code == 200
    assert "Undo all 2 acts" in ann.get(TODAY).text
    with engine.begin() as connection:
        connection.execute(text("UPDATE snooze_events SET at = now() - INTERVAL '1 minute'"))
        passed = (
            "UPDATE snooze_events SET detail = jsonb_set(detail, '{before,remind_at}', to_jsonb(CAST(:at AS text))) "
            "WHERE id = (SELECT max(id) FROM snooze_events)"
        )
        connection.execute(text(passed), {"at": now().isoformat()})
    page = ann.get(TODAY).text
    assert "Nothing is left to undo." in page
    assert page.count("It cannot be undone: the earlier time has passed.") == 2


def test_each_person_sees_and_undoes_their_own_programs_alone(
    ann: FlaskClient, app: Flask, people: People, engine: Engine
) -> None:
    id = a_snooze(engine, remind_at=now() + 3 * HOUR)
    ann.delete(f"/api/v1/snoozes/{id}", headers=a_program(ann, "Robot"))
    [newest] = re.findall(r'name="newest" value="(\d+)"', ann.get(TODAY).text)
    bob = app.test_client()
    bob.set_cookie("snoozer_session", people.ann("bob@snoozer.example").session)
    assert "No program did anything today." in bob.get(TODAY).text
    day = f"{now():%Y-%m-%d}"
    bob.post(f"{TODAY}/undo", data={"day": day, "newest": newest})
    assert the_row(engine, id).outcome == "cancelled"
    for form in ({}, {"day": "today", "newest": newest}, {"day": day, "newest": "x"}):
        assert ann.post(f"{TODAY}/undo", data=form).status_code == 400


def test_the_api_names_the_program_of_an_event(ann: FlaskClient, engine: Engine) -> None:
    robot, other = a_program(ann, "Robot"), a_program(ann, "Other")
    id = a_snooze(engine, remind_at=now() + 3 * HOUR)
    ann.patch(f"/api/v1/snoozes/{id}", headers=robot, json={"when": "in 3 days"})
    ann.post(f"/snoozes/{id}/note", data={"note": "Mine"})
    for who, own in ((robot, True), (other, False)):
        events = ann.get(f"/api/v1/snoozes/{id}/events", headers=who).get_json()["events"]
        assert [(one["program"], one["own"]) for one in events] == [(None, False), ("Robot", own)]


def test_a_day_that_has_no_next_one_is_refused(ann: FlaskClient) -> None:
    assert ann.post(f"{TODAY}/undo", data={"day": "9999-12-31", "newest": "1"}).status_code == 400


def test_what_is_undone_does_not_hide_what_can_be_undone(ann: FlaskClient, engine: Engine) -> None:
    robot, at = a_program(ann, "Robot"), f"{now() + 3 * HOUR}"
    for count in (2, MAX_CHOSEN):
        snoozes = [{"subject": f"{number}", "remind_at": at} for number in range(count)]
        made = ann.post("/api/v1/snoozes/bulk", headers=robot, json={"act": "create", "snoozes": snoozes})
        assert made.status_code == 200, made.text
    assert f"Undo all {MAX_CHOSEN} acts" in ann.get(TODAY).text
    assert "Undo all 2 acts" in undo_all(ann)
    assert "Nothing is left to undo" in undo_all(ann)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT DISTINCT outcome FROM email_snoozes")).scalars().all() == ["cancelled"]
