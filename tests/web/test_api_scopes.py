"""What a token may do, asked for by the route's own description; and tokens that have expired."""

from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.db.scopes import ALL_SCOPES, Scope
from snoozer.people import api_tokens
from tests.factories import ANN, People, now
from tests.web.problems import is_problem

SNOOZES = "/api/v1/snoozes"


@pytest.fixture(autouse=True)
def ann(people: People) -> None:
    people.ann()


def bearer(engine: Engine, *scopes: Scope, end: timedelta | None = None) -> dict[str, str]:
    with engine.begin() as connection:
        made = api_tokens.create(connection, email=ANN, scopes=scopes, expires_at=now() + end if end else None)
        assert made is not None
    return {"Authorization": f"Bearer {made.secret}"}


def test_a_token_without_the_scope_is_refused_with_its_name(client: FlaskClient, engine: Engine) -> None:
    others = bearer(engine, *(scope for scope in ALL_SCOPES if scope != Scope.SNOOZES_WRITE))
    answer = client.post(SNOOZES, headers=others, json={"message_id": "m", "when": "tomorrow"})
    assert is_problem(answer, 403, "insufficient_scope")["scope"] == "snoozes:write"
    assert answer.headers["WWW-Authenticate"] == (
        'Bearer realm="snoozer", error="insufficient_scope", scope="snoozes:write"'
    )
    assert client.get(SNOOZES, headers=others).get_json()["snoozes"] == []
    writer = bearer(engine, Scope.SNOOZES_WRITE)
    assert client.post(SNOOZES, headers=writer, json={"message_id": "m", "when": "tomorrow"}).status_code == 201
    is_problem(client.get(SNOOZES, headers=writer), 403, "insufficient_scope")


def test_an_expired_token_is_refused_with_a_code_of_its_own(client: FlaskClient, engine: Engine) -> None:
    answer = client.get(SNOOZES, headers=bearer(engine, *ALL_SCOPES, end=-timedelta(seconds=1)))
    assert "expired" in is_problem(answer, 401, "token_expired")["detail"]
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="snoozer", error="invalid_token"'
    assert client.get(SNOOZES, headers=bearer(engine, *ALL_SCOPES, end=timedelta(hours=1))).status_code == 200
