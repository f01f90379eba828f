"""`snoozer support NAME` prints a query of the runbook."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine

from snoozer.db import statements
from tests.factories import HOUR, a_snooze, now


def support(*arguments: str, url: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DATABASE_URL": url, "SNOOZER_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "snoozer", "support", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_name_every_query_is_listed_with_its_promise(tmp_path: Path) -> None:
    ended = support(url="", home=tmp_path)
    assert ended.returncode == 0
    for name in statements.names("support"):
        assert name in ended.stdout
    assert "Claims held longer than their lease, and by whom." in ended.stdout


@pytest.mark.parametrize("name", statements.names("support"))
def test_every_query_prints_a_table(name: str, engine: Engine, postgres_url: str, tmp_path: Path) -> None:
    ended = support(name, url=postgres_url, home=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert name in ended.stdout


def test_a_hostile_error_stays_text_in_one_cell(engine: Engine, postgres_url: str, tmp_path: Path) -> None:
    a_snooze(engine, last_error="[bold red]550[/] \x1b[2J\x07 gone", last_error_at=now())
    a_snooze(engine, claimed_at=now() - HOUR)
    ended = support("failures", url=postgres_url, home=tmp_path)
    assert "[bold red]550[/] ·[2J· gone" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert "another-worker" in support("stuck", url=postgres_url, home=tmp_path).stdout


def test_what_cannot_be_done_ends_in_one_sentence_and_exit_2(tmp_path: Path, postgres_url: str) -> None:
    for arguments, url, sentence in (
        (["nonsense"], postgres_url, "There is no support query 'nonsense'"),
        (["backlog"], "", "No database"),
        (["backlog"], "postgresql://unknown@127.0.0.1:9/none", "The database cannot be reached"),
    ):
        ended = support(*arguments, url=url, home=tmp_path)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert sentence in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1
