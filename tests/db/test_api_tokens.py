"""Tokens of programs: what makes one valid, what it may do, and when it stops."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.db.scopes import ALL_SCOPES, Scope
from snoozer.people import accounts, api_tokens
from tests.factories import ANN, HOUR, People, now


@pytest.fixture(autouse=True)
def ann(people: People) -> None:
    people.ann()


def test_a_token_does_what_its_scopes_say_until_its_end(engine: Engine) -> None:
    with engine.begin() as connection:
        made = api_tokens.create(
            connection, email=ANN, name="n" * 80, scopes=[Scope.SNOOZES_READ], expires_at=now() + HOUR
        )
        over = api_tokens.create(connection, email=ANN, expires_at=now() - timedelta(seconds=1))
        assert made is not None
        assert over is not None
        found = api_tokens.find(connection, secret=made.secret)
        assert found is not None
        assert (found.account.email, found.scopes) == (ANN, frozenset({"snoozes:read"}))
        with pytest.raises(api_tokens.TokenExpired):
            api_tokens.find(connection, secret=over.secret)
        listed = {token.id: token for token in api_tokens.list_all(connection, email=ANN)}
        assert listed[made.id].name == "n" * 60
        assert listed[made.id].is_in_force
        assert not listed[over.id].is_in_force


def test_a_token_that_an_earlier_release_makes_may_do_everything(engine: Engine) -> None:
    with engine.begin() as connection:
        made = connection.execute(
            text("INSERT INTO api_tokens (account_id, token_hash) VALUES (1, 'h') RETURNING scopes, expires_at")
        ).one()
    assert (set(made.scopes), made.expires_at) == (set(ALL_SCOPES), None)


def test_a_revoked_token_is_refused_and_the_others_are_not(engine: Engine, people: People) -> None:
    bob = people.ann("bob@snoozer.example")
    with engine.begin() as connection:
        made = [api_tokens.create(connection, email=ANN) for _ in range(3)]
        by_number, by_itself, other = (token.secret if token else "" for token in made)
        number = max(token.id for token in api_tokens.list_all(connection, email=ANN)) - 2
        assert api_tokens.revoke(connection, which=str(number)) == [(number, ANN)]
        assert api_tokens.revoke(connection, which=str(number)) == []
        assert [who for _, who in api_tokens.revoke(connection, which=by_itself)] == [ANN]
        for token, holds in ((by_number, False), (by_itself, False), (other, True), (bob.token, True)):
            assert (api_tokens.find(connection, secret=token) is not None) == holds
        api_tokens.revoke(connection, which=ANN)
        assert api_tokens.find(connection, secret=other) is None
        assert api_tokens.find(connection, secret=bob.token) is not None
        assert api_tokens.revoke(connection, which="9" * 18) == []
        with pytest.raises(accounts.InvalidAddress):
            api_tokens.revoke(connection, which="9" * 30)
