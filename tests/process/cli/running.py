"""A command as a process of its own, on a database."""

import os
import subprocess
from pathlib import Path

from sqlalchemy import Engine

from tests.forked import run_forked

ENVIRONMENT = {
    "SECRET_KEY": "a-key-of-enough-length-for-this",
    "SMTP_URL": "smtp://127.0.0.1:9",
    "MAIL_FROM": "Snoozer <snoozer@snoozer.example>",
    "BASE_URL": "http://snoozer.example",
}


def run_command(*command: str, engine: Engine, home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return run_forked(*command, env=environment(engine, home, **settings))


def environment(engine: Engine, home: Path, **settings: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "OTEL_"))}
    url = engine.url.render_as_string(hide_password=False)
    return {**inherited, **ENVIRONMENT, "DATABASE_URL": url, "SNOOZER_HOME": str(home), **settings}


def refusal(*command: str, engine: Engine, home: Path) -> str:
    """The one sentence on stderr of a command that must end with code 2."""
    ended = run_command(*command, engine=engine, home=home)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("snoozer: ")
    assert len(ended.stderr.splitlines()) == 1
    return ended.stderr
