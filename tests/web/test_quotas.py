"""Quotas: what one person, token, mailbox or network may use, whichever process counts it; nothing is half saved."""

from concurrent.futures import ThreadPoolExecutor
from datetime import time
from io import BytesIO

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from snoozer.cli import inbound
from snoozer.db import quotas
from snoozer.delivery.chores import chores
from snoozer.mailboxes.inbound.lmtp_server import IncomingMail
from snoozer.people import accounts
from snoozer.settings import Settings
from snoozer.timephrase.recurrence import Recurrence
from snoozer.web import create_app
from tests.factories import ANN, HOUR, People, a_snooze, an_original, now
from tests.web.reminders import a_link, a_sent_reminder

BOB = "bob@snoozer.example"


def site(engine: Engine, settings: Settings, **limits: int) -> Flask:
    app = create_app(engine=engine, settings=settings.model_copy(update=limits))
    app.config["WTF_CSRF_ENABLED"] = False
    return app


def browser(app: Flask, session: str) -> FlaskClient:
    client = app.test_client()
    client.set_cookie("snoozer_session", session)
    return client


def rows(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())  # noqa: S608


def create(app: Flask, bearer: dict[str, str], number: int) -> TestResponse:
    body = {"message_id": f"<{number}@x>", "when": "in 3 days"}
    return app.test_client().post("/api/v1/snoozes", json=body, headers=bearer)


def is_problem(answer: TestResponse, quota: str) -> bool:
    problem = answer.get_json()
    assert (answer.status_code, answer.mimetype) == (429, "application/problem+json")
    assert (problem["code"], problem["quota"]) == ("quota_reached", quota)
    assert "Nothing was saved. Try again in" in problem["detail"]
    assert 1 <= int(answer.headers["Retry-After"]) <= 86_400
    return True


def test_a_person_creates_so_many_snoozes_a_day_in_all_processes_together(
    engine: Engine, settings: Settings, people: People
) -> None:
    ann, bob = people.ann(), people.ann(BOB)
    one, other = site(engine, settings, snoozes_per_day=4), site(engine, settings, snoozes_per_day=4)
    for number in range(4):
        assert create((one, other)[number % 2], ann.bearer, number).status_code == 201
    second_token = people.ann().bearer
    for app in (one, other):
        assert is_problem(create(app, second_token, 7), "snoozes_per_day")
    assert create(one, bob.bearer, 1).status_code == 201
    assert rows(engine, "email_snoozes") == 5


def test_requests_at_the_same_moment_exceed_no_quota(engine: Engine, settings: Settings, people: People) -> None:
    ann, app = people.ann(), site(engine, settings, snoozes_per_day=3)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: create(app, ann.bearer, number).status_code, range(16)))
    assert (answers.count(201), answers.count(429)) == (3, 13)
    assert rows(engine, "email_snoozes") == 3


@pytest.mark.parametrize("quota", ["snoozes_per_minute", "token_snoozes_per_minute"])
def test_a_minute_takes_so_many_snoozes(engine: Engine, settings: Settings, people: People, quota: str) -> None:
    ann, app = people.ann(), site(engine, settings, **{quota: 3})
    # Another minute may begin meanwhile, but not a third one.
    answers = [create(app, ann.bearer, number) for number in range(7)]
    refused = [answer for answer in answers if answer.status_code != 201]
    assert refused
    assert all(is_problem(answer, quota) and int(answer.headers["Retry-After"]) <= 60 for answer in refused)
    assert rows(engine, "email_snoozes") == 7 - len(refused)


def test_an_idempotent_repetition_costs_nothing(engine: Engine, settings: Settings, people: People) -> None:
    app, headers = site(engine, settings, snoozes_per_day=1), people.ann().bearer | {"Idempotency-Key": "k"}
    body = {"message_id": "<1@x>", "when": "in 3 days"}
    for _ in range(3):
        assert app.test_client().post("/api/v1/snoozes", json=body, headers=headers).status_code == 201


