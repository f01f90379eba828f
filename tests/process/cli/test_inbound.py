"""`snoozer inbound` on an address it cannot have names the setting at fault."""

import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine

from snoozer.cli.inbound import start_server
from snoozer.settings import Settings, SettingsError


def refusal(engine: Engine, *, host: str, port: int, home: Path) -> str:
    given = Settings(SNOOZER_INBOUND_HOST=host, SNOOZER_INBOUND_PORT=port, SNOOZER_HOME=home)
    with pytest.raises(SettingsError) as refused:
        start_server(engine, given)
    return str(refused.value)


@pytest.mark.parametrize("host", ["nosuch.invalid", "192.0.2.1"])
def test_a_host_of_no_address_here_is_named(engine: Engine, tmp_path: Path, host: str) -> None:
    sentence = refusal(engine, host=host, port=18_024, home=tmp_path)
    assert f"SNOOZER_INBOUND_HOST is {host}" in sentence
    assert "SNOOZER_INBOUND_PORT" not in sentence


def test_a_port_that_is_taken_is_named(engine: Engine, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        sentence = refusal(engine, host="127.0.0.1", port=taken.getsockname()[1], home=tmp_path)
    assert "set SNOOZER_INBOUND_PORT to a free one" in sentence
