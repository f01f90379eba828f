"""The life of one `snoozer up`: everything is started, watched, and stopped in the opposite order."""

import asyncio
import os
import signal
import smtplib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from snoozer.dev import environment, ports, programs, reaper, seed, wait_for
from snoozer.dev.binaries import NoPostgres
from snoozer.dev.console import Voice
from snoozer.dev.errors import PostgresRefused
from snoozer.dev.postgres import Postgres
from snoozer.dev.supervisor import CommandFailed, Supervisor
from snoozer.runtime.backoff import Backoff
from snoozer.settings import Settings, SettingsError

STARTING_SECONDS = 60.0
_WATCH_SECONDS = 0.5
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0

Welcome = Callable[[Settings, str | None], None]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What was found out before anything is started, with the ports held so that nobody takes them in between.

    `sink` is None when the user has a mail server.
    """

    home: Path
    given: Settings
    web: socket.socket
    sink: socket.socket | None
    inbound: socket.socket
    lock: int
    with_parent: bool

    @property
    def port(self) -> int:
        return ports.of(self.web)


class Life:
    """Starts everything, says so through `welcome` (with the sign-in link), and stops it when it is told to."""

    def __init__(self, plan: Plan, voice: Voice, *, welcome: Welcome) -> None:
        self._plan = plan
        self._voice = voice
        self._welcome = welcome
        self._supervisor = Supervisor(voice)
        self._stop = asyncio.Event()
        self._postgres: Postgres | None = None
        self._postgres_starts: asyncio.Future[str] | None = None

    async def run(self) -> int:
        """Live until a signal comes or the start fails; returns the exit code. Nothing is left running."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, self._told_to_stop)
        living = [asyncio.create_task(self._start()), asyncio.create_task(self._stop.wait())]
        if self._plan.with_parent:
            living.append(asyncio.create_task(self._stop_with_parent(os.getppid())))
        starting, stopping, *_ = living
        code = 0
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                await starting
                living.append(asyncio.create_task(self._watch()))
                await self._stop.wait()
        except (NoPostgres, SettingsError) as refused:
            self._voice.warn(str(refused))
            code = 2
        except (CommandFailed, PostgresRefused, SQLAlchemyError, OSError) as failure:
            self._voice.warn(f"Snoozer does not start: {failure}")
            code = 1
        finally:
            for task in living:
                task.cancel()
            await asyncio.gather(*living, return_exceptions=True)
            await self._end()
        return code

    async def _start(self) -> None:
        plan, supervisor = self._plan, self._supervisor
        await supervisor.guard(lock=plan.lock)
        own_database = ""
        if not plan.given.database_url.get_secret_value():
            with self._voice.working("starting the database"):
                own_database = await self._start_postgres()
        chosen = environment.write(
            plan.home,
            plan.given,
            database_url=own_database,
            port=plan.port,
            inbound_port=ports.of(plan.inbound),
            sink_port=ports.of(plan.sink) if plan.sink else 0,
        )
        with self._voice.working("bringing the tables up to date"):
            await supervisor.run(programs.MIGRATE)
        supervisor.keep(programs.web(plan.web.fileno()))
        # The inbound door opens its port itself.
        plan.inbound.close()
        supervisor.keep(programs.INBOUND)
        if plan.sink is not None:
            supervisor.keep(programs.sink(plan.sink.fileno()))
        with self._voice.working("preparing the account"):
            await supervisor.run(programs.CREATE_ACCOUNT)
            link = await self._sign_in_link()
        supervisor.keep(programs.WORKER)
        supervisor.keep(programs.CLOCK)
        with self._voice.working("waiting for the page"):
            await self._bring_samples(chosen)
            while not await wait_for.page(plan.port, "/readyz", seconds=STARTING_SECONDS):
                self._voice.warn("the page does not answer yet; what is in the way stands above", by="web")
        self._say_where(chosen)
        self._welcome(chosen, link)

    async def _start_postgres(self) -> str:
        loop = asyncio.get_running_loop()
        voice = self._voice

        def launched(pid: int) -> None:
            loop.call_soon_threadsafe(self._supervisor.announce, reaper.DATABASE, pid)

        self._postgres = Postgres(
            self._plan.home,
            wanted=self._plan.given.pg_bin,
            say=lambda line: voice.say(line, by="postgres"),
            launched=launched,
        )
        self._postgres_starts = asyncio.ensure_future(asyncio.to_thread(self._postgres.start))
        # The thread cannot be cancelled: whoever stops waits for it, and stops what it started.
        url = await asyncio.shield(self._postgres_starts)
        voice.say(f"{ports.HOST}:{self._postgres.port}, data in {self._postgres.data}", by="postgres")
        return url

    async def _sign_in_link(self) -> str | None:
        try:
            said = await self._supervisor.run(programs.SIGN_IN)
        except CommandFailed:
            return None
        return next((line.strip() for line in said if line.strip().startswith("http")), None)

    async def _bring_samples(self, chosen: Settings) -> None:
        """Fill a new mailbox through the inbound door. An empty mailbox is no reason not to start."""
        home = self._plan.home
        if not await asyncio.to_thread(seed.are_wanted, home, chosen):
            return
        if not await wait_for.door(chosen.inbound_host, chosen.inbound_port, seconds=STARTING_SECONDS):
            self._voice.warn("nobody answers there; the mailbox stays empty", by="inbound")
            return
        try:
            count = await asyncio.to_thread(seed.deliver, home, chosen, now=datetime.now().astimezone())
        except (smtplib.SMTPException, OSError) as error:
            self._voice.warn(f"the sample messages were not all accepted ({type(error).__name__})", by="inbound")
        else:
            self._voice.say(f"{count} sample messages came in", by="inbound")

    def _say_where(self, chosen: Settings) -> None:
        door = f"{chosen.inbound_host}:{chosen.inbound_port} ({chosen.inbound_protocol.upper()})"
        self._voice.say(f"{door} takes mail for {environment.OWNER}", by="inbound")
        if self._plan.sink is not None:
            port = ports.of(self._plan.sink)
            self._voice.say(f"{ports.HOST}:{port} (SMTP) keeps what the worker sends; nothing leaves here", by="sink")
        self._voice.say("sends reminders on time", by="worker")
        self._voice.say("recovers what a lost worker left", by="clock")
        self._voice.say(f"http://{ports.HOST}:{self._plan.port}", by="web")

    async def _watch(self) -> None:
        """Start the database again, after a growing pause, whenever it ends."""
        backoff = Backoff(first=_FIRST_PAUSE, cap=_LONGEST_PAUSE)
        while self._postgres is not None:
            await asyncio.sleep(_WATCH_SECONDS)
            await asyncio.to_thread(self._postgres.keep_log_small)
            if self._postgres.is_running():
                continue
            self._voice.warn("PostgreSQL has ended; starting it again", by="postgres")
            self._postgres_starts = asyncio.ensure_future(asyncio.to_thread(self._postgres.start))
            try:
                await asyncio.shield(self._postgres_starts)
            except (NoPostgres, PostgresRefused, OSError) as error:
                pause = backoff.next_wait()
                self._voice.warn(f"{error}; trying again in {pause:g} s", by="postgres")
                await asyncio.sleep(pause)
            else:
                self._voice.say("answers again", by="postgres")
                backoff.reset()

    async def _end(self) -> None:
        self._voice.say("stopping")
        for names in programs.STOPPING_ORDER:
            await self._supervisor.stop(*names)
        if self._postgres is not None:
            try:
                await asyncio.to_thread(self._postgres.stop)
                if self._postgres_starts is not None:
                    await asyncio.gather(self._postgres_starts, return_exceptions=True)
                await asyncio.to_thread(self._postgres.stop)
            except PostgresRefused as refused:
                self._voice.warn(str(refused), by="postgres")
        environment.forget(self._plan.home)
        await self._supervisor.dismiss_guardian()
        self._voice.say("stopped")

    def _told_to_stop(self) -> None:
        if self._stop.is_set():
            self._voice.say("not waiting for anybody any longer")
            self._supervisor.hurry()
        self._stop.set()

    async def _stop_with_parent(self, parent: int) -> None:
        """Whoever started us (make) is gone without a word: then nobody would know how to stop us."""
        while os.getppid() == parent:
            await asyncio.sleep(_WATCH_SECONDS)
        self._told_to_stop()
