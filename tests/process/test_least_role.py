"""Two database roles: the owner migrates, and web, worker and clock do all their work with a role that may do less."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError

from snoozer.db import audit, schema
from snoozer.db.audit import Entry
from snoozer.db.engine import make_engine
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.db.operations import an_operation
from tests.factories import People, a_snooze, now, the_events, the_row
from tests.process.cli.running import refusal, run_command
from tests.process.conftest import TIMEOUT, Field, Sink

ROLE = "snoozer_app"
# Tables that clock and mailbox process write all the time, and their words if they may not.
WRITTEN = ("housekeeping_runs", "mailbox_watchers")
LOGGED = r"the chore [\w ]+ is refused|mailboxes are looked at later"


@dataclass
class Roles:
    """The owner's way to a database, and the one of the role that was granted the least."""

    owner: Engine
    app: Engine


@pytest.fixture(scope="module")
def roles(migrated: Engine) -> Iterator[Roles]:
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP DATABASE IF EXISTS least"))
        connection.execute(text("CREATE DATABASE least TEMPLATE template0 ENCODING 'UTF8'"))
        connection.execute(text(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'least'"))
    url = migrated.url.set(database="least")
    owner = make_engine(url.render_as_string(hide_password=False), name="owner")
    app_url = url.set(username=ROLE, password="least")
    app = make_engine(app_url.render_as_string(hide_password=False), name="app")
    schema.upgrade(owner)
    assert schema.grant(owner, role=ROLE) == [ROLE]
    yield Roles(owner=owner, app=app)
    app.dispose()
    owner.dispose()
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP DATABASE least WITH (FORCE)"))
        connection.execute(text(f"DROP ROLE {ROLE}"))


def test_web_worker_and_clock_do_their_work_with_the_least_role(
    roles: Roles, settings: Settings, sink: Sink, tmp_path: Path
) -> None:
    place = Field(engine=roles.app, sink=sink, home=tmp_path / "home")
    app = create_app(engine=roles.app, settings=settings)
    app.config["WTF_CSRF_ENABLED"] = False
    browser = app.test_client()
    ann = People(roles.app).ann(role="operator")
    browser.set_cookie("snoozer_session", ann.session)
    wanted = {"message_id": "<lease@mail.example>", "when": "in 1 hour"}
    assert browser.post("/api/v1/snoozes", json=wanted, headers=ann.bearer).status_code == 201
    with roles.owner.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 minute'"))
        id = connection.execute(text("SELECT id FROM email_snoozes")).scalar_one()
    worker = place.run("worker", "--drain")
    assert (worker.returncode, the_row(roles.owner, id).outcome) == (0, "sent"), worker.stderr
    assert len(sink.accepted()) == 1
    case = a_snooze(roles.app, inactive=True, outcome="retired", finished_at=now(), last_error="550 no")
    form = {"as_of": "2099-01-01T00:00:00+00:00", "why": "x", "act": "dismiss", "id": case, "from": "case"}
    assert browser.post("/admin/operations", data=form).status_code == 303
    assert (the_row(roles.owner, case).outcome, "dismissed" in the_events(roles.owner, case)) == ("cancelled", True)
    many = an_operation(roles.app, act="reactivate", ids=[case])
    with roles.owner.begin() as connection:
        old = "UPDATE email_snoozes SET finished_at = now() - INTERVAL '40 days' WHERE outcome = 'sent'"
        connection.execute(text(old))
    clock = place.run("clock", "--once")
    assert (clock.returncode, "Traceback" in clock.stderr, "permission" in clock.stderr) == (0, False, False), (
        clock.stderr
    )
    with roles.owner.connect() as connection:
        archived = connection.execute(text("SELECT count(*) FROM email_snoozes_archive")).scalar_one()
        months = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'email_snoozes_archive'::regclass"
        assert (archived, connection.execute(text(months)).scalar_one() >= 3) == (1, True)
        finished = "SELECT finished_at IS NOT NULL FROM operations WHERE id = :id"
        assert connection.execute(text(finished), {"id": many}).scalar_one()
        owners = "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relname ~ '_archive_[0-9]'"
        assert connection.execute(text(owners)).scalars().all() == [roles.owner.url.username]
    for path in (
        "/",
        "/mailbox",
        "/admin",
        "/admin/cases",
        f"/admin/cases/{case}",
        "/admin/audit",
        "/admin/operations",
    ):
        assert browser.get(path).status_code == 200, path
    doctor = run_command("doctor", engine=roles.app, home=tmp_path)
    assert "permission denied" not in doctor.stdout + doctor.stderr


REFUSED = [
    "CREATE TABLE mine (id int)",
    "DROP TABLE snooze_events",
    "ALTER TABLE audit_log DISABLE TRIGGER audit_log_keep",
    "ALTER TABLE email_snoozes DISABLE TRIGGER ALL",
    "DROP TRIGGER reminder_sends_keep_sent ON reminder_sends",
    "TRUNCATE email_snoozes",
    "UPDATE audit_log SET act = 'x'",
    "DELETE FROM audit_log",
    "TRUNCATE audit_log",
    "UPDATE snooze_events SET actor = 'clock'",
    "UPDATE alembic_version SET version_num = '0001'",
    "CREATE OR REPLACE FUNCTION audit_log_refuse() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TRIGGER mine BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_refuse()",
    "SET session_replication_role = replica",
    "SELECT snooze_archive_prepare('2999-01-01')",
    "CREATE ROLE another",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_the_least_role_is_refused_what_it_does_not_need(roles: Roles, statement: str) -> None:
    with roles.app.begin() as connection:
        audit.append(connection, actor="command", act="x", entries=[Entry()])
    with (
        roles.app.connect() as connection,
        pytest.raises(ProgrammingError, match=r"permission denied|must be owner|so early"),
    ):
        connection.execute(text(statement))
        connection.commit()


def test_no_month_of_the_archive_is_dropped_early_by_the_least_role(roles: Roles) -> None:
    this_month = now().date().replace(day=1)
    before = (this_month - timedelta(days=62)).replace(day=1)
    with roles.app.begin() as connection:
        for month in (before, this_month):
            connection.execute(text("SELECT snooze_archive_prepare(:month)"), {"month": month})
        dropped = connection.execute(text("SELECT snooze_archive_expire('2999-01-01')")).scalars().all()
    assert dropped == [f"{table}_archive_{before:%Y_%m}" for table in ("email_snoozes", "reminder_sends")]


def test_a_temporary_table_of_its_name_does_not_lead_the_chain_astray(roles: Roles) -> None:
    with roles.app.begin() as connection:
        audit.append(connection, actor="command", act="x", entries=[Entry()])
    with roles.app.connect() as connection:
        connection.execute(text("CREATE TEMPORARY TABLE audit_log (LIKE public.audit_log)"))
        into = "INSERT INTO public.audit_log (actor, act) VALUES ('command', 'y')"
        connection.execute(text(into))
        connection.commit()
    with roles.owner.connect() as connection:
        assert audit.check_links(connection, after_id=0).broken_at is None


def test_grants_are_made_again_at_each_migrate_for_what_is_new(roles: Roles, tmp_path: Path) -> None:
    with roles.owner.begin() as connection:
        # As after a migration that made a table anew, and by a hand that gave too much.
        connection.execute(text(f"REVOKE ALL ON digests FROM {ROLE}; GRANT UPDATE ON audit_log TO {ROLE}"))
    migrated = run_command("migrate", engine=roles.owner, home=tmp_path)
    assert (migrated.returncode, f"The role {ROLE} has the rights" in migrated.stdout) == (0, True)
    rights = "SELECT has_table_privilege(:role, :table, :right)"
    with roles.owner.connect() as connection:
        found = [
            connection.execute(text(rights), {"role": ROLE, "table": table, "right": right}).scalar_one()
            for table, right in (("digests", "DELETE"), ("audit_log", "UPDATE"), ("audit_log", "INSERT"))
        ]
    assert found == [True, False, True]
    again = run_command("migrate", "--grant", ROLE, engine=roles.owner, home=tmp_path)
    assert (again.returncode, again.stdout.count("has the rights")) == (0, 1)


def test_a_role_that_is_not_there_or_is_the_owner_is_refused(roles: Roles, tmp_path: Path) -> None:
    assert "There is no role stranger; make it first" in refusal(
        "migrate", "--grant", "stranger", engine=roles.owner, home=tmp_path
    )
    owner = str(roles.owner.url.username)
    assert "owns the tables" in refusal("migrate", "--grant", owner, engine=roles.owner, home=tmp_path)
    assert "Only the owner" in refusal("migrate", "--grant", ROLE, engine=roles.app, home=tmp_path)
    assert run_command("migrate", engine=roles.app, home=tmp_path).returncode == 0


def test_a_role_with_a_strange_name_is_granted_and_nothing_else_happens(empty_database: Engine) -> None:
    name = 'app"; DROP TABLE accounts; --'
    with empty_database.begin() as connection:
        connection.exec_driver_sql('CREATE ROLE "app""; DROP TABLE accounts; --"')
    try:
        schema.upgrade(empty_database)
        assert schema.grant(empty_database, role=name) == [name]
        with empty_database.connect() as connection:
            assert connection.execute(text("SELECT count(*) FROM accounts")).scalar_one() == 0
    finally:
        with empty_database.begin() as connection:
            connection.exec_driver_sql('DROP OWNED BY "app""; DROP TABLE accounts; --"')
            connection.exec_driver_sql('DROP ROLE "app""; DROP TABLE accounts; --"')


@pytest.mark.parametrize("command", ["clock", "mailbox"])
def test_a_process_that_is_refused_says_so_and_stops_when_asked(
    command: str, roles: Roles, sink: Sink, tmp_path: Path
) -> None:
    with roles.owner.begin() as connection:
        connection.execute(text(f"REVOKE INSERT, UPDATE ON {', '.join(WRITTEN)} FROM {ROLE}"))
    try:
        process = Field(engine=roles.app, sink=sink, home=tmp_path / "home").start(command)
        assert process.stderr is not None
        refused = next(line for line in process.stderr if "SQLSTATE 42501" in line)
        assert re.search(LOGGED, refused), refused
        process.terminate()
        process.communicate(timeout=TIMEOUT)
    finally:
        schema.grant(roles.owner)
    assert process.returncode == 0
