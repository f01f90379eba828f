"""One run of `snoozer up`: everything is started, watched, and stopped in the opposite order."""

import asyncio
import contextlib
import http.client
import os
import signal
import smtplib
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from snoozer.dev import environment, ports, processes, samples
from snoozer.dev.binaries import NoPostgres
from snoozer.dev.console import Output
from snoozer.dev.environment import OWNER
from snoozer.dev.postgres import Postgres, PostgresRefused
from snoozer.dev.supervisor import CommandFailed, Program, Supervisor
from snoozer.resources import PYTHON_MODULE, resource_folder
from snoozer.runtime.backoff import Backoff
from snoozer.settings import Settings, SettingsError

START_SECONDS = 60.0
# A worker that is asked to stop still finishes what the mail server has already accepted.
DRAIN_SECONDS = 60.0
_WATCH_SECONDS = 0.5
_POLL_INTERVAL = 0.1
_REQUEST_SECONDS = 10.0
_INITIAL_BACKOFF = 0.5
_MAX_BACKOFF = 30.0

_SNOOZER = (*PYTHON_MODULE, "snoozer")
MIGRATE = Program(name="migrate", argv=(*_SNOOZER, "migrate"), stop_timeout=30)
CREATE_ACCOUNT = Program(name="account", argv=(*_SNOOZER, "account", "create", OWNER, "--role", "admin"))
SIGN_IN = Program(name="account", argv=(*_SNOOZER, "account", "sign-in", OWNER))
INBOUND = Program(name="inbound", argv=(*_SNOOZER, "inbound"))
WORKER = Program(name="worker", argv=(*_SNOOZER, "worker"), stop_timeout=DRAIN_SECONDS)
CLOCK = Program(name="clock", argv=(*_SNOOZER, "clock"))
# First what accepts new work, last what others need.
STOP_ORDER = (("web", "inbound"), ("worker",), ("clock",), ("sink",))

