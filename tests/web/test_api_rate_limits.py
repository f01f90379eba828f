"""Requests a minute of a token and a person: never more in all processes together, and headers say what is left."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from flask import Flask
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from snoozer.people import quotas
from snoozer.people.quotas import Share
from snoozer.settings import Settings
from snoozer.web import create_app
from snoozer.web.api import rate_limits
from tests.factories import People, now
from tests.web.problems import is_problem

LIST = "/api/v1/snoozes"


def site(engine: Engine, settings: Settings, **limits: int) -> Flask:
    return create_app(engine=engine, settings=settings.model_copy(update=limits))


def ask(app: Flask, bearer: dict[str, str]) -> TestResponse:
    return app.test_client().get(LIST, headers=bearer)


@pytest.fixture(autouse=True)
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A period that no test sees the end of."""
    for name in ("TOKEN_REQUESTS", "REQUESTS"):
        quota: quotas.Quota = getattr(quotas, name)
        monkeypatch.setattr(quotas, name, quotas.Quota(quota.name, timedelta(days=1), quota.words))


def statements(engine: Engine) -> int:
    """How often a share was taken, as the versions of the rows say."""
    with engine.connect() as connection:
        return len(connection.execute(text("SELECT amount FROM quota_usage")).all())


def test_headers_count_down_and_then_the_quota_is_reached(engine: Engine, settings: Settings, people: People) -> None:
    ann, app = people.ann(), site(engine, settings, token_requests_per_minute=3, requests_per_minute=100)
    for left in (2, 1, 0):
        answer = ask(app, ann.bearer)
        assert answer.status_code == 200
        assert answer.headers["RateLimit-Policy"] == (
            '"token_requests_per_minute";q=3;w=86400, "requests_per_minute";q=100;w=86400'
        )
        assert re.match(
            rf'"token_requests_per_minute";r={left};t=\d+, "requests_per_minute";r=9\d;t=\d+$',
            answer.headers["RateLimit"],
        )
    for _ in range(2):
        refused = ask(app, ann.bearer)
        assert is_problem(refused, 429, "quota_reached")["quota"] == "token_requests_per_minute"
        assert 1 <= int(refused.headers["Retry-After"]) <= 86_400
        assert refused.headers["RateLimit"].startswith('"token_requests_per_minute";r=0;t=')
    assert ask(app, people.ann("bob@snoozer.example").bearer).status_code == 200


def test_what_is_left_of_the_quotas_of_snoozes_stands_in_each_answer(
    engine: Engine, settings: Settings, people: People
) -> None:
    """It stood there once they were used up."""
    ann, client = people.ann(), site(engine, settings).test_client()
    body = {"message_id": "<a@x>", "when": "in 3 days"}
    many = {"act": "create", "snoozes": [body, {"message_id": "<b@x>", "when": "in 3 days"}]}
    left = {}
    for path, sent in (("", body), ("/bulk", many)):
        answer = client.post(f"{LIST}{path}", json=sent, headers=ann.bearer)
        left[path] = dict(re.findall(r'"(\w+)";r=(\d+);t=\d+', answer.headers["RateLimit"]))
        assert set(re.findall(r'"(\w+)";q=', answer.headers["RateLimit-Policy"])) == set(left[path])
    day, minute = settings.limits.snoozes_per_day, settings.limits.token_snoozes_per_minute
    assert [left[path]["snoozes_per_day"] for path in left] == [str(day - 1), str(day - 3)]
    assert left["/bulk"]["token_snoozes_per_minute"] in {str(minute - 2), str(minute - 1)}
    asked = client.get(LIST, headers=ann.bearer)
    assert "snoozes_per_day" not in asked.headers["RateLimit"]


def test_a_persons_tokens_share_the_quota_of_the_person(engine: Engine, settings: Settings, people: People) -> None:
    first, second = people.ann(), people.ann()
    app = site(engine, settings, token_requests_per_minute=100, requests_per_minute=5)
    answers = [ask(app, (first, second)[number % 2].bearer).status_code for number in range(7)]
    assert answers == [200] * 5 + [429] * 2


def test_no_quota_is_exceeded_by_threads_of_many_processes(engine: Engine, settings: Settings, people: People) -> None:
    ann = people.ann()
    apps = [site(engine, settings, token_requests_per_minute=70, requests_per_minute=0) for _ in range(2)]
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda number: ask(apps[number % 2], ann.bearer).status_code, range(100)))
    # The other process may hold two of seventy unused.
    assert 68 <= answers.count(200) <= 70
    assert answers.count(429) == 100 - answers.count(200)


def test_far_from_the_limit_few_requests_are_written(engine: Engine, settings: Settings, people: People) -> None:
    ann, app = people.ann(), site(engine, settings, token_requests_per_minute=3_200, requests_per_minute=0)
    for _ in range(100):
        assert ask(app, ann.bearer).status_code == 200
    with engine.connect() as connection:
        assert connection.execute(text("SELECT amount FROM quota_usage")).scalars().all() == [100]
    left = re.search(r"r=(\d+)", ask(app, ann.bearer).headers["RateLimit"])
    assert left is not None
    assert int(left[1]) == 3_200 - 101


def test_without_a_limit_there_is_no_header(engine: Engine, settings: Settings, people: People) -> None:
    ann, app = people.ann(), site(engine, settings, token_requests_per_minute=0, requests_per_minute=0)
    assert [ask(app, ann.bearer).status_code for _ in range(3)] == [200] * 3
    assert "RateLimit" not in ask(app, ann.bearer).headers
    assert statements(engine) == 0


def test_a_share_ends_with_its_period() -> None:
    shares = rate_limits.Shares()
    share = [
        Share(quota=quota, most=60, taken=5, left=55, seconds_left=10.0)
        for quota in (quotas.TOKEN_REQUESTS, quotas.REQUESTS)
    ]
    shares.add("t", "ann", share, now=100.0)
    assert shares.take("t", now=109.0) is not None
    assert shares.take("t", now=110.0) is None
    assert shares.wanted("t", "ann", now=110.0) == dict.fromkeys(
        ("token_requests_per_minute", "requests_per_minute"), None
    )


def test_the_last_use_is_noted_once_a_minute_and_waits_for_no_lock(
    engine: Engine, settings: Settings, people: People
) -> None:
    ann = people.ann()

    def last_used() -> datetime | None:
        with engine.connect() as connection:
            used: datetime | None = connection.execute(text("SELECT last_used_at FROM api_tokens")).scalar_one()
            return used

    with engine.begin() as holder:
        holder.execute(text("SELECT FROM api_tokens FOR UPDATE"))
        assert ask(site(engine, settings), ann.bearer).status_code == 200
    assert last_used() is None
    assert ask(site(engine, settings), ann.bearer).status_code == 200
    first = last_used()
    assert first is not None
    assert now() - first < timedelta(minutes=10)
    assert ask(site(engine, settings), ann.bearer).status_code == 200
    assert last_used() == first
    with engine.begin() as connection:
        connection.execute(text("UPDATE api_tokens SET last_used_at = last_used_at - INTERVAL '61 seconds'"))
    assert ask(site(engine, settings), ann.bearer).status_code == 200
    again = last_used()
    assert again is not None
    assert again >= first
