"""`snoozer add`, `list` and `cancel`: by HTTP and a token, with one sentence and an exit code for each refusal."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class
from click.testing import CliRunner, Result
from sqlalchemy import Engine

from snoozer.cli import commands
from snoozer.settings import Settings
from tests.api_sites import a_script, a_site
from tests.factories import HOUR, People, a_snooze, now, the_row

Run = Callable[..., Result]
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "programs.md"


@pytest.fixture
def run(
    engine: Engine, settings: Settings, people: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Run]:
    """Runs a command as on a machine that has the address and the token of Ann's Snoozer, and no database."""
    token = people.ann().bearer["Authorization"].removeprefix("Bearer ")
    for name in ("DATABASE_URL", "BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SNOOZER_HOME", str(tmp_path))
    monkeypatch.setenv("SNOOZER_TOKEN", token)
    with a_site(engine, settings) as url:
        monkeypatch.setenv("SNOOZER_URL", url)
        yield lambda *arguments: CliRunner().invoke(commands, arguments)


def refusal(result: Result, *, code: int = 2) -> str:
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith("snoozer: ")
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


def test_a_reminder_is_added_listed_and_cancelled(run: Run, engine: Engine) -> None:
    added = run("add", "Ask about the lease", "--when", "in 3 days", "--note", "both floors")
    assert added.exit_code == 0
    assert added.stdout.startswith("1  Ask about the lease  ")
    assert "Ask about the lease" in run("list").stdout
    assert run("cancel", "1").stdout.startswith("Cancelled: 1  ")
    assert the_row(engine, 1).outcome == "cancelled"
    assert "over" in refusal(run("cancel", "1"))
    assert "Nothing." in run("list", "--state", "asleep").stdout


def test_each_line_of_the_guide_runs_as_it_stands_there(run: Run) -> None:
    [block] = re.findall(r"^```sh\n(.+?)^```$", GUIDE.read_text(), re.M | re.S)
    for line in block.splitlines():
        name, *arguments = shlex.split(line)
        assert (name, run(*arguments).exit_code) == ("snoozer", 0), line


def test_json_is_what_the_api_answers_one_line_each(run: Run, engine: Engine) -> None:
    added = json.loads(run("add", "Lease", "--when", "in 3 days", "--json").stdout)
    assert (added["id"], added["subject"], added["state"]) == (1, "Lease", "asleep")
    a_snooze(engine, remind_at=now() + HOUR)
    assert [json.loads(line)["id"] for line in run("list", "--json").stdout.splitlines()] == [2, 1]
    assert [json.loads(line)["id"] for line in run("list", "--json", "--limit", "1").stdout.splitlines()] == [2]
    asked = run("list", "--json", "--message-id", added["message_id"], "--message-id", "<unknown@x>")
    assert [json.loads(line)["id"] for line in asked.stdout.splitlines()] == [1]
    assert json.loads(run("cancel", "1", "--json").stdout)["state"] == "cancelled"


def test_cron_adds_once_by_a_key_and_moves_by_a_message_id(run: Run) -> None:
    nightly = ("add", "Backup", "--when", "in 3 days", "--key", "backup-2026-11-25", "--json")
    assert json.loads(run(*nightly).stdout) == json.loads(run(*nightly).stdout)
    for when in ("in 3 days", "in 4 days"):
        run("add", "Certificate", "--when", when, "--message-id", "certificate")
    assert [json.loads(line)["subject"] for line in run("list", "--json").stdout.splitlines()] == [
        "Certificate",
        "Backup",
    ]


def test_what_a_terminal_would_obey_is_not_printed(run: Run, engine: Engine) -> None:
    a_snooze(engine, subject="\x1b]0;title\x07 red\x1b[31m", remind_at=now() + HOUR)
    assert "\x1b" not in run("list").stdout
    assert "\x1b" not in run("cancel", "1").stdout


def test_refusals_end_in_2_with_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cannot be read as a time" in refusal(run("add", "Lease", "--when", "frday 9am"))
    assert "no snooze 99" in refusal(run("cancel", "99"))
    monkeypatch.setenv("SNOOZER_TOKEN", "snz_wrong")
    assert "revoked" in refusal(run("list"))
    monkeypatch.setenv("SNOOZER_URL", "snooze.example.org")
    assert "such as https://" in refusal(run("list"))
    monkeypatch.setenv("SNOOZER_URL", "http://snooze.example.org")
    assert "use https://" in refusal(run("list"))
    monkeypatch.delenv("SNOOZER_TOKEN")
    assert "SNOOZER_TOKEN" in refusal(run("list"))
    assert run("cancel", "x").exit_code == 2


def test_what_may_be_tried_again_ends_in_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = {"type": "about:blank", "title": "T", "status": 429, "code": "quota_reached", "detail": "The limit is 1."}
    with a_script((429, {"Retry-After": "3600"}, json.dumps(busy).encode())) as server:
        monkeypatch.setenv("SNOOZER_URL", server.url)
        assert "The limit is 1" in refusal(run("list"), code=1)
    monkeypatch.setattr("snoozer.cli.remote.LONGEST_WAIT", 0.0)
    assert "cannot be reached" in refusal(run("list"), code=1)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_options_and_states(shell: str) -> None:
    completer = get_completion_class(shell)
    assert completer is not None
    complete = completer(commands, {}, "snoozer", "_SNOOZER_COMPLETE").get_completions
    assert {item.value for item in complete([], "ca")} == {"cancel"}
    assert "--when" in {item.value for item in complete(["add"], "--")}
    assert {item.value for item in complete(["list", "--state"], "as")} == {"asleep"}
