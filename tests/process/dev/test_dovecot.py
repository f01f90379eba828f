"""The IMAP server of `snoozer up`: prepared, started as it says, found again, and gone when it is stopped."""

import contextlib
import imaplib
import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snoozer.dev import dovecot
from snoozer.dev.dovecot import STATE_FILE, ImapServer, NoDovecot
from snoozer.dev.environment import OWNER
from tests.conftest import missing

pytestmark = pytest.mark.dovecot

SECONDS = 60
IT_KNOWS_NO_IMAP = """#!/bin/sh
[ "$1" = --version ] && echo "2.4.1-4 (7d8c0e5759)" && exit
echo "doveconf: Fatal: protocols: Unknown protocol: imap" >&2
exit 89
"""

Start = Callable[[ImapServer], "subprocess.Popen[bytes]"]


@pytest.fixture(autouse=True)
def installed() -> None:
    try:
        dovecot.find()
    except NoDovecot:
        missing("dovecot-imapd")


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def start(server: ImapServer) -> "subprocess.Popen[bytes]":
        run_as = server.account.run_as
        started.append(subprocess.Popen(server.argv, env=dict(server.env), start_new_session=True, **run_as))
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.wait(SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def login(server: ImapServer, *, password: str | None = None) -> imaplib.IMAP4:
    ends = time.monotonic() + SECONDS
    while True:
        try:
            client = imaplib.IMAP4("127.0.0.1", server.port)
            break
        except OSError:
            assert time.monotonic() < ends, server.log.read_text()
            time.sleep(0.02)
    client.login(OWNER, password or server.state.password)
    return client


def folders(client: imaplib.IMAP4) -> str:
    return b"\n".join(client.list()[1]).decode()  # type: ignore[arg-type]


def test_it_has_one_user_whose_password_no_file_of_the_server_holds(home: Path, start: Start) -> None:
    server = dovecot.prepare(home)
    process = start(server)
    with login(server) as client:
        assert '(\\HasNoChildren \\Archive) "/" Archive' in folders(client)
    for user, password in ((OWNER, "another"), ("other@snoozer.example", server.state.password)):
        with imaplib.IMAP4("127.0.0.1", server.port) as client, pytest.raises(imaplib.IMAP4.error):
            client.login(user, password)
    assert stat.S_IMODE((home / STATE_FILE).stat().st_mode) == 0o600
    for file in Path(server.state.place).rglob("*"):
        assert not file.is_file() or server.state.password.encode() not in file.read_bytes()
    assert server.state.password.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
    assert os.geteuid() != 0 or Path(f"/proc/{process.pid}").stat().st_uid == server.account.uid != 0


def test_it_listens_on_loopback_only_and_two_homes_have_two_ports(home: Path, open_folder: Path, start: Start) -> None:
    (open_folder / "other").mkdir(mode=0o711)
    first = dovecot.prepare(home)
    start(first)
    with login(first):
        second = dovecot.prepare(open_folder / "other")
    assert second.port != first.port
    assert second.state.password != first.state.password
    assert "listen = 127.0.0.1\n" in Path(first.argv[-1]).read_text()


def test_started_again_it_is_the_same_mailbox_and_what_was_left_is_stopped(home: Path, start: Start) -> None:
    """Its supervisor and the reaper were killed: the server still runs."""
    first = dovecot.prepare(home)
    left = start(first)
    with login(first) as client:
        client.create("Kept")
    again = dovecot.prepare(home)
    assert left.wait(SECONDS) == 0
    assert again.state == first.state
    start(again)
    with login(again) as client:
        assert "Kept" in folders(client)


def test_a_number_in_its_file_that_is_another_process_by_now_is_left_alone(home: Path, start: Start) -> None:
    server = dovecot.prepare(home)
    (server.state.run / "master.pid").write_text(f"{os.getpid()}\n")
    again = dovecot.prepare(home)
    start(again)
    login(again).logout()


def test_a_port_that_was_taken_meanwhile_is_replaced(home: Path) -> None:
    first = dovecot.prepare(home)
    with socket.create_server(("127.0.0.1", first.port)):
        again = dovecot.prepare(home)
    assert again.port != first.port
    assert json.loads((home / STATE_FILE).read_text())["port"] == again.port


def test_a_home_with_a_long_name_full_of_signs_works_and_leaves_nothing_in_tmp(open_folder: Path, start: Start) -> None:
    home = open_folder / ("a b#c%u$d" + "x" * 100)
    home.mkdir(mode=0o711)
    server = dovecot.prepare(home)
    process = start(server)
    login(server).logout()
    assert Path(server.state.place).is_relative_to(home)
    process.terminate()
    assert process.wait(SECONDS) == 0
    server.clean_up()
    assert not Path(server.state.link).parent.exists()


def test_where_it_is_missing_or_cannot_speak_imap_the_reason_is_one_sentence(
    home: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = open_folder / "dovecot"
    program.write_text(IT_KNOWS_NO_IMAP)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(open_folder))
    with pytest.raises(NoDovecot, match="Unknown protocol: imap"):
        dovecot.prepare(home)
    # What was written is the configuration of that version.
    [configuration] = home.glob("dovecot/dovecot.conf")
    assert configuration.read_text().startswith("dovecot_config_version = 2.4.0\n")
    program.write_text("#!/bin/sh\necho 2.2.36\n")
    with pytest.raises(NoDovecot, match="is no Dovecot of version"):
        dovecot.prepare(home)