def test_a_new_time_costs_what_a_snooze_costs(engine: Engine, settings: Settings, people: People) -> None:
    """Each adds to the history."""
    app, ann = site(engine, settings, snoozes_per_day=3), people.ann()
    made = create(app, ann.bearer, 1).get_json()["id"]
    client, page = app.test_client(), browser(app, ann.session)
    change = {"path": f"/api/v1/snoozes/{made}", "headers": ann.bearer}
    assert client.patch(json={"when": "in 4 days"}, **change).status_code == 200
    assert page.post(f"/snoozes/{made}/time", data={"at": "2030-05-01T08:00:00+00:00"}).status_code == 303
    assert is_problem(client.patch(json={"when": "in 5 days"}, **change), "snoozes_per_day")
    assert page.post(f"/snoozes/{made}/time", data={"at": "2030-06-01T08:00:00+00:00"}).status_code == 429
    assert "2030-05-01" in client.get(f"/api/v1/snoozes/{made}", headers=ann.bearer).get_json()["remind_at"]


def test_pages_and_links_in_mails_share_the_quota_of_the_person(
    engine: Engine, settings: Settings, people: People
) -> None:
    app = site(engine, settings, snoozes_per_day=1)
    ann = browser(app, people.ann().session)
    link = a_link(engine, settings, a_sent_reminder(engine))
    at = {"at": "2030-05-01T08:00:00+00:00"}
    assert ann.post("/add", data={"subject": "The first", **at}).status_code == 303
    pages = [ann.post("/add", data={"subject": "The second", **at}), app.test_client().post(f"{link}/again", data=at)]
    for page in pages:
        assert page.status_code == 429
        assert int(page.headers["Retry-After"]) >= 1
        assert "The limit is 1 snoozes a day. Nothing was saved." in page.text
        assert "<h1>" in page.text
    assert rows(engine, "email_snoozes") == 2


def test_message_files_are_limited_by_their_bytes_and_kept_whole_or_not_at_all(
    engine: Engine, settings: Settings, people: People
) -> None:
    small, large = an_original(), an_original(body="x" * 5_000)
    ann = browser(site(engine, settings, upload_bytes_per_day=5_000), people.ann().session)

    def upload(*contents: bytes) -> int:
        files = [(BytesIO(content), "mail.eml") for content in contents]
        return ann.post("/add/file", data={"message": files}).status_code

    assert upload(small, large) == 429
    assert rows(engine, "messages") == 0
    assert upload(small) == 303
    assert upload(large) == 429
    assert rows(engine, "messages") == 1


def test_a_network_that_guesses_tokens_is_slowed_and_a_valid_one_still_works(
    engine: Engine, settings: Settings, people: People
) -> None:
    app, ann = site(engine, settings, failed_tokens_per_minute=3, trusted_proxies=1), people.ann()

    def ask(token: str, address: str) -> TestResponse:
        headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": address}
        return app.test_client().get("/api/v1/snoozes", headers=headers)

    statuses = [ask(f"snz_{number}", "198.51.100.7").status_code for number in range(7)]
    assert set(statuses) == {401, 429}
    assert statuses[:3] == [401] * 3
    assert ask(ann.token, "198.51.100.7").status_code == 200
    assert ask("snz_x", "198.51.100.8").status_code == 401


def test_a_network_gets_so_many_sign_in_mails_with_or_without_an_account(
    engine: Engine, settings: Settings, people: People
) -> None:
    people.ann()
    app = site(engine, settings, sign_ins_per_hour=2)
    for email in (ANN, BOB):
        assert app.test_client().post("/sign-in", data={"email": email}).status_code == 303
    for email in (ANN, BOB):
        assert app.test_client().post("/sign-in", data={"email": email}).status_code == 429
    assert rows(engine, "sign_ins WHERE code_hash IS NOT NULL") == 2


def test_a_network_that_used_up_its_sign_ins_locks_out_no_browser_that_was_signed_in(
    engine: Engine, settings: Settings, people: People
) -> None:
    """Behind a proxy that is not named in the settings all people are one network."""
    people.ann()
    app = site(engine, settings, sign_ins_per_hour=1)
    ann = app.test_client()
    with engine.begin() as connection:
        token = accounts.console_sign_in_token(connection, email=ANN)
    assert ann.post(f"/sign-in/{token}").status_code == 303
    ann.post("/sign-out")
    statuses = [app.test_client().post("/sign-in", data={"email": BOB}).status_code for _ in range(3)]
    assert statuses[-1] == 429
    assert ann.post("/sign-in", data={"email": ANN}).status_code == 303
    assert ann.post("/sign-in", data={"email": BOB}).status_code == 429


