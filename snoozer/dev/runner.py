"""One run of `snoozer up`: everything is started, watched, and stopped in the opposite order."""

import asyncio
import http.client
import os
import signal
import smtplib
import socket
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from snoozer.dev import dovecot, environment, ports, processes, sample_mailbox, samples
from snoozer.dev.binaries import NoPostgres
from snoozer.dev.console import Output
from snoozer.dev.dovecot import ImapServer, NoDovecot
from snoozer.dev.postgres import Postgres, PostgresRefused
from snoozer.dev.supervisor import INITIAL_BACKOFF, MAX_BACKOFF, CommandFailed, Program, Supervisor
from snoozer.mailboxes.imap import ImapError
from snoozer.resources import PYTHON_MODULE, resource_folder
from snoozer.runtime.backoff import Backoff
from snoozer.settings import Settings, SettingsError

_WATCH_SECONDS = 0.5
_REQUEST_SECONDS = 10.0
# First the programs that accept new work, last those needed by others.
STOP_ORDER = (("web", "inbound", "mailbox"), ("worker",), ("clock",), ("sink", "dovecot"))


@dataclass(kw_only=True, eq=False)
class Runner:
    """Starts everything, calls `on_ready` with the settings, the sign-in link and the server of the sample mailbox, and
    stops at a signal.

    The ports are open already; `sink` is None with a mail server given. `lock` is inherited by the reaper, `reload` has
    the pages follow each change of the checkout. `owner`, if any, becomes an admin; `is_trial` gives that
    account sample mail, and a sign-in link that works for a year.
    """

    home: Path
    given: Settings
    web: socket.socket
    sink: socket.socket | None
    inbound: socket.socket
    lock: int
    with_parent: bool
    reload: bool
    owner: str | None
    is_trial: bool
    output: Output
    on_ready: Callable[[Settings, str | None, ImapServer | None], None]

    def __post_init__(self) -> None:
        self._port = ports.of(self.web)
        self._supervisor = Supervisor(self.output)
        self._stopping = asyncio.Event()
        self._postgres: Postgres | None = None
        self._postgres_start: asyncio.Future[str]
        self._imap: ImapServer | None = None
        self._imap_start: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Run until a signal comes or the start fails. Returns the exit code; nothing is left running."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, self._on_stop_signal)
        tasks = [asyncio.create_task(self._start()), asyncio.create_task(self._stopping.wait())]
        if self.with_parent:
            tasks.append(asyncio.create_task(self._stop_with_parent(os.getppid())))
        starting, stopping, *_ = tasks
        code = 0
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                await starting
                tasks.append(asyncio.create_task(self._watch_postgres()))
                await self._stopping.wait()
        except (NoPostgres, SettingsError) as refused:
            self.output.warn(str(refused))
            code = 2
        except (CommandFailed, PostgresRefused, SQLAlchemyError, OSError) as failure:
            self.output.warn(f"Snoozer does not start: {failure}")
            code = 1
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._stop()
        return code

    async def _start(self) -> None:
        supervisor = self._supervisor
        await supervisor.start_reaper(lock=self.lock)
        # It is ready long before the database is.
        if self.is_trial:
            self._imap_start = asyncio.create_task(self._start_imap())
        own_database = ""
        if not self.given.database_url.get_secret_value():
            with self.output.working("starting the database"):
                own_database = await self._start_postgres()
        inbound, sink = ports.of(self.inbound), ports.of(self.sink) if self.sink else 0
        if self._imap_start is not None:
            await asyncio.shield(self._imap_start)
        settings = environment.write_up_file(
            self.home,
            self.given,
            database_url=own_database,
            port=self._port,
            inbound_port=inbound,
            sink_port=sink,
            imap_port=self._imap.port if self._imap else 0,
            allow_private_mailboxes=self.is_trial or self.given.allow_private_mailboxes,
        )
        with self.output.working("bringing the tables up to date"):
            await supervisor.run(_snoozer("migrate", stop_timeout=30))
        link = None
        if self.owner is not None:
            # Before the web starts, which prints a link for the first account if there is none.
            with self.output.working("preparing the account"):
                await supervisor.run(_snoozer("account", "create", self.owner, "--role", "admin"))
                link = await self._sign_in_link(self.owner)
        supervisor.keep(_web(self.web.fileno(), reload=self.reload))
        # The inbound server opens its port itself.
        self.inbound.close()
        supervisor.keep(_snoozer("inbound"))
        if self.sink is not None:
            listening = self.sink.fileno()
            supervisor.keep(_snoozer("sink", "--socket", str(listening), sockets=(listening,)))
        connecting = asyncio.create_task(self._connect_sample_mailbox(settings))
        # A worker that is asked to stop still records the mails that the mail server has already accepted.
        supervisor.keep(_snoozer("worker", stop_timeout=60))
        supervisor.keep(_snoozer("clock"))
        supervisor.keep(_snoozer("mailbox"))
        with self.output.working("waiting for the page"):
            if self.is_trial:
                await self._deliver_samples(settings)
            while not await _wait_until(self._is_ready):
                self.output.warn("the page does not answer yet; what is in the way stands above", by="web")
        is_connected = await connecting
        self._report_addresses(settings)
        self.on_ready(settings, link, self._imap if is_connected else None)

    async def _start_postgres(self) -> str:
        on_message = partial(self.output.line, by="postgres")
        register = partial(self._supervisor.register, processes.DATABASE)
        on_launch = partial(asyncio.get_running_loop().call_soon_threadsafe, register)
        self._postgres = Postgres(self.home, wanted=self.given.pg_bin, on_message=on_message, on_launch=on_launch)
        self._postgres_start = asyncio.ensure_future(asyncio.to_thread(self._postgres.start))
        # The thread cannot be cancelled: _stop waits for it, and stops the programs it started.
        url = await asyncio.shield(self._postgres_start)
        on_message(f"{ports.HOST}:{self._postgres.port}, data in {self._postgres.data}")
        return url

    async def _start_imap(self) -> None:
        """Start the server of the sample mailbox where Dovecot is installed."""
        try:
            self._imap = await asyncio.to_thread(dovecot.prepare, self.home)
        except (NoDovecot, OSError) as error:
            without = "so there is no sample mailbox by IMAP; Debian's package is dovecot-imapd"
            self.output.line(f"{error}, {without}", by="dovecot")
            return
        server = self._imap
        self._supervisor.keep(Program(name="dovecot", argv=server.argv, run_as=server.account.run_as, env=server.env))

    async def _connect_sample_mailbox(self, settings: Settings) -> bool:
        """Fill a new mailbox and connect it. A failure leaves it unconnected, and the start goes on."""
        if self._imap is None or not settings.allow_private_mailboxes:
            return False
        state, now = self._imap.state, datetime.now().astimezone()
        try:
            if await _wait_until(partial(_is_listening, ports.HOST, state.port)):
                return await asyncio.to_thread(sample_mailbox.connect, self.home, settings, state, now=now)
            self.output.warn(f"the server does not start; its log is {self._imap.log}", by="dovecot")
        except (sample_mailbox.NotReady, ImapError, SQLAlchemyError, OSError) as error:
            reason = error if isinstance(error, sample_mailbox.NotReady | ImapError) else type(error).__name__
            self.output.warn(
                f"the sample mailbox is not connected ({reason}); the log is {self._imap.log}", by="dovecot"
            )
        return False

    async def _sign_in_link(self, owner: str) -> str | None:
        lifetime = ("--days", "365") if self.is_trial else ()
        with suppress(CommandFailed):
            lines = await self._supervisor.run(_snoozer("account", "sign-in", owner, *lifetime))
            return next((line.strip() for line in lines if line.strip().startswith("http")), None)
        return None

    async def _deliver_samples(self, settings: Settings) -> None:
        """Fill a new mailbox through the inbound server. A failure leaves the mailbox empty, and the start goes on."""
        if not await asyncio.to_thread(samples.are_wanted, self.home, settings):
            return
        if not await _wait_until(partial(_is_listening, settings.inbound_host, settings.inbound_port)):
            self.output.warn("nothing answers there; the mailbox stays empty", by="inbound")
            return
        try:
            count = await asyncio.to_thread(samples.deliver, self.home, settings, now=datetime.now().astimezone())
        except (smtplib.SMTPException, OSError, SQLAlchemyError) as error:
            self.output.warn(f"the sample messages were not all accepted ({type(error).__name__})", by="inbound")
        else:
            self.output.line(f"{count} sample messages came in", by="inbound")

    def _report_addresses(self, settings: Settings) -> None:
        inbound = f"{settings.inbound_host}:{settings.inbound_port} ({settings.inbound_protocol.upper()})"
        self.output.line(f"{inbound} takes mail for {self.owner or 'all accounts'}", by="inbound")
        if self.sink is not None:
            sink = f"{ports.HOST}:{ports.of(self.sink)} (SMTP)"
            self.output.line(f"{sink} keeps what the worker sends; nothing leaves here", by="sink")
        if self._imap is not None:
            self.output.line(f"{ports.HOST}:{self._imap.port} (IMAP) has the sample mailbox", by="dovecot")
        self.output.line("sends reminders on time", by="worker")
        self.output.line("recovers what a lost worker left", by="clock")
        self.output.line(f"http://{ports.HOST}:{self._port}", by="web")

    def _is_ready(self) -> bool:
        """Whether /readyz is 200."""
        connection = http.client.HTTPConnection(ports.HOST, self._port, timeout=_REQUEST_SECONDS)
        with suppress(OSError, http.client.HTTPException), closing(connection):
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        return False

    async def _watch_postgres(self) -> None:
        """Restart the database, after a growing pause, whenever it ends."""
        backoff = Backoff(first=INITIAL_BACKOFF, cap=MAX_BACKOFF)
        while self._postgres is not None:
            await asyncio.sleep(_WATCH_SECONDS)
            await asyncio.to_thread(self._postgres.rotate_log)
            if self._postgres.is_running():
                continue
            self.output.warn("PostgreSQL has ended; starting it again", by="postgres")
            self._postgres_start = asyncio.ensure_future(asyncio.to_thread(self._postgres.start))
            try:
                await asyncio.shield(self._postgres_start)
            except (NoPostgres, PostgresRefused, OSError) as error:
                pause = backoff.next_wait()
                self.output.warn(f"{error}; trying again in {pause:g} s", by="postgres")
                await asyncio.sleep(pause)
            else:
                self.output.line("answers again", by="postgres")
                backoff.reset()

    async def _stop(self) -> None:
        self.output.line("stopping")
        if self._imap_start is not None:
            # It starts no server after this.
            await asyncio.gather(self._imap_start, return_exceptions=True)
        for names in STOP_ORDER:
            await self._supervisor.stop(*names)
        if self._imap is not None:
            self._imap.clean_up()
        if self._postgres is not None:
            try:
                await asyncio.to_thread(self._postgres.stop)
                await asyncio.gather(self._postgres_start, return_exceptions=True)
                await asyncio.to_thread(self._postgres.stop)
            except PostgresRefused as refused:
                self.output.warn(str(refused), by="postgres")
        environment.remove_up_file(self.home)
        await self._supervisor.stop_reaper()
        self.output.line("stopped")

    def _on_stop_signal(self) -> None:
        if self._stopping.is_set():
            self.output.line("not waiting any longer")
            self._supervisor.kill_now()
        self._stopping.set()

    async def _stop_with_parent(self, parent: int) -> None:
        """Stop when the parent process (make) is gone: no Ctrl-C would reach this one any longer."""
        while os.getppid() == parent:
            await asyncio.sleep(_WATCH_SECONDS)
        self._on_stop_signal()