OnReady = Callable[[Settings, str | None], None]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is known before anything is started. The ports are open already; `sink` is None with a mail server given.

    `lock` is inherited by the reaper, `reload` has the pages follow each change of the checkout.
    """

    home: Path
    given: Settings
    web: socket.socket
    sink: socket.socket | None
    inbound: socket.socket
    lock: int
    with_parent: bool
    reload: bool

    @property
    def port(self) -> int:
        return ports.of(self.web)


class Runner:
    """Starts everything, calls `on_ready` with the settings and the sign-in link, and stops at a signal."""

    def __init__(self, plan: Plan, output: Output, *, on_ready: OnReady) -> None:
        self._plan = plan
        self._output = output
        self._on_ready = on_ready
        self._supervisor = Supervisor(output)
        self._stopping = asyncio.Event()
        self._postgres: Postgres | None = None
        self._postgres_start: asyncio.Future[str] | None = None

    async def run(self) -> int:
        """Run until a signal comes or the start fails. Returns the exit code; nothing is left running."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, self._on_stop_signal)
        tasks = [asyncio.create_task(self._start()), asyncio.create_task(self._stopping.wait())]
        if self._plan.with_parent:
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
            self._output.warn(str(refused))
            code = 2
        except (CommandFailed, PostgresRefused, SQLAlchemyError, OSError) as failure:
            self._output.warn(f"Snoozer does not start: {failure}")
            code = 1
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._stop()
        return code

    async def _start(self) -> None:
        plan, supervisor = self._plan, self._supervisor
        await supervisor.start_reaper(lock=plan.lock)
        own_database = ""
        if not plan.given.database_url.get_secret_value():
            with self._output.working("starting the database"):
                own_database = await self._start_postgres()
        settings = environment.write_up_file(
            plan.home,
            plan.given,
            database_url=own_database,
            port=plan.port,
            inbound_port=ports.of(plan.inbound),
            sink_port=ports.of(plan.sink) if plan.sink else 0,
        )
        with self._output.working("bringing the tables up to date"):
            await supervisor.run(MIGRATE)
        supervisor.keep(_web(plan.web.fileno(), reload=plan.reload))
        # The inbound server opens its port itself.
        plan.inbound.close()
        supervisor.keep(INBOUND)
        if plan.sink is not None:
            supervisor.keep(_sink(plan.sink.fileno()))
        with self._output.working("preparing the account"):
            await supervisor.run(CREATE_ACCOUNT)
            link = await self._sign_in_link()
        supervisor.keep(WORKER)
        supervisor.keep(CLOCK)
        with self._output.working("waiting for the page"):
            await self._deliver_samples(settings)
            while not await _wait_until_ready(plan.port, seconds=START_SECONDS):
                self._output.warn("the page does not answer yet; what is in the way stands above", by="web")
        self._report_addresses(settings)
        self._on_ready(settings, link)

    async def _start_postgres(self) -> str:
        loop = asyncio.get_running_loop()
        output = self._output

        def on_launch(pid: int) -> None:
            loop.call_soon_threadsafe(self._supervisor.register, processes.DATABASE, pid)

        self._postgres = Postgres(
            self._plan.home,
            wanted=self._plan.given.pg_bin,
            on_message=lambda line: output.line(line, by="postgres"),
            on_launch=on_launch,
        )
        self._postgres_start = asyncio.ensure_future(asyncio.to_thread(self._postgres.start))
        # The thread cannot be cancelled: _stop waits for it, and stops what it started.
        url = await asyncio.shield(self._postgres_start)
        output.line(f"{ports.HOST}:{self._postgres.port}, data in {self._postgres.data}", by="postgres")
        return url

    async def _sign_in_link(self) -> str | None:
        try:
            lines = await self._supervisor.run(SIGN_IN)
        except CommandFailed:
            return None
        return next((line.strip() for line in lines if line.strip().startswith("http")), None)

    async def _deliver_samples(self, settings: Settings) -> None:
        """Fill a new mailbox through the inbound server. A failure leaves the mailbox empty, and the start goes on."""
        home = self._plan.home
        if not await asyncio.to_thread(samples.are_wanted, home, settings):
            return
        if not await _wait_for_port(settings.inbound_host, settings.inbound_port, seconds=START_SECONDS):
            self._output.warn("nothing answers there; the mailbox stays empty", by="inbound")
            return
        try:
            count = await asyncio.to_thread(samples.deliver, home, settings, now=datetime.now().astimezone())
        except (smtplib.SMTPException, OSError) as error:
            self._output.warn(f"the sample messages were not all accepted ({type(error).__name__})", by="inbound")
        else:
            self._output.line(f"{count} sample messages came in", by="inbound")

    def _report_addresses(self, settings: Settings) -> None:
        output = self._output
        inbound = f"{settings.inbound_host}:{settings.inbound_port} ({settings.inbound_protocol.upper()})"
        output.line(f"{inbound} takes mail for {OWNER}", by="inbound")
        if self._plan.sink is not None:
            sink = f"{ports.HOST}:{ports.of(self._plan.sink)} (SMTP)"
            output.line(f"{sink} keeps what the worker sends; nothing leaves here", by="sink")
        output.line("sends reminders on time", by="worker")
        output.line("recovers what a lost worker left", by="clock")
        output.line(f"http://{ports.HOST}:{self._plan.port}", by="web")

    async def _watch_postgres(self) -> None:
        """Restart the database, after a growing pause, whenever it ends."""
        backoff = Backoff(first=_INITIAL_BACKOFF, cap=_MAX_BACKOFF)
        while self._postgres is not None:
            await asyncio.sleep(_WATCH_SECONDS)
            await asyncio.to_thread(self._postgres.rotate_log)
            if self._postgres.is_running():
                continue
            self._output.warn("PostgreSQL has ended; starting it again", by="postgres")
            self._postgres_start = asyncio.ensure_future(asyncio.to_thread(self._postgres.start))
            try:
                await asyncio.shield(self._postgres_start)
            except (NoPostgres, PostgresRefused, OSError) as error:
                pause = backoff.next_wait()
                self._output.warn(f"{error}; trying again in {pause:g} s", by="postgres")
                await asyncio.sleep(pause)
            else:
                self._output.line("answers again", by="postgres")
                backoff.reset()

    async def _stop(self) -> None:
        self._output.line("stopping")
        for names in STOP_ORDER:
            await self._supervisor.stop(*names)
        if self._postgres is not None:
            try:
                await asyncio.to_thread(self._postgres.stop)
                if self._postgres_start is not None:
                    await asyncio.gather(self._postgres_start, return_exceptions=True)
                await asyncio.to_thread(self._postgres.stop)
            except PostgresRefused as refused:
                self._output.warn(str(refused), by="postgres")
        environment.remove_up_file(self._plan.home)
        await self._supervisor.stop_reaper()
        self._output.line("stopped")

    def _on_stop_signal(self) -> None:
        if self._stopping.is_set():
            self._output.line("not waiting any longer")
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
        folders = (resource_folder("templates"), resource_folder("static"))
        files = [str(file) for folder in folders for file in folder.rglob("*") if file.is_file()]
        options += ["--reload", *(f"--reload-extra-file={file}" for file in files)]
    argv = (*PYTHON_MODULE, "snoozer.web", *options, "snoozer.web:from_environment()")
    return Program(name="web", argv=argv, sockets=(listening,), stop_timeout=20)


def _sink(listening: int) -> Program:
    """The mail sink on a listening socket that it inherits."""
    return Program(name="sink", argv=(*_SNOOZER, "sink", "--socket", str(listening)), sockets=(listening,))


async def _wait_until_ready(port: int, *, seconds: float) -> bool:
    """Request /readyz until its status is 200. Returns False after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if await asyncio.to_thread(_status, port, "/readyz") == http.HTTPStatus.OK:
            return True
        await asyncio.sleep(_POLL_INTERVAL)
    return False


async def _wait_for_port(host: str, port: int, *, seconds: float) -> bool:
    """Connect until something listens there. Returns False after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(_POLL_INTERVAL)
        else:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return True
    return False


def _status(port: int, path: str) -> int:
    """The status of a page, 0 without an answer."""
    connection = http.client.HTTPConnection(ports.HOST, port, timeout=_REQUEST_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
