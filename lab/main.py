"""`make lab`: a page with real workers, a real database and a real mail server, to be broken."""

import contextlib
import fcntl
import os
import shutil
import signal
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import click
from sqlalchemy.exc import SQLAlchemyError

from lab.instance import Lab, LabFailed
from lab.server import LabServer
from snoozer import settings
from snoozer.dev import ports, processes
from snoozer.dev.binaries import NoPostgres
from snoozer.dev.console import Output
from snoozer.dev.postgres import PostgresRefused
from snoozer.runtime.signals import on_parent_exit
from snoozer.settings import SettingsError

DEFAULT_PORT = 8090
PREFIX, LOCK = "snoozer-lab-", "lab.lock"


@click.command("lab")
@click.option("--port", type=click.IntRange(1, 65_535), help=f"The page's port on 127.0.0.1 ({DEFAULT_PORT}, or free).")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option("--with-parent", is_flag=True, hidden=True, help="Stop when the process that started this one is gone.")
def command(port: int | None, no_open: bool, with_parent: bool) -> None:
    """Watch the promise kept while you break things: workers, the mail server, the database.

    Everything is the lab's own, on loopback, in a temporary folder. Ctrl-C stops it and leaves nothing behind.
    """
    output = Output()
    try:
        given = settings.load()
        if settings.names_database():
            raise SettingsError(
                "The lab breaks its database and uses none but its own: unset DATABASE_URL and start it again"
            )
        held = ports.hold(port or DEFAULT_PORT) or (ports.hold(0) if port is None else None)
        if held is None:
            raise SettingsError(f"Port {port} on {ports.HOST} is in use; choose another with --port N")
        stop = _stop_event()
        if with_parent:
            on_parent_exit(stop.set, parent=os.getppid())
        with held, contextlib.ExitStack() as closing:
            home = closing.enter_context(_folder())
            lab = Lab(
                home, given=given, register=closing.enter_context(processes.reaper()), output=output, stopping=stop
            )
            closing.callback(lab.stop)
            url = f"http://{ports.HOST}:{ports.of(held)}"
            with output.working("starting the lab's database, mail server and workers"):
                lab.start(base_url=url)
            server = LabServer(lab, held)
            server.start()
            closing.callback(server.stop)
            output.plain("")
            output.plain(f"The lab is open at {url}/lab", style="bold")
            output.plain(f"Its folder, deleted at the end: {home}", style="dim")
            output.plain("Ctrl-C stops everything and leaves nothing behind.", style="dim")
            output.plain("")
            if not no_open and sys.stdout.isatty() and settings.has_display():
                threading.Thread(target=webbrowser.open, args=(f"{url}/lab",), daemon=True).start()
            # A signal received by another thread, or just before the wait, is handled when the wait ends.
            while not stop.wait(0.5):
                pass
            output.line("stopping")
    except (SettingsError, NoPostgres) as refused:
        click.echo(f"snoozer: {str(refused).rstrip('.')}.", err=True)
        output.close()
        sys.exit(2)
    except (LabFailed, PostgresRefused, SQLAlchemyError, OSError) as failure:
        output.warn(f"The lab does not start: {failure}")
        output.close()
        sys.exit(1)
    output.line("stopped")
    output.close()


def _stop_event() -> threading.Event:
    """Set at a Ctrl-C. A signal handler must not set it: the main thread waits for it, and may hold its lock then. Nor
    are the signals blocked, because every process started here would inherit that."""
    stop, asked = threading.Event(), SimpleQueue[int]()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda number, _: asked.put(number))

    def wait() -> None:
        asked.get()
        stop.set()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    return stop


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A temporary folder, which is accessible to the account that runs PostgreSQL for root. Folders left by killed labs
    are deleted first."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            _delete_unless_used(left)
    home = Path(tempfile.mkdtemp(prefix=PREFIX))
    with (home / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            home.chmod(0o711)
            yield home
        finally:
            shutil.rmtree(home, ignore_errors=True)


def _delete_unless_used(home: Path) -> None:
    if home.stat().st_uid != os.geteuid():
        return
    with (home / LOCK).open("r") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        shutil.rmtree(home, ignore_errors=True)
