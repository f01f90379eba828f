"""Mail by LMTP on a UNIX socket: its mode, the socket of a process that died, and a name that is taken."""

import smtplib
import socket
import stat
from pathlib import Path

import pytest
from sqlalchemy import Engine

from snoozer.cli.inbound import start_server
from snoozer.settings import Settings, SettingsError
from tests.mail.inbound_servers import RunningServer

MAIL = b"From: ben@mail.example\r\nSubject: Hello\r\n\r\nx\r\n"


def deliver(path: Path) -> None:
    with smtplib.LMTP(str(path), local_hostname="test.example") as client:
        client.sendmail("ben@mail.example", ["ann@snoozer.example"], MAIL)


@pytest.mark.parametrize("mode", [0o660, 0o600])
def test_mail_comes_in_by_a_socket_with_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "lmtp"
    server = RunningServer(path=path, mode=mode)
    try:
        assert stat.S_IMODE(path.stat().st_mode) == mode
        for _ in range(3):
            deliver(path)
    finally:
        server.inbound.stop()
    assert [mail.original for mail in server.stored] == [MAIL] * 3
    assert list(tmp_path.iterdir()) == []


def test_the_socket_of_a_process_that_died_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "lmtp"
    with socket.socket(socket.AF_UNIX) as died:
        died.bind(str(path))
    assert path.is_socket()
    server = RunningServer(path=path)
    try:
        deliver(path)
    finally:
        server.inbound.stop()
    assert len(server.stored) == 1


def refusal(engine: Engine, path: Path) -> str:
    with pytest.raises(SettingsError) as refused:
        start_server(engine, Settings(SNOOZER_INBOUND_SOCKET=path))
    return str(refused.value)


def test_a_name_that_is_taken_is_left_as_it_is(engine: Engine, tmp_path: Path) -> None:
    path, file = tmp_path / "lmtp", tmp_path / "file"
    file.write_text("mine")
    server = RunningServer(path=path)
    try:
        assert f"no socket can be opened at {path} (Address already in use)" in refusal(engine, path)
        deliver(path)
    finally:
        server.inbound.stop()
    assert f"no socket can be opened at {file} (a file that is not a socket has this name)" in refusal(engine, file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("name", ["none/lmtp", "a" * 120])
def test_a_path_that_cannot_be_a_socket_is_named(engine: Engine, tmp_path: Path, name: str) -> None:
    assert refusal(engine, tmp_path / name).startswith("SNOOZER_INBOUND_SOCKET: no socket can be opened at ")
    assert list(tmp_path.iterdir()) == []
