"""The guide for cutting over is executed as it stands on the page: its commands one after another, its Python."""

import json
import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from click.testing import CliRunner
from sqlalchemy import Engine, create_engine, text

from snoozer.cli import commands
from tests.factories import ANN, HOUR, now

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "cut-over.md").read_text()
BLOCKS = re.findall(r"^ *```(sh|python)\n(.+?)^ *```$", PAGE, re.M | re.S)
# A report with a difference ends with 1.
ENDS_WITH = {"shadow report": 1}


def remind(**called_with: str) -> None:
    """What the old scheduler's jobs call."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> Path:
    """A folder as the page supposes it: tables of jobs, a job store, and a table of sends."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", engine.url.render_as_string(hide_password=False))
    monkeypatch.setenv("SNOOZER_HOME", str(tmp_path / "home"))
    due = (now() + HOUR).strftime("%Y-%m-%d %H:%M")
    Path("jobs.csv").write_text(f"job_id,user_email,remind_at,subject\n1,{ANN},{due},Lease\n")
    Path("old.csv").write_text(f"id,owner,due\n1,{ANN},{due}+00:00\n")
    engine_of_log = create_engine("sqlite:///log.sqlite")
    with engine_of_log.begin() as connection:
        connection.execute(text("CREATE TABLE sent_reminders (job TEXT, done_at TEXT)"))
        connection.execute(text("INSERT INTO sent_reminders VALUES ('late', :at)"), {"at": now().isoformat()})
    engine_of_log.dispose()
    return tmp_path


@pytest.mark.usefixtures("place")
def test_every_block_does_what_the_page_says(engine: Engine) -> None:
    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url="sqlite:///scheduler.sqlite")}, timezone="UTC"
    )
    scheduler.start(paused=True)
    for id, due in (("late", now() - HOUR), ("later", now() + HOUR)):
        called = {"user_email": ANN, "title": f"The {id} one"}
        scheduler.add_job(remind, "date", run_date=due, id=id, kwargs=called, misfire_grace_time=7200)
    printed: list[str] = []
    for language, block in BLOCKS:
        if language == "python":
            exec(textwrap.dedent(block), {"scheduler": scheduler})  # noqa: S102 - the page's own
            if "add_listener" in block:
                run_what_is_due(scheduler)
            continue
        for line in block.strip().splitlines():
            printed.append(run(line.strip()))
        if "--apply" in block:
            assert subjects(engine) == ["The later one"]
    assert not scheduler.running
    assert any("would import 1" in each.lower() for each in printed)
    assert any(each.startswith("late  ") and each.split("\n")[0].endswith("  late") for each in printed)
    assert json.loads(Path("sends.log").read_text())["job_id"] == "late"
    assert Path("outcomes.csv").read_text().splitlines()[1].startswith("later,waiting,")
    assert printed[-1] == "Forgot 2.\n"


def run_what_is_due(scheduler: BackgroundScheduler) -> None:
    scheduler.resume()
    job = scheduler.get_job("late")
    while job is not None or not Path("sends.log").exists():
        job = scheduler.get_job("late")
    scheduler.pause()


def run(line: str) -> str:
    """One line of a block; what it printed."""
    command, _, file = line.partition(" > ")
    if not command.startswith("snoozer "):
        return subprocess.run(["/bin/sh", "-ec", line], check=True, capture_output=True, text=True).stdout
    words = shlex.split(command)[1:]
    result = CliRunner().invoke(commands, words)
    assert result.exit_code == ENDS_WITH.get(" ".join(words[:2]), 0), (line, result.output, result.exception)
    if file:
        Path(file).write_text(result.stdout)
    return result.output


def subjects(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        live = "SELECT subject FROM email_snoozes WHERE outcome IS NULL ORDER BY id"
        return list(connection.execute(text(live)).scalars())
