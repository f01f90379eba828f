"""A mailbox is connected through gunicorn, watched by `snoozer mailbox`, reminded of by a worker, refused by a server
that repeats what it was sent: no log of any process, no telemetry and no dump of the database holds its password."""

import base64
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import Engine

from snoozer.settings import Settings
from tests.db.schema_file import pg_dump
from tests.factories import People, an_original
from tests.imap.connect_form import post
from tests.imap.dovecot import PASSWORD
from tests.imap.mailboxes import MailServer
from tests.imap.proxy import Proxy
from tests.imap.watched import MailProgram, Place
from tests.otlp import collect_telemetry
from tests.process.conftest import Field, Sink, sink
from tests.web.live_site import live_site

__all__ = ["sink"]

pytestmark = [pytest.mark.dovecot, pytest.mark.process]

USER = "canary4712@mail.example"
WRONG = "not-the-password"


def spellings(secret: str) -> Iterator[bytes]:
    """As it is, in hexadecimal, and in what base64 makes of it wherever it stands in a text."""
    plain = secret.encode()
    yield from (plain, plain.hex().encode(), quote(secret, safe="").encode())
    for before in range(3):
        # The letters at both ends also hold what stands beside the secret.
        first, last = (0, 2, 3)[before], (before + len(plain)) * 8 // 6
        yield base64.b64encode(bytes(before) + plain)[first:last]


class Repeating:
    """A server that ends a session and accepts no login any more, and repeats the password as it refuses."""

    def __init__(self) -> None:
        self._ends = self._refuses = False

    def refuse(self) -> None:
        self._ends = self._refuses = True

    def on_command(self, line: bytes) -> bytes | None:
        if self._ends:
            self._ends = False
            raise ConnectionAbortedError
        is_refused = self._refuses and b" LOGIN " in line
        return b"{tag} NO [AUTHENTICATIONFAILED] " + line if is_refused else None


def test_no_log_no_telemetry_and_no_dump_holds_a_password(
    postgres_url: str,
    tmp_path: Path,
    engine: Engine,
    settings: Settings,
    people: People,
    dovecot_server: MailServer,
    sink: Sink,
) -> None:
    ann, log, server = people.ann(), tmp_path / "mailbox.log", Repeating()
    with collect_telemetry() as collector, Proxy(dovecot_server.port, on_command=server.on_command) as proxy:
        at = {"address": USER, "host": "127.0.0.1", "port": str(proxy.port), "security": "plain", "username": USER}
        variables = {"SNOOZER_ALLOW_PRIVATE_MAILBOXES": "1", **collector.settings}
        with live_site(postgres_url, tmp_path, **variables) as site:
            assert post(site, ann.session, {**at, "password": WRONG}) == 422
            assert post(site, ann.session, {**at, "password": PASSWORD}) == 303
        program = MailProgram(dovecot_server.port, USER)
        place = Place(engine, settings, ann, program, 1, "", USER)
        program.deliver(an_original(message_id="<canary@mail.example>"))
        program.move("INBOX", "Snooze.Tomorrow")
        with log.open("wb") as output, ExitStack() as stack:
            stack.callback(program.close)
            stack.callback(place.stop)
            mailbox = place.process(log=output, **collector.settings)
            place.eventually(lambda: place.asleep() == 1)
            place.make_due()
            place.eventually(lambda: program.count("INBOX") == 1)
            server.refuse()
            place.eventually(lambda: place.problem() == "login")
            mailbox.terminate()
            assert mailbox.wait(30) == 0
        field = Field(engine=engine, sink=sink, home=tmp_path / "home", settings=dict(collector.settings))
        worker = field.run("worker", "--drain")
        assert worker.returncode == 0, worker.stderr
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    dump = subprocess.run([pg_dump(), "--data-only", "--inserts", url], capture_output=True, check=True).stdout
    texts = {
        "dump": dump,
        "web": site.log.read_bytes(),
        "mailbox": log.read_bytes(),
        "worker": (worker.stdout + worker.stderr).encode(),
        "telemetry": collector.everything,
        "mail": sink.path.read_bytes(),
    }
    assert USER.encode() in dump
    assert b"cannot be used (login)" in texts["mailbox"]
    assert collector.everything
    for secret in (PASSWORD, WRONG):
        for name, text in texts.items():
            assert not [spelling for spelling in spellings(secret) if spelling in text], name
    for name in ("web", "mailbox", "worker", "telemetry"):
        assert USER.encode() not in texts[name], name


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_every_spelling_of_a_secret_is_found(before: str) -> None:
    """A check that cannot find what it looks for proves nothing."""
    whole = base64.b64encode(f"{before}{PASSWORD}-and-more".encode())
    assert any(spelling in whole for spelling in spellings(PASSWORD))
