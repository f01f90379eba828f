"""One lab with its own database, mail server, network, clock and workers, in a folder that is deleted at the end.
Several run on one machine at the same time."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from lab import naive, subjects
from lab import queue_rows as lab_rows
from lab.child import Child, Register
from lab.judge import Judge, Promise
from lab.slots import Kind, Slot
from snoozer.db.engine import make_engine
from snoozer.db.statements import database_time
from snoozer.db.url import parse_url
from snoozer.dev import ports
from snoozer.dev.console import Output
from snoozer.dev.postgres import Postgres, PostgresRefused
from snoozer.dev.processes import DATABASE
from snoozer.queue import changes
from snoozer.queue.changes import NewSnooze
from snoozer.queue.promise import ReminderTime
from snoozer.resources import PYTHON_MODULE
from snoozer.settings import Settings

# Short, so that everything that takes minutes in production takes seconds here.
TIMES = {
    "SNOOZER_LEASE_SECONDS": "6",
    "SNOOZER_HEARTBEAT_SECONDS": "0.5",
    "SNOOZER_WORKER_DEAD_SECONDS": "3",
    "SNOOZER_SWEEP_SECONDS": "0.5",
    "SNOOZER_POLL_SECONDS": "0.5",
    "SNOOZER_BACKOFF_SECONDS": "1",
    "SNOOZER_DEADLINE_SECONDS": "30",
    "SNOOZER_UNCERTAIN_HOLD_SECONDS": "2",
    "SNOOZER_UNCERTAIN_POLICY": "resend",
    "SNOOZER_BREAKER_THRESHOLD": "3",
    "SNOOZER_BREAKER_COOLDOWN_SECONDS": "2",
}
WORKERS, NAIVE_WORKERS = 3, 2
THINKS_SECONDS = 0.25
READY_SECONDS = 60.0
STOP_SECONDS = 4.0
MAX_SPREAD_SECONDS = 10.0
SENDER = ("Snoozer's lab", "lab@lab.example")


class LabFailed(Exception):
    """The lab does not start; the text is one sentence."""


@dataclass(frozen=True, kw_only=True)
class News:
    """Something that happened, for the page's log."""

    at: float
    text: str


