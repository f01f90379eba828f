"""`snoozer account` and `snoozer token`: what they do and what they print."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Engine, text

from snoozer.cli import commands
from snoozer.db.queries import audit as queries
from snoozer.db.queries.audit import Filter
from snoozer.people import api_tokens
from snoozer.runtime import secret_keys
from snoozer.timephrase.day_shape import DayShape
from tests.db.days import choose
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, now

Run = Callable[..., Result]


@pytest.fixture
def run(engine: Engine, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs one command; returns its output and exit code."""
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    monkeypatch.setenv("SNOOZER_HOME", str(tmp_path))
    return lambda *words: CliRunner().invoke(commands, words)


def test_tokens_are_listed_by_number_and_never_shown(run: Run, people: People) -> None:
    people.ann("bob@snoozer.example")
    ann = people.ann()
    made = run("token", "create", ANN).stdout.strip()
    assert made.startswith(api_tokens.PREFIX)
    for listed in (run("token", "list", ANN), run("token", "list")):
        assert listed.exit_code == 0
        assert listed.stdout.count("in force") == (2 if listed.stdout.count("bob@") == 0 else 3)
        for secret in (made, ann.token, secret_keys.digest(made)):
            assert secret not in listed.stdout
    assert "No tokens." in run("token", "list", "unknown@snoozer.example").stdout


def test_a_token_is_made_with_a_name_scopes_and_an_end(run: Run, people: People, engine: Engine) -> None:
    people.ann()
    words = ("token", "create", ANN, "--name", "Backup", "--scope", "snoozes:read", "--expires", "in 90 days")
    made = run(*words)
    assert made.exit_code == 0
    with engine.connect() as connection:
        found = api_tokens.find(connection, secret=made.stdout.strip())
        assert found is not None
        assert found.scopes == frozenset({"snoozes:read"})
        [token] = [each for each in api_tokens.list_all(connection, email=ANN) if each.id == found.id]
    assert (token.name, token.expires_at is not None) == ("Backup", True)
    for wrong in ("gibberish", "every monday 9am", "until they reply", "when I am back"):
        refused = run("token", "create", ANN, "--expires", wrong)
        assert (refused.exit_code, refused.stdout) == (2, ""), wrong
    assert run("token", "create", ANN, "--scope", "root").exit_code == 2


def test_a_token_may_last_until_its_owner_is_back(run: Run, people: People, engine: Engine) -> None:
    people.ann(zone="UTC")
    today = now().date()
    choose(engine, DayShape(away_from=today, back_on=today + timedelta(days=10)), email=ANN)
    made = run("token", "create", ANN, "--name", "Vacation", "--expires", "when I am back")
    assert made.exit_code == 0, made.output
    with engine.connect() as connection:
        [expires] = [each.expires_at for each in api_tokens.list_all(connection, email=ANN) if each.name == "Vacation"]
    assert expires == datetime.combine(today + timedelta(days=10), time(9), tzinfo=UTC)


def test_a_revoked_token_is_reported_by_number_and_owner(run: Run, people: People, engine: Engine) -> None:
    token = people.ann().token
    revoked = run("token", "revoke", token)
    assert (revoked.exit_code, revoked.stdout) == (0, f"Revoked token 1 of {ANN}.\n")
    assert "revoked 20" in run("token", "list", ANN).stdout
    again = run("token", "revoke", "1")
    assert (again.exit_code, again.stdout) == (2, "")
    assert "no such token in force" in again.stderr
    with engine.connect() as connection:
        assert api_tokens.find(connection, secret=token) is None


def test_all_that_is_stored_of_a_person_is_exported(run: Run, people: People, tmp_path: Path) -> None:
    people.ann()
    people.ann("bob@snoozer.example")
    assert [record["type"] for record in json.loads(run("account", "export", ANN).stdout)][:2] == ["export", "account"]
    file = tmp_path / "ann.ics"
    assert run("account", "export", ANN, "--format", "ics", "-o", str(file)).exit_code == 0
    assert file.read_bytes().startswith(b"BEGIN:VCALENDAR")
    unknown = run("account", "export", "unknown@snoozer.example")
    assert (unknown.exit_code, unknown.stdout) == (2, "")


def test_an_export_is_imported_into_another_account(run: Run, people: People, engine: Engine, tmp_path: Path) -> None:
    people.ann()
    people.ann("bob@snoozer.example")
    a_snooze(engine, remind_at=now() - HOUR)
    a_snooze(engine, remind_at=now() + HOUR)
    a_kept_message(engine)
    for kind in ("json", "zip"):
        run("account", "export", ANN, "--format", kind, "-o", str(tmp_path / kind))
    imported = run("account", "import", "bob@snoozer.example", str(tmp_path / "json"), "--past", "history")
    assert imported.stdout.startswith("Snoozes: 1 come back here, 1 are history, 0 were here already, 0 were refused.")
    again = run("account", "import", "bob@snoozer.example", str(tmp_path / "json"))
    assert again.stdout.startswith("Snoozes: 0 come back here, 0 are history, 2 were here already")
    assert run("account", "import", "bob@snoozer.example", str(tmp_path / "zip")).stdout.startswith(
        "Messages: 1 are kept"
    )
    (tmp_path / "empty").touch()
    for email, file in ((ANN, "empty"), ("unknown@snoozer.example", "json")):
        refused = run("account", "import", email, str(tmp_path / file))
        assert (refused.exit_code, refused.stdout) == (2, "")
    with engine.connect() as connection:
        owners = text("SELECT count(*) FROM email_snoozes WHERE user_email = 'bob@snoozer.example'")
        assert connection.execute(owners).scalar_one() == 1


