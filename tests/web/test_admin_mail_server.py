"""What the operator's page says of a mail server: when it last worked and failed, not that it is in use."""

from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, insert, text

from snoozer.db.models import CircuitBreaker
from tests.factories import now
from tests.web.cases import page, visible_text

MINUTE = timedelta(minutes=1)


def a_breaker(engine: Engine, **columns: Any) -> None:
    with engine.begin() as connection:
        connection.execute(insert(CircuitBreaker).values(server="mx.example:25", **columns))


@pytest.mark.parametrize(
    ("worked", "failed", "words"),
    [
        (None, None, "not tried yet when it last worked is not known"),
        (5, None, "worked when last tried it last worked 5 minutes ago"),
        (5, 9, "worked when last tried it last worked 5 minutes ago; it last failed 9 minutes ago"),
        (9, 5, "failed when last tried it last worked 9 minutes ago; it last failed 5 minutes ago"),
        (None, 5, "failed when last tried it last failed 5 minutes ago"),
    ],
)
def test_a_breaker_that_is_closed_says_when_the_server_last_worked_and_failed(
    operator: FlaskClient, engine: Engine, worked: int | None, failed: int | None, words: str
) -> None:
    """After an outage in which nothing was tried any more, the page called it in use."""
    times = {"last_success_at": worked, "last_failure_at": failed}
    a_breaker(engine, **{name: ago and now() - ago * MINUTE for name, ago in times.items()})
    shown = visible_text(page(operator, "/admin"))
    assert f"Mail server mx.example:25 {words}" in shown
    assert "in use" not in shown


def test_one_that_is_not_closed_says_it_too(operator: FlaskClient, engine: Engine) -> None:
    a_breaker(engine, state="open", failures=5, opened_at=now() - 2 * MINUTE, last_success_at=now() - 9 * MINUTE)
    shown = visible_text(page(operator, "/admin"))
    assert "left alone 5 failures in a row; for 2 minutes; it last worked 9 minutes ago" in shown


def test_without_a_worker_that_asked_nothing_is_claimed_of_a_server(operator: FlaskClient, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE circuit_breakers"))
    assert "Mail server not tried yet" in visible_text(page(operator, "/admin"))
