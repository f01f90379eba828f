"""docs/keeping.md, run: a dump that is restored elsewhere is the same Snoozer, to its owner's links too."""

import os
import re
import subprocess
from pathlib import Path

from sqlalchemy import Engine

from snoozer.db import health_checks, schema, timeline
from snoozer.dev import binaries
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.conftest import missing
from tests.factories import HOUR, a_kept_message, a_snooze, now, the_row
from tests.web.reminders import a_link, a_sent_reminder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "keeping.md"


def on_the_page(program: str, engine: Engine, folder: Path) -> None:
    """Run the line of the page that calls this program."""
    wanted = os.environ.get("SNOOZER_PG_BIN")
    place = binaries.find(wanted=Path(wanted) if wanted else None).folder
    if not (place / program).exists():
        missing(program)
    found = re.search(rf"^{program} .*$", PAGE.read_text(), re.M)
    assert found
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    environment = {"PATH": f"{place}:{os.environ['PATH']}", "DATABASE_URL": url}
    subprocess.run(["sh", "-c", found.group()], cwd=folder, env=environment, check=True, timeout=60)


def test_a_restored_dump_is_the_same_place(
    engine: Engine, empty_database: Engine, settings: Settings, tmp_path: Path
) -> None:
    sent = a_sent_reminder(engine)
    asleep = a_snooze(engine, remind_at=now() + HOUR, note="ask Bob")
    a_kept_message(engine)
    path = a_link(engine, settings, sent)
    with engine.begin() as connection:
        timeline.accept(connection, accepted_by="tests")
    on_the_page("pg_dump", engine, tmp_path)
    on_the_page("pg_restore", empty_database, tmp_path)
    schema.upgrade(empty_database)
    for id in (sent, asleep):
        assert the_row(empty_database, id) == the_row(engine, id)
    with empty_database.connect() as connection:
        change = timeline.change(connection)
        assert change is not None
        assert change.what == "database"
        assert schema.status(connection).where == "at head"
        assert health_checks.disabled_guards(connection) == []
        health_checks.set_thresholds(connection, lease=settings.lease, sweep=settings.sweep, backoff=settings.backoff)
        assert [name for name in health_checks.INVARIANTS if health_checks.violations(connection, name)] == []
    assert create_app(engine=empty_database, settings=settings).test_client().get(path).status_code == 200
    other = Settings.model_validate(settings.model_dump(by_alias=True) | {"SECRET_KEY": "another-key-of-enough-length"})
    answer = create_app(engine=empty_database, settings=other).test_client().get(path)
    assert (answer.status_code, "This link is not one of ours" in answer.text) == (404, True)
