"""`snoozer health`: one sentence and an exit code for whatever restarts containers and services."""

import http.client
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import click
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from snoozer import settings
from snoozer.cli.database_connection import open_engine
from snoozer.db import health_checks
from snoozer.db.errors import error_text
from snoozer.settings import Settings

SECONDS = 5.0
# A clock that was not heard of for so many rounds of its shortest chore does not run.
MISSED_ROUNDS = 6


class Unhealthy(Exception):
    """The process does not do its work; the text is a sentence for people."""


@click.command("health")
@click.argument("process", type=click.Choice(["web", "worker", "clock", "inbound", "mailbox"]), default="web")
def command(process: str) -> None:
    """Say whether a process on this host does its work; the exit code is 1 if it does not.

    web is asked on its port (PORT), inbound on its own; worker is a heartbeat of this host, clock and mailbox what the
    database knows of their work.
    """
    try:
        click.echo(CHECKS[process](settings.load()))
    except Unhealthy as unhealthy:
        click.echo(str(unhealthy), err=True)
        raise SystemExit(1) from None


def _web(config: Settings) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", config.port, timeout=SECONDS)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        text = response.read().decode().strip()
    except (OSError, http.client.HTTPException) as error:
        raise Unhealthy(f"The web does not answer on port {config.port} ({type(error).__name__}).") from None
    finally:
        connection.close()
    if response.status != http.HTTPStatus.OK:
        raise Unhealthy(f"The web is not ready: {text}")
    return text


def _inbound(config: Settings) -> str:
    host = "127.0.0.1" if config.inbound_host == "0.0.0.0" else config.inbound_host  # noqa: S104
    try:
        with socket.create_connection((host, config.inbound_port), timeout=SECONDS) as connection:
            greeting = connection.recv(1024)
    except OSError as error:
        raise Unhealthy(f"No inbound server answers on port {config.inbound_port} ({type(error).__name__}).") from None
    if not greeting.startswith(b"220"):
        raise Unhealthy(f"The inbound server on port {config.inbound_port} takes no mail now.")
    return "The inbound server takes mail."


def _worker(config: Settings) -> str:
    with _connected(config) as connection:
        workers = health_checks.workers_of_host(connection, host=socket.gethostname(), dead_after=_dead_after(config))
    if not workers:
        raise Unhealthy("No worker of this host has a heartbeat.")
    return f"Workers of this host with a heartbeat: {workers}."


def _clock(config: Settings) -> str:
    with _connected(config) as connection:
        swept = health_checks.liveness(connection, dead_after=_dead_after(config)).swept_ago
    most = MISSED_ROUNDS * config.sweep
    if swept is None or swept > most:
        raise Unhealthy(f"No clock has taken back lost claims for {most:g} s.")
    return f"A clock took back lost claims {swept:.0f} s ago."


def _mailbox(config: Settings) -> str:
    with _connected(config) as connection:
        found = health_checks.mailboxes(connection)
    if found.left_alone:
        raise Unhealthy("A connected mailbox has been watched by no process for a minute.")
    return f"Connected mailboxes, each of them watched: {found.connected}."


@contextmanager
def _connected(config: Settings) -> Iterator[Connection]:
    engine = open_engine(config, name="health")
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        raise Unhealthy(f"The database does not answer ({error_text(error)}).") from None
    finally:
        engine.dispose()


def _dead_after(config: Settings) -> timedelta:
    return timedelta(seconds=config.worker_dead)


CHECKS: dict[str, Callable[[Settings], str]] = {
    "web": _web,
    "worker": _worker,
    "clock": _clock,
    "inbound": _inbound,
    "mailbox": _mailbox,
}
