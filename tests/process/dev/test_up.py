"""`snoozer up` as a person starts it: real processes, from the first line to the last."""

import contextlib
import imaplib
import json
import os
import re
import signal
import smtplib
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from snoozer.dev import dovecot
from tests.imap.server_process import free_port
from tests.processes import processes_of

TIMEOUT = 90.0
LINK = r"\n(http://127\.0\.0\.1:\d+/sign-in/\S+)\n"


def has_dovecot() -> bool:
    with contextlib.suppress(dovecot.NoDovecot):
        return bool(dovecot.find())
    return False


HAS_DOVECOT = has_dovecot()


class Up:
    """One `snoozer up`, its output so far, and its end."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        command: Sequence[str] = ("up", "--no-open"),
        at: Path = Path("/"),
        **settings: str,
    ) -> None:
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "snoozer", *command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=at,
            env=environment | {"SNOOZER_HOME": str(home)} | settings,
            start_new_session=True,
        )
        self.output = ""
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.output += line

    def wait_for(self, pattern: str) -> re.Match[str]:
        end = time.monotonic() + TIMEOUT
        while not (found := re.search(pattern, self.output)):
            assert self.process.poll() is None, self.output
            assert time.monotonic() < end, self.output
            time.sleep(0.02)
        return found

    def ends(self, what: signal.Signals | None = None) -> int:
        if what is not None:
            self.process.send_signal(what)
        code = self.process.wait(TIMEOUT)
        self._listener.join(TIMEOUT)
        return code


StartUp = Callable[..., Up]


@pytest.fixture
def up(home: Path) -> Iterator[StartUp]:
    started: list[Up] = []

    def start(*arguments: str, **options: Any) -> Up:
        started.append(Up(home, *arguments, **options))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.ends(signal.SIGTERM)
        else:
            each.ends()
    wait_until_nothing_is_left(home)


def wait_until_nothing_is_left(home: Path) -> None:
    end = time.monotonic() + TIMEOUT
    while left := processes_of(home):
        assert time.monotonic() < end, left
        time.sleep(0.05)


def test_all_in_one_is_for_its_owner_and_each_process_says_how_it_is(up: StartUp, home: Path) -> None:
    refused = up("no address", command=("all-in-one",))
    assert (refused.ends(), refused.output.count("\n")) == (2, 1)
    started = up(command=("all-in-one", "--host", "127.0.0.1"), SNOOZER_OWNER="Ann@example.org", PORT=str(free_port()))
    link = started.wait_for(LINK)[1]
    with urllib.request.urlopen(link) as page:  # noqa: S310 - our own address
        assert page.status == 200
    found = json.loads((home / "up.json").read_text())
    assert not found["SNOOZER_ALLOW_PRIVATE_MAILBOXES"]
    assert "/setup/" not in started.output
    with psycopg.connect(found["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT email, role FROM accounts").fetchall() == [("ann@example.org", "admin")]
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    for process in ("web", "worker", "clock", "inbound", "mailbox"):
        found_well = health(process, home, found["PORT"])
        assert found_well.ends() == 0, found_well.output
    assert started.ends(signal.SIGTERM) == 0
    port = found["PORT"]
    silent = health("web", home, port)
    assert (silent.ends(), silent.output) == (1, f"The web does not answer on port {port} (ConnectionRefusedError).\n")


def test_all_in_one_without_an_owner_prints_one_link_for_the_first_account(up: StartUp) -> None:
    started = up(command=("all-in-one", "--host", "127.0.0.1"), PORT=str(free_port()))
    link = started.wait_for(r"There is no account yet\. .*(http://\S+/setup/\S+)")[1]
    started.wait_for("Ctrl-C stops everything")
    with urllib.request.urlopen(link) as page:  # noqa: S310 - our own address
        assert page.status == 200
    assert started.ends(signal.SIGTERM) == 0
    assert started.output.count("/setup/") == 1
    assert "/sign-in/" not in started.output


def health(process: str, home: Path, port: int = 8000) -> Up:
    return Up(home, command=("health", process), PORT=str(port))


def test_what_lies_in_the_working_folder_is_no_part_of_it(up: StartUp, tmp_path: Path) -> None:
    (tmp_path / "snoozer").mkdir()  # As where a checkout lies, seen from above.
    (tmp_path / "click.py").write_text("raise SystemExit('not ours')\n")
    started = up("--port", str(free_port()), at=tmp_path)
    link = started.wait_for(LINK)[1]
    with urllib.request.urlopen(link) as page:  # noqa: S310 - our own address
        assert page.status == 200
    assert started.ends(signal.SIGINT) == 0


def inbox(home: Path) -> tuple[int, str]:
    """How many messages the sample mailbox has, and its password; needs Dovecot."""
    state = json.loads((home / "dovecot.json").read_text())
    with imaplib.IMAP4("127.0.0.1", state["port"]) as client:
        client.login("you@snoozer.example", state["password"])
        [count] = client.select("INBOX")[1]
    return int(count or 0), state["password"]


def test_it_starts_shows_its_samples_stops_and_finds_everything_again(up: StartUp, home: Path) -> None:
    port = free_port()
    first = up("--port", str(port))
    link = first.wait_for(LINK)[1]
    assert f"Snoozer is ready at http://127.0.0.1:{port}\n" in first.output
    first.wait_for(r"account sign-in you@snoozer\.example\n")
    with urllib.request.urlopen(link) as page:  # noqa: S310 - our own address
        assert page.status == 200

    file = home / "up.json"
    settings = json.loads(file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with psycopg.connect(settings["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (14,)
        days = "SELECT count(DISTINCT surfaced_at::date) > 4, bool_and(arrived_at = sent_at) FROM messages"
        assert connection.execute(days).fetchone() == (True, True), "a week of mail"
        host, _, sink = settings["SMTP_URL"].removeprefix("smtp://").partition(":")
        with smtplib.SMTP(host, int(sink)) as client:
            client.sendmail("a@a.example", ["b@b.example"], b"Subject: kept\r\n\r\n")
        assert connection.execute("SELECT count(*) FROM sink_messages").fetchone() == (1,)
    if HAS_DOVECOT:
        count, password = inbox(home)
        assert count == 14
        assert password not in first.output, "the output is no terminal here"
        assert f"port {settings['SNOOZER_SAMPLE_IMAP_PORT']}  user you@snoozer.example" in first.output

    second = up("--port", str(free_port()))
    assert second.ends() == 2
    assert re.search(rf"runs already from {home}, at http://127.0.0.1:{port}: stop it", second.output)

    assert first.ends(signal.SIGINT) == 0
    assert processes_of(home) == []
    assert not file.exists()

    again = up("--port", str(port))
    assert again.wait_for(LINK)[1] != link
    found = json.loads(file.read_text())
    assert found["SECRET_KEY"] == settings["SECRET_KEY"]
    with psycopg.connect(found["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (14,)
        assert connection.execute("SELECT count(*) FROM sink_messages").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM mailboxes").fetchone() == (int(HAS_DOVECOT),)
    if HAS_DOVECOT:
        assert inbox(home) == (count, password)
    assert again.ends(signal.SIGTERM) == 0
    assert processes_of(home) == []


def test_killed_with_minus_nine_it_leaves_nothing_behind_and_starts_again(up: StartUp, home: Path) -> None:
    port = free_port()
    killed = up("--port", str(port))
    killed.wait_for(LINK)
    killed.process.kill()

    # Not a moment to spare: the next one itself has to wait for the leftovers.
    again = up("--port", str(port))
    again.wait_for(LINK)
    with psycopg.connect(json.loads((home / "up.json").read_text())["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (14,)
    again.process.kill()
    again.ends()
    wait_until_nothing_is_left(home)


def test_a_database_that_is_killed_comes_back_while_everything_runs(up: StartUp, home: Path) -> None:
    running = up("--port", str(free_port()))
    running.wait_for(LINK)
    url = json.loads((home / "up.json").read_text())["DATABASE_URL"]
    place = json.loads((home / "postgres.json").read_text())["place"]
    os.kill(int((Path(place) / "data" / "postmaster.pid").read_text().splitlines()[0]), signal.SIGKILL)
    running.wait_for("PostgreSQL has ended; starting it again")
    running.wait_for("answers again")
    if HAS_DOVECOT:
        os.kill(int((home / "dovecot" / "run" / "master.pid").read_text()), signal.SIGKILL)
        running.wait_for("was ended by SIGKILL; starting it again")
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert running.ends(signal.SIGHUP) == 0
    assert processes_of(home) == []


def test_a_signal_in_the_middle_of_the_first_start_leaves_nothing_behind(up: StartUp, home: Path) -> None:
    interrupted = up("--port", str(free_port()))
    interrupted.wait_for("making the database")
    assert interrupted.ends(signal.SIGINT) == 0
    assert processes_of(home) == []


def test_it_ends_with_the_process_that_started_it(home: Path) -> None:
    shell = subprocess.Popen(
        ["/bin/sh", "-c", '"$@"; :', "sh", sys.executable, "-m", "snoozer", "up", "--no-open", "--with-parent"],
        stdout=subprocess.DEVNULL,
        cwd="/",
        env=os.environ | {"SNOOZER_HOME": str(home), "PORT": str(free_port())},
        start_new_session=True,
    )
    end = time.monotonic() + TIMEOUT
    while not (home / "postgres.json").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    # As make does when it is killed with -9: no Ctrl-C reaches what it started.
    shell.kill()
    shell.wait()
    wait_until_nothing_is_left(home)


def test_a_busy_port_is_named_in_one_sentence(up: StartUp, home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        refused = up("--port", str(port))
        assert refused.ends() == 2
    lines = refused.output.strip().splitlines()
    assert len(lines) == 1
    assert f"Port {port} on 127.0.0.1 is in use" in lines[0]
    assert "--port" in lines[0]
    assert not (home / "postgres").exists()


def test_the_users_own_settings_win(up: StartUp, home: Path) -> None:
    refused = up("--port", str(free_port()), DATABASE_URL="postgresql://user:x@127.0.0.1:9/none")
    assert refused.ends() == 1
    assert "cannot be reached" in refused.output
    assert not (home / "postgres").exists()
    assert not (home / "up.json").exists()


def test_nonsense_in_the_settings_is_refused_before_anything_starts(up: StartUp, home: Path) -> None:
    refused = up("--port", str(free_port()), BASE_URL="snoozer.example")
    assert refused.ends() == 2
    assert "BASE_URL must start with" in refused.output
    assert not (home / "postgres").exists()
