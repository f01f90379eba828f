"""`snoozer support NAME` prints a query of the runbook."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from snoozer.db import support as queries
from snoozer.db.queries import error_groups
from snoozer.db.queries.case_filter import Filter
from tests.factories import ANN, HOUR, a_snooze, now
from tests.forked import run_forked


def support(*arguments: str, url: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DATABASE_URL": url, "SNOOZER_HOME": str(home)}
    return run_forked("support", *arguments, env=environment)


def test_without_a_name_every_query_is_listed_with_its_promise(tmp_path: Path) -> None:
    ended = support(url="", home=tmp_path)
    assert ended.returncode == 0
    for name in queries.names():
        assert name in ended.stdout
    assert "Claims held longer than their lease, and by whom." in ended.stdout


@pytest.mark.parametrize("name", queries.names())
def test_every_query_prints_a_table(name: str, engine: Engine, postgres_url: str, tmp_path: Path) -> None:
    ended = support(name, *([ANN] if name == "person" else []), url=postgres_url, home=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert name in ended.stdout


def test_a_hostile_error_stays_text_in_one_cell(engine: Engine, postgres_url: str, tmp_path: Path) -> None:
    a_snooze(engine, last_error="[bold red]no[/] \x1b[J\x07 gone", last_error_at=now())
    a_snooze(engine, claimed_at=now() - HOUR)
    ended = support("failures", url=postgres_url, home=tmp_path)
    assert "[bold red]no[/] ·[J· gone" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert "another-worker" in support("stuck", url=postgres_url, home=tmp_path).stdout


def test_the_same_failure_of_many_people_is_one_reason_with_the_fingerprint_of_the_page(
    engine: Engine, postgres_url: str, tmp_path: Path
) -> None:
    """The raw texts were grouped: each address and each queue id was a reason of its own, and was printed."""
    errors = [f"rcpt: 550 <p{number}@mail.example> unknown, id 4C{number}5F0A1B2" for number in range(3)]
    over: dict[str, Any] = {"inactive": True, "outcome": "retired", "finished_at": now(), "last_error_at": now()}
    for number, error in enumerate([*errors, "421 later, \\m is no word", ""]):
        a_snooze(engine, user_email=f"p{number}@snoozer.example", last_error=error, **over)
    with engine.connect() as connection:
        rows = queries.read(connection, "failures").all()
        groups = error_groups.groups(connection, Filter())
    page = {group.fingerprint: (group.text, group.cases, group.people) for group in groups}
    assert {row.fingerprint: (row.reason, row.cases, row.people) for row in rows} == page
    assert rows[0].snoozes == len(errors)
    printed = support("failures", url=postgres_url, home=tmp_path).stdout
    assert rows[0].fingerprint in printed
    assert "mail.example" not in printed


def test_what_cannot_be_done_ends_in_one_sentence_and_exit_2(tmp_path: Path, postgres_url: str) -> None:
    for arguments, url, sentence in (
        (["nonsense"], postgres_url, "There is no support query 'nonsense'"),
        (["person"], postgres_url, "Say of whom: snoozer support person EMAIL"),
        (["backlog", "x"], postgres_url, "The query 'backlog' takes no argument"),
        (["backlog"], "", "No database"),
        (["backlog"], "postgresql://unknown@127.0.0.1:9/none", "The database cannot be reached"),
    ):
        ended = support(*arguments, url=url, home=tmp_path)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert sentence in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1
