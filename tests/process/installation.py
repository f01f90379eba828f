"""All of Snoozer with its defaults, on servers that a test can freeze, and the operators' overview in a browser."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import psycopg
from playwright.sync_api import Browser, Page
from sqlalchemy import Engine, text

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.dev.postgres import Postgres
from snoozer.settings import Settings
from tests.browser.live import a_browser, listening, site_with_streams
from tests.chaos.storm.ground import SinkProcess
from tests.conftest import a_postgres, sqlalchemy_url
from tests.factories import People, Person, an_original
from tests.forked import start_forked
from tests.imap import dovecot
from tests.imap.watched import Place, watched
from tests.process.conftest import ROOT, SHORT, Field, Sink, wait
from tests.web.live_site import LiveSite

DEFAULTS = {str(field.alias): f"{field.default:g}" for field in Settings.model_fields.values() if field.alias in SHORT}
KEY = "a-test-key-of-enough-length"
LOOK_SECONDS = 0.2
# A reminder is due twice a second.
PACE_SECONDS = 0.5
# How long the installation may take until it is well again, and a sentence that may still be there.
SETTLE_SECONDS = 120.0
LEFT = re.compile("may have been sent")
REFUSAL = "421 4.3.2 Service not available"
# The verdict's sentences that can be seen, in order, each with what it offers and its page of the runbook.
READ = """
() => {
  const isShown = (element) => element?.checkVisibility() ?? false;
  const silence = document.querySelector("#silence"), verdict = document.querySelector("#verdict");
  const sentence = (text, remedy) => ({
    text: text.innerText,
    acts: remedy ? [...remedy.querySelectorAll("summary, code, a")].filter(isShown).map((one) => one.innerText) : [],
    page: remedy?.querySelector("a[href*=runbook]")?.hash.slice(1) ?? remedy?.querySelector("details")?.id ?? "",
  });
  const found = isShown(silence) ? [sentence(silence.querySelector("h2"), silence.querySelector(".remedy"))] : [];
  if (isShown(verdict)) {
    found.push(sentence(verdict.querySelector("h2"), verdict.querySelector(":scope > div > .remedy")));
    for (const one of verdict.querySelectorAll("li"))
      found.push(sentence(one.querySelector(".trouble"), one.querySelector(".remedy")));
  }
  const age = document.querySelector("#watch-state").innerText.match(/read (\\d+) (s|min|h) ago/);
  const seconds = age ? Number(age[1]) * { s: 1, min: 60, h: 3600 }[age[2]] : 0;
  return [found, getComputedStyle(document.querySelector("#place")).filter.includes("grayscale"), seconds];
}
"""


@dataclass(frozen=True)
class Sentence:
    """A sentence of the page, the acts next to it, and the heading of the runbook that it leads to."""

    text: str
    acts: list[str]
    page: str


@dataclass(frozen=True)
class Look:
    """The sentences that could be seen at a moment of the monotonic clock, whether the figures were grey, and how many
    seconds old the page calls them."""

    at: float
    sentences: list[Sentence]
    is_grey: bool
    figures_age: float


@dataclass
class Slot:
    """A process of the product, started again whenever it ends, unless it is to stay down."""

    start: Callable[[], "subprocess.Popen[Any]"]
    process: "subprocess.Popen[Any]" = field(init=False)
    stays_down: bool = False

    def __post_init__(self) -> None:
        self.process = self.start()

    def keep(self) -> None:
        if self.process.poll() is not None and not self.stays_down:
            self.process = self.start()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


@dataclass
class Installation:
    """The servers, the processes, and two operators: the first one looks at `page`, the second one stops mail servers
    at `desk` and pauses at `other_desk`."""

    engine: Engine
    postgres: Postgres
    sink: SinkProcess
    imap: int
    workers: list[Slot]
    clock: Slot
    page: Page
    desk: Page
    other_desk: Page
    migration: "psycopg.Connection[Any] | None" = None
    due_until: datetime = field(default_factory=lambda: datetime.now(UTC))

    def look(self) -> Look:
        for slot in (*self.workers, self.clock):
            slot.keep()
        self.page.wait_for_timeout(LOOK_SECONDS * 1000)
        at = time.monotonic()
        found, is_grey, age = self.page.evaluate(READ)
        return Look(at=at, sentences=[Sentence(**one) for one in found], is_grey=is_grey, figures_age=age)

    def settle(self) -> None:
        """Returns once the page says that all is well, both workers work, and reminders come due for some minutes."""
        ends = time.monotonic() + SETTLE_SECONDS
        while not (self._is_well(look := self.look()) and self._has_workers()):
            assert time.monotonic() < ends, look
        self._come_due()

    def registered(self) -> set[str]:
        """The workers that have been heard lately."""
        heard = text("SELECT id FROM workers WHERE state = 'alive' AND heartbeat_at > now() - INTERVAL '5 seconds'")
        with self.engine.connect() as connection:
            return set(connection.execute(heard).scalars())

    def _has_workers(self) -> bool:
        return len(self.registered()) == len(self.workers)

    @staticmethod
    def _is_well(look: Look) -> bool:
        return all(one.text.startswith("All is well") or LEFT.search(one.text) for one in look.sentences)

    def _come_due(self, minutes: int = 5) -> None:
        first, until = max(self.due_until, datetime.now(UTC)), datetime.now(UTC) + timedelta(minutes=minutes)
        rows = text(
            "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
            "SELECT 'p' || extract(epoch FROM at)::int % 40 || '@snoozer.example', "
            "gen_random_uuid() || '@mail.example', at "
            "FROM generate_series(CAST(:first AS timestamptz), :until, :pace) AS at"
        )
        with self.engine.begin() as connection:
            connection.execute(rows, {"first": first, "until": until, "pace": timedelta(seconds=PACE_SECONDS)})
            # Operators act without confirming again who they are.
            connection.execute(text("UPDATE sessions SET confirmed_at = now()"))
        self.due_until = max(until, first)


def family(pid: int) -> list[int]:
    """A process and all that it started, itself first, without processes that end."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        children = []
    return [pid, *(each for child in children for each in family(int(child)))]


