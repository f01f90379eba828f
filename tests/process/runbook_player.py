"""What a page of docs/runbook.md says to type is typed, out of the page."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from snoozer.cli import commands
from tests.process.conftest import ROOT, TIMEOUT, Field

PAGES = re.compile(r"^## (?P<title>.+)$", re.M)
BLOCK = re.compile(r"^```(?P<kind>sql)?\n(?P<lines>.*?)^```$", re.M | re.S)


def pages() -> dict[str, str]:
    """The text of each page, by its title."""
    whole = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    parts = PAGES.split(whole)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def typed(page: str, kind: str | None = None) -> list[str]:
    """The lines that a page says to type, of the shell's blocks or of those of SQL."""
    return [
        line for block in BLOCK.finditer(page) if block["kind"] == kind for line in block["lines"].splitlines() if line
    ]


class Player:
    """Types what one page says."""

    def __init__(self, place: Field, title: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.page = place, pages()[title]
        self._monkeypatch = monkeypatch
        self._typed: list[str] = []

    def type(self, command: str, **fill: str) -> str:
        """Types this command, which the page must have; returns what it prints. `fill` are the words in capitals."""
        assert command in typed(self.page)
        self._typed.append(command)
        words = [fill.get(word, word) for word in command.split()[1:]]
        if words[0] in {"worker", "clock"}:
            ended = self.place.run(*words)
            assert ended.returncode == 0, ended.stderr
            return ended.stdout
        environment = {"SNOOZER_HOME": None} | self.place.environment
        with self._monkeypatch.context() as patch:
            for name, value in environment.items():
                if name.startswith(("SNOOZER_", "DATABASE_URL", "SMTP_URL", "SECRET_KEY", "MAIL_FROM", "BASE_URL")):
                    patch.setenv(name, str(value))
            return _invoke(words)

    @contextmanager
    def start(self, command: str) -> Iterator[None]:
        """Types a command that stays; it is stopped in the end."""
        assert command in typed(self.page)
        self._typed.append(command)
        process = self.place.start(*command.split()[1:])
        try:
            yield
        finally:
            process.terminate()
            process.communicate(timeout=TIMEOUT)

    def execute(self, statement: str, **fill: str) -> None:
        """Executes a statement of the page."""
        assert statement in typed(self.page, "sql")
        self._typed.append(statement)
        for word, value in fill.items():
            statement = statement.replace(word, value)
        with self.place.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(statement))

    def assert_all_was_typed(self) -> None:
        assert set(self._typed) == {*typed(self.page), *typed(self.page, "sql")}


def _invoke(words: list[str]) -> str:
    """What a command prints."""
    result = CliRunner().invoke(commands, words, env={"COLUMNS": "240"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output