def test_a_mailbox_takes_so_many_mails_a_day_and_others_are_not_delayed(
    engine: Engine, settings: Settings, people: People
) -> None:
    people.ann()
    people.ann(BOB)
    limits = settings.model_copy(update={"mails_per_day": 2}).limits

    def deliver(*recipients: str) -> list[str]:
        incoming = IncomingMail(mail_from="x@y.example", rcpt_to=recipients, original=an_original())
        return [reply[:3] for reply in inbound.store(engine, incoming, limits=limits)]

    assert [deliver(ANN), deliver(ANN)] == [["250"], ["250"]]
    assert deliver(ANN, BOB, "unknown@snoozer.example") == ["452", "250", "550"]
    assert rows(engine, "messages") == 3


def test_a_mailbox_takes_so_many_bytes_a_day(engine: Engine, settings: Settings, people: People) -> None:
    people.ann()
    limits = settings.model_copy(update={"mail_bytes_per_day": 2_500}).limits
    replies: list[str] = []
    for size in (1_500, 1_500, 100):
        incoming = IncomingMail(mail_from="x@y.example", rcpt_to=(ANN,), original=an_original(body="x" * size))
        replies += inbound.store(engine, incoming, limits=limits)
    assert [reply[:3] for reply in replies] == ["250", "452", "250"]


NO_LIMIT = dict.fromkeys(
    (
        *("snoozes_per_day", "snoozes_per_minute", "token_snoozes_per_minute"),
        *("requests_per_minute", "token_requests_per_minute"),
    ),
    0,
)


def test_zero_is_no_limit_and_costs_no_write(engine: Engine, settings: Settings, people: People) -> None:
    assert create(site(engine, settings, **NO_LIMIT), people.ann().bearer, 1).status_code == 201
    assert rows(engine, "quota_usage") == 0


def test_no_address_and_no_token_is_stored_with_the_usage(engine: Engine, settings: Settings, people: People) -> None:
    ann = people.ann()
    create(site(engine, settings), ann.bearer, 1)
    with engine.connect() as connection:
        subjects = connection.execute(text("SELECT subject FROM quota_usage")).scalars().all()
    assert len(subjects) == 5
    assert not any(secret in subject for subject in subjects for secret in (ANN, ann.token))


def test_usage_of_past_days_is_deleted(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO quota_usage (quota, subject, period_start, amount) "
                "SELECT 'old', n::text, now() - INTERVAL '3 days', 1 FROM generate_series(1, 20) AS n "
                "UNION ALL SELECT 'new', 'x', now(), 1"
            )
        )
        assert quotas.prune(connection, batch_size=5) == 5
    chores.prune(engine)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT quota FROM quota_usage")).scalars().all() == ["new"]


def test_what_is_brought_back_counts_as_a_snooze(engine: Engine, settings: Settings, people: People) -> None:
    """Its mail is one at once: a repetition could be brought back again and again."""
    ann = people.ann()
    page = browser(site(engine, settings, snoozes_per_day=2), ann.session)
    daily = Recurrence(unit="day", interval=1, start=now().date(), at=time(9)).as_json()
    id = a_snooze(engine, remind_at=now() + HOUR, recurrence=daily, zone="UTC", time_kind="wall")
    answers = [page.post(f"/snoozes/{id}/{act}").status_code for act in ("pause", "resume", "pause", "resume", "back")]
    assert answers == [303, 303, 303, 303, 429]
    assert rows(engine, "reminder_sends") == 0


def test_a_file_that_is_no_export_is_counted_like_one(engine: Engine, settings: Settings, people: People) -> None:
    page = browser(site(engine, settings, exports_per_hour=2), people.ann().session)
    answers = [
        page.post("/settings/data/import", data={"file": (BytesIO(b"nonsense"), "x.json")}).status_code
        for _ in range(3)
    ]
    assert answers == [422, 422, 429]
