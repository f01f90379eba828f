"""ENTRANCE of `snoozer up`: everything that Snoozer needs, started and stopped by one command."""

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
from snoozer.dev import environment, ports, processes
from snoozer.dev.console import Output
from snoozer.dev.environment import OWNER
from snoozer.dev.runner import Plan, Runner
from snoozer.dev.sink import DEFAULT_PORT as SINK_PORT
from snoozer.settings import Settings, SettingsError


class Refused(Exception):
    """`snoozer up` cannot begin; the text is one sentence."""


@click.command("up")
@click.option("--port", type=click.IntRange(1, 65_535), help="The page's port on 127.0.0.1 (PORT, else 8000).")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option("--with-parent", is_flag=True, hidden=True, help="Stop when the process that started this one is gone.")
@click.option("--reload", is_flag=True, hidden=True, help="Restart the web server after each change of a file of it.")
def command(port: int | None, no_open: bool, with_parent: bool, reload: bool) -> None:
    """Start all of Snoozer on this machine: database, mail server, sample mailbox, worker and web.

    Data lies under SNOOZER_HOME (.snoozer). Ctrl-C stops everything.
    """
    output = Output()
    try:
        with contextlib.ExitStack() as held:
            plan = _plan(output, held, port=port, with_parent=with_parent, reload=reload)
            open_browser = not no_open and sys.stdout.isatty() and settings.has_display()
            runner = Runner(
                plan, output, on_ready=lambda chosen, link: _welcome(output, chosen, link, open_browser=open_browser)
            )
            code = asyncio.run(runner.run())
    except (Refused, SettingsError) as refused:
        click.echo(f"snoozer: {str(refused).rstrip('.')}.", err=True)
        code = 2
    output.close()
    sys.exit(code)


def _plan(output: Output, held: contextlib.ExitStack, *, port: int | None, with_parent: bool, reload: bool) -> Plan:
    """Take the locks and the ports, which `held` closes. Raises Refused."""
    home = settings.home().absolute()
    _make(home)
    try:
        held.enter_context(processes.lock_home(home))
        lock = held.enter_context(
            processes.lock_children(
                home, on_wait=lambda: output.line("an earlier Snoozer is still stopping; waiting for it")
            )
        )
    except processes.AlreadyRunning:
        raise Refused(
            f"Snoozer runs already from {home}, at {settings.load().base_url}: stop it with Ctrl-C where it runs, or "
            "set another SNOOZER_HOME and --port"
        ) from None
    given = environment.load_user_settings(home)
    web = _hold(port or given.port, remedy="choose another port with `snoozer up --port N` (or PORT=N)")
    held.enter_context(web)
    return Plan(
        home=home,
        given=given,
        web=web,
        sink=held.enter_context(_hold_any(SINK_PORT, output, by="sink")) if environment.uses_sink(given) else None,
        inbound=held.enter_context(_hold_inbound(given, output)),
        lock=lock.fileno(),
        with_parent=with_parent,
        reload=reload,
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


def _hold(port: int, *, remedy: str) -> socket.socket:
    """This port. Raises Refused where it is taken."""
    held = ports.hold(port)
    if held is None:
        raise Refused(f"Port {port} on {ports.HOST} is in use by another program: stop that one, or {remedy}")
    return held


def _hold_inbound(given: Settings, output: Output) -> socket.socket:
    if "inbound_port" in given.model_fields_set:
        return _hold(given.inbound_port, remedy="set SNOOZER_INBOUND_PORT to another port")
    return _hold_any(given.inbound_port, output, by="inbound")


def _hold_any(port: int, output: Output, *, by: str) -> socket.socket:
    """This port, or any that is free."""
    held = ports.hold(port)
    if held is None:
        held = ports.hold(0)
        if held is None:
            raise Refused(f"There is no free port on {ports.HOST}")
        output.line(f"port {port} is in use; taking {ports.of(held)}", by=by)
    return held


def _welcome(output: Output, chosen: Settings, link: str | None, *, open_browser: bool) -> None:
    another = f"{_own_command()} account sign-in {OWNER}"
    output.plain("")
    output.plain(f"Snoozer is ready at {chosen.base_url}", style="bold")
    if link:
        output.plain(f"Sign in as {OWNER} (once, within ten minutes):")
        output.plain(link, style="bold underline")
        output.plain(f"Another link: {another}", style="dim")
    else:
        output.plain(f"There is no sign-in link now; ask for one with: {another}", style="bold yellow")
    output.plain("Ctrl-C stops everything; the data stays.", style="dim")
    output.plain("")
    if link and open_browser:
        # Some browsers block their caller until they are closed; a daemon thread blocks no exit.
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _own_command() -> str:
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
    if settings.home() == settings.DEFAULT_HOME:
        return command
    return f"SNOOZER_HOME={shlex.quote(str(settings.home().absolute()))} {command}"
