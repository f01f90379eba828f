"""The sample mailbox of `snoozer up`: filled and connected once, and what its owner does to it lasts."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from snoozer.dev import dovecot, sample_mailbox
from snoozer.dev.dovecot import ImapServer, NoDovecot, State
from snoozer.dev.environment import OWNER
from snoozer.mailboxes import imap, registry
from snoozer.mailboxes.imap import Connection
from snoozer.people import accounts
from snoozer.runtime import encryption
from snoozer.settings import Settings
from tests.conftest import missing
from tests.factories import now
from tests.imap import server_process

pytestmark = pytest.mark.dovecot


@pytest.fixture
def server(home: Path) -> Iterator[ImapServer]:
    try:
        server = dovecot.prepare(home)
    except NoDovecot:
        missing("dovecot-imapd")
    run_as = server.account.run_as
    process = subprocess.Popen(server.argv, env=dict(server.env), start_new_session=True, **run_as)
    # Not by `ports.is_free`: for a moment that holds the port itself, which the server may want just then.
    server_process.wait_for(server.port, process, log=server.log)
    yield server
    process.terminate()
    process.wait(60)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def here(settings: Settings) -> Settings:
    return settings.model_copy(update={"allow_private_mailboxes": True})


def opened(state: State) -> Connection:
    to = sample_mailbox.server(state)
    return imap.open(to, sample_mailbox.login(state), connect=registry.connector(to, allow_private=True))


def rows(engine: Engine) -> list[tuple[int, str, int, str]]:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT id, host, port, state FROM mailboxes ORDER BY id"))
        return [tuple(row) for row in found]


def test_it_is_filled_and_connected_once_and_stays_disconnected(
    engine: Engine, home: Path, server: ImapServer, here: Settings
) -> None:
    with engine.begin() as connection:
        account = accounts.create(connection, email=OWNER, role="admin", zone="UTC")

    def connect() -> bool:
        state = State.load(home)
        assert state is not None
        return sample_mailbox.connect(home, here, state, now=now())

    assert connect()
    [(id, host, port, _)] = rows(engine)
    assert (host, port) == ("127.0.0.1", server.port)
    with engine.connect() as connection:
        secret = bytes(connection.execute(text("SELECT secret FROM mailboxes")).scalar_one())
    assert encryption.decrypt(here.keys, secret) == server.state.password
    with opened(server.state) as mailbox:
        assert "Snooze/Tomorrow" in {folder.name for folder in mailbox.folders()}
        assert mailbox.select("INBOX").exists == 14
        heads = mailbox.heads(mailbox.uids())
    dates = [head.internaldate for head in heads]
    assert dates == sorted(dates)
    assert (dates[-1] - dates[0]).days == 5
    assert len({head.message_id for head in heads}) == 14

    assert connect(), "as the next start does"
    assert rows(engine) == [(id, host, port, "active")]
    with engine.begin() as connection:
        connection.execute(text("UPDATE mailboxes SET port = 1"))
    assert connect(), "its port was taken, and it has another one"
    assert rows(engine) == [(id, host, port, "active")]

    with engine.begin() as connection:
        registry.disconnect(connection, id=id, account_id=account.id)
    assert not connect(), "it is being disconnected"
    with engine.begin() as connection:
        connection.execute(text("UPDATE mailboxes SET problem = 'gone', problem_since = CURRENT_TIMESTAMP"))
        assert registry.forget(connection, id=id, account_id=account.id)
    assert not connect(), "its owner disconnected it"
    assert rows(engine) == []
    with opened(server.state) as mailbox:
        assert mailbox.select("INBOX").exists == 14


def test_without_an_account_it_is_not_connected_and_says_why(
    engine: Engine, home: Path, server: ImapServer, here: Settings
) -> None:
    with pytest.raises(sample_mailbox.NotReady, match="no account"):
        sample_mailbox.connect(home, here, server.state, now=datetime.now().astimezone())
    assert rows(engine) == []