class Lab:
    """`start` returns when everything runs, `stop` when nothing is left. Its methods are called by any thread."""

    def __init__(
        self, home: Path, *, given: Settings, register: Register, output: Output, stopping: threading.Event
    ) -> None:
        self.home, self._given, self._register, self._output = home, given, register, output
        self.facts = home / "accepted.jsonl"
        self.news: deque[News] = deque(maxlen=200)
        self.database = Postgres(
            home,
            wanted=given.pg_bin,
            on_message=partial(output.line, by="postgres"),
            on_launch=partial(register, DATABASE),
        )
        self.judge = Judge(self.facts)
        self.settings: Settings
        self.engine: Engine
        self.slots: list[Slot] = []
        self.mail_server_is_up = False
        self.thinks, self.refused, self.is_cut = THINKS_SECONDS, False, False
        self._mail_server: Child | None = None
        self._network: Child | None = None
        self._clock: Child | None = None
        self._mail_port = self._far_port = self._database_port = 0
        self._numbers = iter(range(1, 2**31))
        self._threads: list[threading.Thread] = []
        self._database_lock = threading.Lock()
        self.stopping = stopping
        # Nothing of the caller's environment: a lab reaches no database and no mail server but its own.
        self._env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(home), "SNOOZER_HOME": str(home)}

    def start(self, *, base_url: str) -> None:
        """Start everything. Raises LabFailed, NoPostgres or PostgresRefused."""
        own_url = self.database.start()
        self._mail_port, self._far_port, self._database_port = _free_ports(3)
        self._network = self._child(
            "lab.network", f"{self._database_port}:{self.database.port}", f"{self._far_port}:{self._mail_port}"
        )
        own = {
            "SECRET_KEY": secrets.token_urlsafe(48),
            "BASE_URL": base_url,
            "SMTP_URL": f"smtp://{ports.HOST}:{self._far_port}",
            "MAIL_FROM": "Snoozer <snoozer@lab.example>",
            "SNOOZER_HOME": str(self.home),
            "SNOOZER_FAILOVER": "continue",
            **TIMES,
        }
        self._env |= {**own, "DATABASE_URL": own_url}
        self.settings = Settings(**{**own, "DATABASE_URL": own_url})  # type: ignore[arg-type]
        self.engine = make_engine(parse_url(own_url), name="lab", pool_size=6, ping_after=0.0)
        self._migrate()
        self.start_mail_server()
        if not self._network.wait_until_ready(READY_SECONDS):
            raise LabFailed("the lab's network does not start")
        self._start_clock()
        for _ in range(WORKERS):
            self.add_worker()
        for number in range(1, NAIVE_WORKERS + 1):
            self._add_slot(f"Naive {number}", "naive", "lab.naive_loop", f"naive-{number}")
        for slot in self.slots:
            slot.start()
        self.tell("The lab is open: its workers, database and mail server run")

    def stop(self) -> None:
        """Stop everything, in any state."""
        self.stopping.set()
        for slot in self.slots:
            slot.begin_stop()
        others = [child for child in (self._clock, self._mail_server, self._network) if child is not None]
        if self._clock is not None:
            self._clock.begin_stop()
        end = time.monotonic() + STOP_SECONDS
        for slot in self.slots:
            slot.finish_stop(max(0.1, end - time.monotonic()))
        for child in others:
            child.begin_stop()
            child.finish_stop(max(0.1, end - time.monotonic()))
        for thread in self._threads:
            thread.join(STOP_SECONDS)
        if hasattr(self, "engine"):
            self.engine.dispose()
        with self._database_lock:
            self.database.stop()

    def tell(self, text: str) -> None:
        """Write a sentence into the page's log."""
        self.news.append(News(at=time.time(), text=text))

    def in_background(self, act: Callable[[], None]) -> None:
        """Do something that takes a while; `stop` waits for it."""

        def run() -> None:
            try:
                act()
            except (SQLAlchemyError, OSError) as error:
                self.tell(f"It could not be done ({type(error).__name__}); try it again")

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something after some seconds, unless the lab is stopped before."""

        def wait() -> None:
            if not self.stopping.wait(seconds):
                act()

        self.in_background(wait)

    def add(self, count: int, *, word: str = "", soon: float = 1.5, spread: float | None = None) -> list[str]:
        """Promise a number of messages, each to be back within seconds, here and to the naive loop. Returns their ids
        once both are committed. The ids contain `word`."""
        if spread is None:
            spread = 0.0 if count == 1 else min(MAX_SPREAD_SECONDS, 2 + count / 100)
        people = max(1, min(200, count // 3))
        made = [subjects.make(next(self._numbers), word=word) for _ in range(count)]
        promises: list[Promise] = []
        with self.engine.begin() as connection:
            now = database_time(connection)
            for number in range(people):
                share = made[number::people]
                person = f"person-{number + 1}@lab.example"
                due = now + timedelta(seconds=soon + spread * (number + 1) / people)
                name, address = SENDER
                lab_rows.keep_messages(
                    connection, user_email=person, sender_name=name, sender_email=address, messages=share
                )
                time = ReminderTime(remind_at=due, zone="UTC")
                changes.enqueue_many(
                    connection,
                    user_email=person,
                    terms=[
                        NewSnooze(message_id=id, subject=subject, sender_email=address, time=time).terms
                        for id, subject, _ in share
                    ],
                )
                naive.enqueue(
                    connection,
                    rcpt=person.replace("@lab.", "@naive."),
                    remind_at=due,
                    message_ids=[id for id, _, _ in share],
                    subjects=[subject for _, subject, _ in share],
                )
                promises += [Promise(message_id=id, due=due.timestamp()) for id, _, _ in share]
        # Committed: from now on each of them is owed.
        self.judge.promise(promises)
        return [promise.message_id for promise in promises]

    def start_mail_server(self) -> None:
        """Start the mail server at its port, as it was ordered last."""
        if self._mail_server is not None and self._mail_server.is_running():
            return
        child = self._child("fakes.smtp_server", str(self.facts), "--port", str(self._mail_port), "--pipelining")
        if not child.wait_until_ready(READY_SECONDS):
            raise LabFailed("the lab's mail server does not start")
        self._mail_server, self.mail_server_is_up = child, True
        self.order_mail_server(takes=self.thinks, refuse="person-1@lab.example" if self.refused else None)

    def kill_mail_server(self) -> None:
        """kill -9: connections are refused from now on."""
        if self._mail_server is not None:
            self._mail_server.kill()
        self.mail_server_is_up = False

    def order_mail_server(self, **order: Any) -> None:
        self.thinks = order.get("takes", self.thinks)
        if "refuse" in order:
            self.refused = order["refuse"] is not None
        if self._mail_server is not None:
            self._mail_server.order(**order)

    def cut_network(self, is_cut: bool) -> None:
        """Cut the workers off from database and mail server, or mend it."""
        self.is_cut = is_cut
        if self._network is not None:
            self._network.order(cut=is_cut)

    def crash_database(self) -> None:
        """End PostgreSQL as a power cut does, and start it again."""
        with self._database_lock:
            self.database.crash()
            while not self.stopping.is_set():
                # A loaded machine may take longer for its recovery than one start waits.
                try:
                    self.database.start()
                except PostgresRefused as refused:
                    self.tell(f"{refused}; it is tried again")
                    self.stopping.wait(1)
                else:
                    return

    def heal(self) -> None:
        """Everything runs as at the beginning."""
        self.start_mail_server()
        self.order_mail_server(heal=True, takes=THINKS_SECONDS, refuse=None)
        self.cut_network(False)
        for slot in self.slots:
            slot.die_at(None)
            slot.thaw()
            if slot.view.clock:
                slot.set_clock({})
            slot.start()

    def of_kind(self, kind: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.kind == kind]

    def add_worker(self) -> Slot:
        """A place for one more worker, which is not started yet."""
        return self._add_slot(f"Worker {len(self.of_kind('snoozer')) + 1}", "snoozer", "lab.worker")

    def _add_slot(self, name: str, kind: Kind, *module: str) -> Slot:
        """Its process reaches the database by the network that can be cut."""
        url = self._env["DATABASE_URL"].replace(f":{self.database.port}/", f":{self._database_port}/")
        env = {**self._env, "DATABASE_URL": url}
        slot = Slot(name, kind, (*PYTHON_MODULE, *module), env=env, register=self._register, on_news=self.tell)
        self.slots.append(slot)
        return slot

    def _child(self, module: str, *arguments: str, **options: Any) -> Child:
        return Child((*PYTHON_MODULE, module, *arguments), env=self._env, register=self._register, **options)

    def _migrate(self) -> None:
        child = self._child("snoozer", "migrate")
        while child.is_running():
            time.sleep(0.05)
            if self.stopping.is_set():
                child.kill()
                raise LabFailed("the lab was stopped while it started")
        if child.exit_code:
            last = child.lines[-1] if child.lines else ""
            raise LabFailed(f"the tables cannot be made: {last}")
        with self.engine.begin() as connection:
            naive.create_jobs(connection)
            naive.create_sends(connection)

    def _start_clock(self) -> None:
        if not self.stopping.is_set():
            self._clock = self._child("snoozer", "clock", on_exit=self._clock_ended)

    def _clock_ended(self, code: int) -> None:
        self.tell("The clock ended and is started again")
        time.sleep(1)
        self._start_clock()


def _free_ports(count: int) -> list[int]:
    """So many different ones."""
    with ExitStack() as held:
        return [ports.of(held.enter_context(socket)) for _ in range(count) if (socket := ports.hold(0))]