def test_an_account_is_closed_and_opened_again(run: Run, people: People) -> None:
    people.ann()
    closed = run("account", "close", ANN)
    assert (closed.exit_code, closed.stdout) == (
        0,
        f"Closed the account {ANN}: 1 session ended, its tokens are refused.\n",
    )
    assert "closed already" in run("account", "close", ANN).stdout
    assert "the account is closed" in run("token", "list", ANN).stdout
    for command in (("token", "create", ANN), ("account", "sign-in", ANN)):
        refused = run(*command)
        assert refused.exit_code == 2
        assert "snoozer account open" in refused.stderr
    assert run("account", "open", ANN).stdout == f"Opened the account {ANN}.\n"
    assert "open already" in run("account", "open", ANN).stdout
    assert run("token", "create", ANN).exit_code == 0
    for act in ("close", "open"):
        unknown = run("account", act, "unknown@snoozer.example")
        assert unknown.exit_code == 2
        assert "no such account" in unknown.stderr


def test_what_creating_an_account_again_changed_is_reported(run: Run) -> None:
    assert run("account", "create", ANN).stdout == f"Created the account {ANN} (user).\n"
    assert run("account", "create", ANN, "--role", "admin").stdout == f"Changed the account {ANN} from user to admin.\n"
    for role in ((), ("--role", "admin")):
        again = run("account", "create", ANN, *role).stdout
        assert again == f"There is already the account {ANN} (admin); nothing was changed.\n"
    last = run("account", "close", ANN)
    assert (last.exit_code, last.stdout) == (2, "")
    assert "last admin" in last.stderr
    run("account", "create", "vera@snoozer.example", "--role", "admin")
    assert "Closed the account" in run("account", "close", ANN).stdout
    assert "last admin" in run("account", "close", "vera@snoozer.example").stderr
    assert "It is closed" in run("account", "create", ANN).stdout


def test_a_role_is_given_by_command_and_stands_in_the_audit_log(run: Run, people: People, engine: Engine) -> None:
    people.ann(role="admin")
    people.ann("vera@snoozer.example")
    last = run("account", "role", ANN, "viewer")
    assert (last.exit_code, last.stdout) == (2, "")
    assert "last admin" in last.stderr
    assert "last admin" in run("account", "create", ANN, "--role", "user").stderr
    given = run("account", "role", "vera@snoozer.example", "admin", "--reason", "she asked")
    assert given.stdout == "Changed the account vera@snoozer.example from user to admin.\n"
    assert run("account", "role", ANN, "viewer").exit_code == 0
    assert "already" in run("account", "role", ANN, "viewer").stdout
    assert run("account", "role", "unknown@snoozer.example", "viewer").exit_code == 2
    assert run("account", "role", ANN, "king").exit_code == 2
    run("account", "create", "new@snoozer.example", "--role", "operator")
    with engine.connect() as connection:
        rows = queries.page(connection, Filter()).rows
    assert [(row.actor, row.reason, row.before, row.after) for row in rows] == [
        ("command", None, {"role": None}, {"role": "operator"}),
        ("command", None, {"role": "admin"}, {"role": "viewer"}),
        ("command", "she asked", {"role": "user"}, {"role": "admin"}),
    ]
    listed = run("account", "list").stdout
    assert [listed.index(name) for name in ("vera@", "new@", "ann@")] == sorted(
        listed.index(name) for name in ("vera@", "new@", "ann@")
    )
    assert "ann@" not in run("account", "list", "--role", "admin").stdout


def test_what_commands_do_to_an_account_stands_in_the_audit_log(run: Run, people: People, engine: Engine) -> None:
    people.ann()
    for act in ("close", "close", "open", "sign-in", "export", "unlink"):
        assert run("account", act, ANN).exit_code == 0
    run("token", "create", ANN)
    run("token", "revoke", ANN)
    run("account", "sign-in", "unknown@snoozer.example")
    with engine.connect() as connection:
        rows = queries.page(connection, Filter()).rows
    acts = [(row.act, row.target) for row in reversed(rows)]
    assert acts[:-2] == [
        *(("close_account", "account:1"), ("open_account", "account:1"), ("print_sign_in", "account:1")),
        *(("export_data", "account:1"), ("create_token", "account:1")),
    ]
    assert set(acts[-2:]) == {("revoke_token", "token:1"), ("revoke_token", "token:2")}


def test_the_audit_log_is_checked_by_command(run: Run, people: People, engine: Engine) -> None:
    assert run("audit").stdout == "The audit log is empty.\n"
    people.ann()
    for role in ("viewer", "operator", "admin"):
        run("account", "role", ANN, role)
    whole = run("audit")
    mark = whole.stdout.splitlines()[-1]
    assert whole.stdout.startswith("3 entries fit.")
    assert mark.startswith("3:")
    run("account", "create", "new@snoozer.example", "--role", "admin")
    assert run("audit", "--mark", mark).exit_code == 0
    assert run("audit", "--mark", "3:x").exit_code == 2
    # As a superuser can, with a chain that is made anew.
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        connection.execute(text("DELETE FROM audit_log WHERE id > 2"))
        connection.execute(text("SET LOCAL session_replication_role = origin"))
        again = "INSERT INTO audit_log (actor, act) VALUES ('command', 'x'), ('command', 'y')"
        connection.execute(text(again))
    assert run("audit").exit_code == 0
    changed = run("audit", "--mark", mark)
    assert (changed.exit_code, "Entry 3 is not the one of the mark" in changed.stdout) == (1, True)
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        connection.execute(text("UPDATE audit_log SET act = 'z' WHERE id = 2"))
    changed = run("audit")
    assert (changed.exit_code, "Entry 2 does not fit" in changed.stdout) == (1, True)
