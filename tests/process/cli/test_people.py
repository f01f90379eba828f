"""`snoozer account` and `snoozer token`: what an operator does about people, and what is said of it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine

from snoozer import accounts
from snoozer.cli import commands
from tests.factories import ANN, People

Say = Callable[..., Result]


@pytest.fixture
def say(engine: Engine, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """One command of the product; answers what it said and how it ended."""
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    monkeypatch.setenv("SNOOZER_HOME", str(tmp_path))
    return lambda *words: CliRunner().invoke(commands, words)


def test_tokens_are_listed_by_number_and_never_shown(say: Say, people: People) -> None:
    people.ann("bob@snoozer.example")
    ann = people.ann()
    made = say("token", "create", ANN).stdout.strip()
    assert made.startswith(accounts.TOKEN_PREFIX)
    for listed in (say("token", "list", ANN), say("token", "list")):
        assert listed.exit_code == 0
        assert listed.stdout.count("in force") == (2 if listed.stdout.count("bob@") == 0 else 3)
        for secret in (made, ann.token, accounts.digest(made)):
            assert secret not in listed.stdout
    assert "No tokens." in say("token", "list", "nobody@snoozer.example").stdout


def test_a_revoked_token_is_said_by_number_and_owner(say: Say, people: People, engine: Engine) -> None:
    token = people.ann().token
    revoked = say("token", "revoke", token)
    assert (revoked.exit_code, revoked.stdout) == (0, f"Revoked token 1 of {ANN}.\n")
    assert "revoked 20" in say("token", "list", ANN).stdout
    again = say("token", "revoke", "1")
    assert (again.exit_code, again.stdout) == (2, "")
    assert "no such token in force" in again.stderr
    with engine.connect() as connection:
        assert accounts.token_account(connection, token=token) is None


def test_an_account_is_closed_and_opened_again(say: Say, people: People) -> None:
    people.ann()
    closed = say("account", "close", ANN)
    assert (closed.exit_code, closed.stdout) == (
        0,
        f"Closed the account {ANN}: 1 session ended, its tokens are refused.\n",
    )
    assert "closed already" in say("account", "close", ANN).stdout
    assert "the account is closed" in say("token", "list", ANN).stdout
    for command in (("token", "create", ANN), ("account", "sign-in", ANN)):
        refused = say(*command)
        assert refused.exit_code == 2
        assert "snoozer account open" in refused.stderr
    assert say("account", "open", ANN).stdout == f"Opened the account {ANN}.\n"
    assert "open already" in say("account", "open", ANN).stdout
    assert say("token", "create", ANN).exit_code == 0
    for act in ("close", "open"):
        nobody = say("account", act, "nobody@snoozer.example")
        assert nobody.exit_code == 2
        assert "no such account" in nobody.stderr


def test_what_creating_an_account_again_changed_is_said(say: Say) -> None:
    assert say("account", "create", ANN).stdout == f"Created the account {ANN} (user).\n"
    assert say("account", "create", ANN, "--role", "admin").stdout == f"Changed the account {ANN} from user to admin.\n"
    for role in ((), ("--role", "admin")):
        again = say("account", "create", ANN, *role).stdout
        assert again == f"There is already the account {ANN} (admin); nothing was changed.\n"
    say("account", "close", ANN)
    assert "It is closed" in say("account", "create", ANN).stdout
