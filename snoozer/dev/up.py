"""ENTRANCE of `snoozer up`: everything that Snoozer needs, started by one command and gone with it."""

import asyncio
import contextlib
import os
import shlex
import shutil
import socket
import sys
import threading
import webbrowser
from pathlib import Path

import click

from snoozer import settings
from snoozer.dev import environment, locks, ports
from snoozer.dev.console import Voice
from snoozer.dev.environment import OWNER, Surroundings
from snoozer.dev.runner import Life, Plan
from snoozer.dev.sink import DEFAULT_PORT as SINK_PORT
from snoozer.settings import Settings, SettingsError


class Refused(Exception):
    """`snoozer up` does not even begin."""


@click.command("up")
@click.option("--port", type=click.IntRange(1, 65_535), help="The page's port on 127.0.0.1 (PORT, else 8000).")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option("--with-parent", is_flag=True, hidden=True, help="Stop when the process that started this one is gone.")
def command(port: int | None, no_open: bool, with_parent: bool) -> None:
    """Start all of Snoozer on this machine: database, mail server, sample mailbox, worker and web.

    Data lies under SNOOZER_HOME (.snoozer). Ctrl-C stops everything.
    """
    voice = Voice()
    surroundings = Surroundings()
    try:
        with contextlib.ExitStack() as held:
            plan = _plan(surroundings, voice, held, port=port, with_parent=with_parent)
            visit = not no_open and _has_display(surroundings)
            life = Life(
                plan, voice, welcome=lambda chosen, link: _welcome(voice, surroundings, chosen, link, visit=visit)
            )
            code = asyncio.run(life.run())
    except (Refused, SettingsError) as refused:
        click.echo(f"snoozer: {str(refused).rstrip('.')}.", err=True)
        code = 2
    voice.close()
    sys.exit(code)


def _plan(
    surroundings: Surroundings, voice: Voice, held: contextlib.ExitStack, *, port: int | None, with_parent: bool
) -> Plan:
    """Take the locks and the ports, or raise Refused with the sentence that says what is in the way."""
    home = surroundings.home.absolute()
    _make(home)
    try:
        held.enter_context(locks.take(home))
        lock = held.enter_context(
            locks.outlive(home, waiting=lambda: voice.say("an earlier Snoozer is still stopping; waiting for it"))
        )
    except locks.AlreadyRunning:
        raise Refused(
            f"Snoozer runs already from {home}, at {settings.load().base_url}: stop it with Ctrl-C where it runs, or "
            "set another SNOOZER_HOME and --port"
        ) from None
    given = environment.of_the_user(home)
    port = port or given.port
    web = ports.hold(port)
    if web is None:
        raise Refused(
            f"Port {port} on {ports.HOST} is in use by another program: stop that one, or choose another port with "
            "`snoozer up --port N` (or PORT=N)"
        )
    held.enter_context(web)
    return Plan(
        home=home,
        given=given,
        web=web,
        sink=held.enter_context(_hold(SINK_PORT, voice, by="sink")) if environment.wants_sink(given) else None,
        inbound=held.enter_context(_hold_inbound(given, voice)),
        lock=lock.fileno(),
        with_parent=with_parent,
    )


def _make(home: Path) -> None:
    if home.exists():
        return
    try:
        home.mkdir(parents=True)
        # Root's database runs under another account, which has to pass through; its secrets are 0600 files.
        home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    except OSError as error:
        raise Refused(f"The folder {home} cannot be made ({error.strerror}); set SNOOZER_HOME to another one") from None


def _hold_inbound(given: Settings, voice: Voice) -> socket.socket:
    if "inbound_port" not in given.model_fields_set:
        return _hold(given.inbound_port, voice, by="inbound")
    held = ports.hold(given.inbound_port)
    if held is None:
        raise Refused(
            f"Port {given.inbound_port} on {ports.HOST} is in use by another program: stop that one, or set "
            "SNOOZER_INBOUND_PORT to another port"
        )
    return held


def _hold(port: int, voice: Voice, *, by: str) -> socket.socket:
    """This port, or any that is free."""
    held = ports.hold(port)
    if held is None:
        held = ports.hold(0)
        if held is None:
            raise Refused(f"There is no free port on {ports.HOST}")
        voice.say(f"port {port} is in use; taking {ports.of(held)}", by=by)
    return held


def _welcome(voice: Voice, surroundings: Surroundings, chosen: Settings, link: str | None, *, visit: bool) -> None:
    another = f"{_this_command(surroundings)} account sign-in {OWNER}"
    voice.alone("")
    voice.alone(f"Snoozer is ready at {chosen.base_url}", style="bold")
    if link:
        voice.alone(f"Sign in as {OWNER} (once, within ten minutes):")
        voice.alone(link, style="bold underline")
        voice.alone(f"Another link: {another}", style="dim")
    else:
        voice.alone(f"There is no sign-in link now; ask for one with: {another}", style="bold yellow")
    voice.alone("Ctrl-C stops everything; the data stays.", style="dim")
    voice.alone("")
    if link and visit:
        # Some browsers keep the caller until they are closed; a daemon thread keeps nobody.
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _this_command(surroundings: Surroundings) -> str:
    """How a person types this command in another terminal, in the same folder."""
    called = Path(sys.argv[0])
    found = shutil.which("snoozer")
    if called.name == "__main__.py":
        command = f"{shlex.quote(sys.executable)} -m snoozer"
    elif found and Path(found).resolve() == called.resolve():
        command = "snoozer"
    else:
        here = Path.cwd()
        command = shlex.quote(str(called.relative_to(here) if called.is_relative_to(here) else called))
    if "home" in surroundings.model_fields_set:
        return f"SNOOZER_HOME={shlex.quote(str(surroundings.home.absolute()))} {command}"
    return command


def _has_display(surroundings: Surroundings) -> bool:
    return sys.stdout.isatty() and bool(
        sys.platform == "darwin" or surroundings.display or surroundings.wayland_display
    )
