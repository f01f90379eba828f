"""People at the pages, a program at the API and a mail server at the LMTP door: they go on without the database, too.

The harness's log has each snooze that the API acknowledged, so the judge holds the product to it. A mail that was
answered with 250 is in its mailbox. Any other answer must be a refusal for now: a page with 503, or 4xx by LMTP.
"""

import smtplib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread

from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from snoozer.dev import ports
from tests.chaos.storm.crowd import accounts
from tests.chaos.storm.doors import NoAnswer, Visit
from tests.chaos.storm.fleet import until
from tests.chaos.storm.ground import Scene
from tests.conftest import HANG_SECONDS

# Seconds between two acts at a door.
PACE = 0.25
AHEAD = 5.0
PAGES = ("/", "/add", "/settings", "/mailbox")
LIMITS = ("SNOOZES_PER_MINUTE", "SNOOZES_PER_DAY", "TOKEN_SNOOZES_PER_MINUTE", "REQUESTS_PER_MINUTE")
UNLIMITED = {f"SNOOZER_LIMIT_{name}": "0" for name in (*LIMITS, "TOKEN_REQUESTS_PER_MINUTE")}
TIMEOUT = 60.0
MAIL = "From: bob@mail.example\r\nMessage-ID: {}\r\nSubject: Quarterly figures\r\n\r\nSee you.\r\n"
KEPT = "SELECT message_id FROM messages WHERE message_id = ANY(%s)"


class Doors:
    """The web, inbound and mailbox processes of a fleet, and where their doors are."""

    def __init__(self) -> None:
        self.web, self.lmtp = ports.any_free(), ports.any_free()
        web = ("web", "--bind", f"{ports.HOST}:{self.web}")
        self.processes: Sequence[Sequence[str]] = (web, ("inbound",), ("mailbox",))
        self.settings = {**UNLIMITED, "SNOOZER_INBOUND_PORT": str(self.lmtp)}


class Visitors:
    """`answers` counts the answers of each door: a status or a reply code, or the error of a connection."""

    def __init__(self, scene: Scene, doors: Doors) -> None:
        self._scene, self._doors = scene, doors
        engine = make_engine(parse_url(scene.database_url), name="harness")
        [self._person] = accounts(engine, 1)
        engine.dispose()
        self.answers: dict[str, Counter[str]] = {"page": Counter(), "api": Counter(), "lmtp": Counter()}
        self._kept: list[str] = []
        self._stopping = Event()
        acts: dict[str, Callable[[Visit, int], str]] = {
            "page": self._open_a_page,
            "api": self._snooze,
            "lmtp": self._deliver,
        }
        self._threads = [Thread(target=partial(self._go_on, *act), daemon=True) for act in acts.items()]

    @contextmanager
    def coming(self) -> Iterator[None]:
        """They come once the site answers, since it refuses everybody while it starts."""
        assert until(self._visit().is_open, seconds=HANG_SECONDS), "the web process does not answer"
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            for thread in self._threads:
                thread.join()

    def lost_mails(self) -> set[str]:
        """The mails that were accepted and are in no mailbox."""
        return set(self._kept) - {row["message_id"] for row in self._scene.ask(KEPT, self._kept)}

    def refused_otherwise(self) -> dict[str, int]:
        """How often a door answered neither yes nor "not now"."""
        # 422: on a busy machine the time that was asked for had passed.
        expected = {"page": ("200", "503"), "api": ("201", "422", "503"), "lmtp": ("250", "4")}
        return {
            f"{door} {answer}": count
            for door, answers in self.answers.items()
            for answer, count in answers.items()
            if not answer.startswith(expected[door])
        }

    def _visit(self) -> Visit:
        key, url = self._scene.environment["SECRET_KEY"], self._scene.database_url
        return Visit(port=self._doors.web, person=self._person, key=key, database_url=url)

    def _go_on(self, door: str, act: Callable[[Visit, int], str]) -> None:
        visit, count = self._visit(), 0
        while not self._stopping.wait(PACE):
            try:
                answer = act(visit, count)
            except NoAnswer as error:
                answer = str(error).partition(" ")[0]
            except OSError as error:
                answer = type(error).__name__
            self.answers[door][answer] += 1
            count += 1

    def _open_a_page(self, visit: Visit, number: int) -> str:
        return str(visit.open(PAGES[number % len(PAGES)]))

    def _snooze(self, visit: Visit, number: int) -> str:
        message_id, due = f"<api-{number}@storm.example>", round(time.time() + AHEAD, 6)
        asked = {"user_email": self._person.email, "message_id": message_id, "due": due, "key": None}
        self._scene.history.write("attempt", wish=0, **asked)
        at = datetime.fromtimestamp(due, UTC).isoformat()
        status, _ = visit.program("POST", "/snoozes", {"message_id": message_id, "remind_at": at})
        if status == 201:
            self._scene.history.write("ack", wish=0, message_id=message_id, answer="done")
        return str(status)

    def _deliver(self, visit: Visit, number: int) -> str:
        message_id = f"<lmtp-{number}@storm.example>"
        try:
            with smtplib.LMTP(ports.HOST, self._doors.lmtp, timeout=TIMEOUT) as lmtp:
                lmtp.sendmail("bob@mail.example", [self._person.email], MAIL.format(message_id))
        except smtplib.SMTPRecipientsRefused as refused:
            return str(refused.recipients[self._person.email][0])
        except smtplib.SMTPResponseException as refused:
            return str(refused.smtp_code)
        self._kept.append(message_id)
        return "250"