def signal_family(pid: int, what: signal.Signals) -> None:
    """Signals a process before its children, so that a frozen parent starts no other. A killed parent has no children
    any more."""
    known = family(pid)[1:]
    os.kill(pid, what)
    for each in {*known, *family(pid)[1:]}:
        with suppress(ProcessLookupError):
            os.kill(each, what)


@contextmanager
def installation(chromium: Browser, folder: Path) -> Iterator[Installation]:
    """Everything runs and is well; all of it ends with the block."""
    with ExitStack() as stack:
        postgres = stack.enter_context(a_postgres())
        stack.callback(_thaw_database, postgres)
        url = sqlalchemy_url(postgres)
        engine = make_engine(url, name="tests")
        stack.callback(engine.dispose)
        schema.upgrade(engine)
        people = People(engine)
        olga, paul = people.operator(), people.ann("paul@snoozer.example", role="operator")
        sink = SinkProcess(folder / "accepted.jsonl", seed=0)
        stack.callback(sink.close)
        stack.callback(os.kill, sink.pid, signal.SIGCONT)
        imap = stack.enter_context(dovecot.running())
        imap_pid = int((imap.home / "run" / "master.pid").read_text())
        log = stack.enter_context((folder / "processes.log").open("wb"))
        settings = {**DEFAULTS, "SECRET_KEY": KEY}
        start = _starter(Field(engine, Sink(sink.port, sink.path), folder / "home", settings), log)
        slots = [Slot(lambda: start("worker")) for _ in range(2)] + [Slot(lambda: start("clock"))]
        for slot in slots:
            stack.callback(slot.kill)
        place = stack.enter_context(_mailbox(engine, url, people.ann(), port=imap.imap_port, home=folder))
        place.process(log=log, SNOOZER_MAILBOX_POLL_SECONDS="60")
        stack.callback(signal_family, imap_pid, signal.SIGCONT)
        site = stack.enter_context(site_with_streams(url, folder))
        page, desk, other_desk = (_opened(stack, chromium, site, person) for person in (olga, paul, paul))
        whole = Installation(engine, postgres, sink, imap_pid, slots[:2], slots[2], page, desk, other_desk)
        wait(lambda: bool(place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL")))
        yield whole


def _starter(here: Field, log: IO[bytes]) -> Callable[[str], "subprocess.Popen[Any]"]:
    return lambda command: start_forked(command, env=here.environment, cwd=ROOT, stdout=log, stderr=log)


@contextmanager
def _mailbox(engine: Engine, url: str, person: Person, *, port: int, home: Path) -> Iterator[Place]:
    """A person's connected mailbox, with a message in it."""
    settings = Settings(
        DATABASE_URL=url, SECRET_KEY=KEY, MAIL_FROM="Snoozer <snoozer@snoozer.example>", SNOOZER_HOME=home / "home"
    )
    with watched(engine, settings, person, port=port, username="ann") as place:
        place.program.deliver(an_original(message_id="<a@mail.example>"))
        yield place


def _opened(stack: ExitStack, chromium: Browser, site: LiveSite, person: Person) -> Page:
    context = a_browser(chromium, site, person)
    stack.callback(context.close)
    return listening(context, "/admin")


def _thaw_database(postgres: Postgres) -> None:
    if postgres.is_running():
        signal_family(postgres.pid, signal.SIGCONT)