def _web(listening: int, *, reload: bool) -> Program:
    """The web server on a listening socket that it inherits."""
    options = ["-c", "python:snoozer.web.gunicorn", "--bind", f"fd://{listening}"]
    if reload:
        folders = tuple(resource_folder(name) for name in ("templates", "static", "locale"))
        files = [str(file) for folder in folders for file in folder.rglob("*") if file.is_file()]
        options += ["--reload", *(f"--reload-extra-file={file}" for file in files)]
    argv = (*PYTHON_MODULE, "snoozer.web", *options, "snoozer.web:from_environment()")
    return Program(name="web", argv=argv, sockets=(listening,), stop_timeout=20)


def _snoozer(*arguments: str, stop_timeout: float = 10.0, sockets: tuple[int, ...] = ()) -> Program:
    """The `snoozer` command with these arguments, named after the first."""
    argv = (*PYTHON_MODULE, "snoozer", *arguments)
    return Program(name=arguments[0], argv=argv, sockets=sockets, stop_timeout=stop_timeout)


async def _wait_until(check: Callable[[], bool]) -> bool:
    """Call `check` in a thread until it returns True. Returns False after 60 seconds."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if await asyncio.to_thread(check):
            return True
        await asyncio.sleep(0.1)
    return False


def _is_listening(host: str, port: int) -> bool:
    with suppress(OSError):
        socket.create_connection((host, port), timeout=_REQUEST_SECONDS).close()
        return True
    return False
