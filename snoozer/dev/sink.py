"""The mail server of `snoozer up`: it accepts every message, stores it, and delivers none.

A message is committed before its 250 (RFC 5321 §4.2.5: with the 250 the server takes responsibility for it).
"""

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable

import click
from aiosmtpd.smtp import SMTP, Envelope, Session
from sqlalchemy import Engine

from snoozer import settings
from snoozer.db import engine as database
from snoozer.db import mailbox_store
from snoozer.dev import ports

DEFAULT_PORT = 8025

Store = Callable[[str, list[str], bytes], None]

_log = logging.getLogger(__name__)


class Sink:
    """An SMTP server in a thread. `store` has committed the message when it returns; its exception becomes a 451."""

    def __init__(self, host: str, port: int, store: Store, *, listening: socket.socket | None = None) -> None:
        """Listens at once, on `listening` if it is given; port 0 is any free one. Raises OSError when it is taken."""
        self._socket = listening or socket.create_server((host, port), backlog=512)
        self.port: int = self._socket.getsockname()[1]
        self._store = store
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="sink", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop listening. A message without its 250 yet is not stored, or stored and not acknowledged."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        try:
            await asyncio.to_thread(self._store, envelope.mail_from or "", list(envelope.rcpt_tos), content)
        except Exception as error:  # whatever it is, the sender has to try again
            _log.warning("a message could not be kept (%s); its sender is to try again", type(error).__name__)
            return "451 4.3.0 The message could not be kept; try again later"
        return "250 2.0.0 Kept"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self._loop.create_server(self._session, sock=self._socket))
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _session(self) -> SMTP:
        # A given name spares a look-up that takes seconds on a machine without a resolver.
        return SMTP(
            self,
            hostname="sink.snoozer.example",
            ident="Snoozer keeps everything and sends nothing",
            data_size_limit=64 * 1024 * 1024,
            enable_SMTPUTF8=True,
            loop=self._loop,
        )


def store_in(engine: Engine) -> Store:
    """Returns a function that stores a message once for each of its recipients, all or none."""

    def store(mail_from: str, rcpt_tos: list[str], original: bytes) -> None:
        with engine.begin() as connection:
            for rcpt_to in rcpt_tos:
                mailbox_store.save_captured(connection, mail_from=mail_from, rcpt_to=rcpt_to, original=original)

    return store


@click.command("sink")
@click.option("--port", type=click.IntRange(1, 65_535), default=DEFAULT_PORT, show_default=True, help="On loopback.")
@click.option("--socket", "inherited", type=int, hidden=True, help="A listening socket that the caller opened.")
def command(port: int, inherited: int | None) -> None:
    """Accept mail on loopback and keep it in the database, for `snoozer up` and for trying things out."""
    chosen = settings.load().require("database_url")
    engine = database.make_engine(chosen.database_url.get_secret_value(), name="sink", pgbouncer=chosen.pgbouncer)
    listening = socket.socket(fileno=inherited) if inherited is not None else ports.hold(port)
    if listening is None:
        click.echo(f"snoozer: Port {port} on {ports.HOST} is in use; choose another with --port.", err=True)
        sys.exit(2)
    stop = {signal.SIGINT, signal.SIGTERM}
    # Blocked before the thread begins, so that a signal at any time waits for sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    sink = Sink(ports.HOST, port, store_in(engine), listening=listening)
    sink.start()
    signal.sigwait(stop)
    sink.stop()
    engine.dispose()
