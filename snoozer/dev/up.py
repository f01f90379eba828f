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
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

from snoozer import settings
from snoozer.dev import environment, ports, processes
from snoozer.dev.console import Output
from snoozer.dev.dovecot import STATE_FILE, ImapServer
from snoozer.dev.environment import OWNER
from snoozer.dev.runner import Runner
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

    Data lies under SNOOZER_HOME (.snoozer). Ctrl-C stops everything. DATABASE_URL and SMTP_URL name a database and a
    mail server that exist already.
    """
    start(port=port, no_open=no_open, with_parent=with_parent, reload=reload)


def start(
    *,
    port: int | None = None,
    host: str = ports.HOST,
    owner: str | None = OWNER,
    is_trial: bool = True,
    no_open: bool = True,
    with_parent: bool = False,
    reload: bool = False,
) -> NoReturn:
    """Run everything until a signal comes, then end this process. Without an `owner` no account is made."""
    output = Output()
    try:
        with contextlib.ExitStack() as held:
            home = settings.home().absolute()
            lock = _lock(home, output, held)
            given = environment.load_user_settings(home)
            remedy = "choose another port with `snoozer up --port N` (or PORT=N)"
            web = held.enter_context(_hold(port or given.port, output, by="web", remedy=remedy, host=host))
            own_sink = not given.smtp_url.get_secret_value()
            sink = held.enter_context(_hold(SINK_PORT, output, by="sink")) if own_sink else None
            remedy = "set SNOOZER_INBOUND_PORT to another port" if "inbound_port" in given.model_fields_set else ""
            inbound = held.enter_context(_hold(given.inbound_port, output, by="inbound", remedy=remedy))
            open_browser = not no_open and sys.stdout.isatty() and settings.has_display()
            runner = Runner(
                home=home,
                given=given,
                web=web,
                sink=sink,
                inbound=inbound,
                lock=lock,
                with_parent=with_parent,
                reload=reload,
                owner=owner,
                is_trial=is_trial,
                output=output,
                on_ready=partial(_welcome, output, home, owner, open_browser=open_browser),
            )
            code = asyncio.run(runner.run())
    except (Refused, SettingsError) as refused:
        click.echo(f"snoozer: {str(refused).rstrip('.')}.", err=True)
        code = 2
    output.close()
    sys.exit(code)


def _lock(home: Path, output: Output, held: contextlib.ExitStack) -> int:
    """Create this home and take its locks, which `held` releases. Returns the reaper's lock. Raises Refused."""
    on_wait = partial(output.line, "an earlier Snoozer is still stopping; waiting for it")
    try:
        if not home.exists():
            home.mkdir(parents=True)
            # Root's database runs under another account, which must be able to enter; its secrets are 0600 files.
            home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    except OSError as error:
        raise Refused(f"The folder {home} cannot be made ({error.strerror}); set SNOOZER_HOME to another one") from None
    try:
        held.enter_context(processes.lock_home(home))
        return held.enter_context(processes.lock_children(home, on_wait=on_wait)).fileno()
    except processes.AlreadyRunning:
        raise Refused(
            f"Snoozer runs already from {home}, at {settings.load().base_url}: stop it with Ctrl-C where it runs, or "
            "set another SNOOZER_HOME and --port"
        ) from None


def _hold(port: int, output: Output, *, by: str, remedy: str = "", host: str = ports.HOST) -> socket.socket:
    """Hold this port, or any free one. Raises Refused if it is taken and there is a `remedy`."""
    if held := ports.hold(port, host=host):
        return held
    if remedy:
        raise Refused(f"Port {port} on {host} is in use by another program: stop that one, or {remedy}")
    if held := ports.hold(0):
        output.line(f"port {port} is in use; taking {ports.of(held)}", by=by)
        return held
    raise Refused(f"There is no free port on {ports.HOST}")


def _welcome(
    output: Output,
    home: Path,
    owner: str | None,
    chosen: Settings,
    link: str | None,
    imap: ImapServer | None,
    *,
    open_browser: bool,
) -> None:
    another = f"{_own_command()} account sign-in {owner or 'ADDRESS'}"
    output.plain("")
    output.plain(f"Snoozer is ready at {chosen.base_url}", style="bold")
    if link:
        output.plain(f"Sign in as {owner} (the link works once):")
        output.plain(link, style="bold underline")
        output.plain(f"Another link: {another}", style="dim")
    elif owner:
        output.plain(f"There is no sign-in link now; ask for one with: {another}", style="bold yellow")
    else:
        output.plain(f"A sign-in link without mail: {another}", style="dim")
    if imap is not None:
        _welcome_to_mailbox(output, home, imap)
    output.plain("Ctrl-C stops everything; the data stays.", style="dim")
    output.plain("")
    if link and open_browser:
        # Some browsers block their caller until they are closed; a daemon thread blocks no exit.
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _welcome_to_mailbox(output: Output, home: Path, imap: ImapServer) -> None:
    """Explain how a mail program on this machine opens the sample mailbox. Output that is not a terminal may be a log:
    the password is not written there."""
    password = imap.state.password if sys.stdout.isatty() else f"in {home / STATE_FILE}"
    output.plain("A sample mailbox is connected. In a mail program on this machine (IMAP, no encryption):")
    output.plain(f"  server {ports.HOST}  port {imap.port}  user {OWNER}  password {password}", style="bold")
    output.plain("Try it: move a message into the folder Snooze/Tomorrow.")


def _own_command() -> str:
    """How a person types this command in another terminal, in the same folder."""
    called, here = Path(sys.argv[0]), Path.cwd()
    found = shutil.which("snoozer")
    if called.name == "__main__.py":
        command = f"{shlex.quote(sys.executable)} -m snoozer"
    elif found and Path(found).resolve() == called.resolve():
        command = "snoozer"
    else:
        command = shlex.quote(str(called.relative_to(here) if called.is_relative_to(here) else called))
    if settings.home() == settings.DEFAULT_HOME:
        return command
    return f"SNOOZER_HOME={shlex.quote(str(settings.home().absolute()))} {command}"
