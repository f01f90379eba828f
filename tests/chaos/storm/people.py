"""The people who use the pages and the API: they snooze with notes, change their minds, and remember each answer.

They act before a reminder is due, around that moment and after it, by the use cases that pages and API call. A wish
whose answer did not come is the last one about its message, because what a later one would change is unknown.
"""

import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from threading import Event, Thread

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from snoozer.queue.promise import DEFAULT_OPTIONS, EnqueueOptions, ReminderTime
from snoozer.snoozes import acts
from snoozer.snoozes.input import Message
from tests.chaos.storm.history import History
from tests.chaos.storm.load import Mix, has_backlog
from tests.chaos.storm.wishes import Answer

ROUTE = "storm"
TICK = 0.05
SOONEST, LATEST = 0.3, 3.0
MOST_WISHES = 4
# How often another wish about the same message follows.
GOES_ON = 0.7


@dataclass(kw_only=True)
class Snoozed:
    """A message that is asleep, as its person knows it."""

    user_email: str
    message_id: str
    id: int = 0
    due: float = 0.0
    wishes: int = 0
    priority: int = 0
    key: str | None = None

    def reminder_time(self, due: float) -> ReminderTime:
        """With a note that names the wish, for the mail server to write down."""
        note = f"stormwish{self.wishes}"
        return ReminderTime(remind_at=datetime.fromtimestamp(due, UTC), note=note, zone="UTC")


Act = Callable[[Connection, Snoozed, float], Answer]


def snooze(connection: Connection, one: Snoozed, due: float) -> Answer:
    """Snooze it, with its options as the table's other producers set them."""
    _snooze(connection, one, due, EnqueueOptions(priority=one.priority, serialization_key=one.key))
    return "done"


def snooze_again(connection: Connection, one: Snoozed, due: float) -> Answer:
    """Snooze a message that may be asleep, as the API does."""
    return "anew" if _snooze(connection, one, due, DEFAULT_OPTIONS) else "done"


def change(connection: Connection, one: Snoozed, due: float) -> Answer:
    """Another time or another note, as the page does."""
    return _act(connection, one, acts.Move(time=one.reminder_time(due)))


def cancel(connection: Connection, one: Snoozed, due: float) -> Answer:
    """Never mind."""
    return _act(connection, one, acts.Cancel())


def _snooze(connection: Connection, one: Snoozed, due: float, options: EnqueueOptions) -> bool:
    """Whether its snooze is new."""
    message = Message(message_id=one.message_id, subject="Quarterly figures")
    wanted = acts.Wanted(message=message, time=one.reminder_time(due), options=options)
    [result] = acts.snooze(connection, [wanted], acts.By(one.user_email, ROUTE))
    one.id = result.id
    return result.before is None


def _act(connection: Connection, one: Snoozed, what: acts.Act) -> Answer:
    [result] = acts.act(connection, [one.id], what, acts.By(one.user_email, ROUTE))
    return "done" if result.left is None else "over"


@dataclass(order=True)
class Plan:
    """What a person is going to do, and when."""

    at: float
    number: int
    one: Snoozed = field(compare=False)


class Person:
    """One of them: `rate` new messages a second, and what they do about those later."""

    def __init__(self, name: str, *, people: "People", rng: Random, rate: float, mix: Mix) -> None:
        self._name, self._people, self._rng, self._mix = name, people, rng, mix
        self._every = 1 / rate if rate else 0.0
        self._entered = 0
        self._plans: list[Plan] = []
        self._numbers = itertools.count()

    def go_on(self) -> None:
        """Until all of them stop."""
        enter_at = time.monotonic()
        while not self._people.stopping.wait(TICK):
            if time.monotonic() >= enter_at:
                enter_at = time.monotonic() + self._every
                self._enter()
            while self._plans and self._plans[0].at <= time.time() and not self._people.stopping.is_set():
                one = heapq.heappop(self._plans).one
                self._wish(one, *_choose(one, self._rng))

    def _enter(self) -> None:
        if has_backlog(self._people.url):
            return
        self._entered += 1
        name = f"{self._name}-{self._entered}"
        one = Snoozed(
            user_email=f"u{name}@snoozer.example",
            message_id=f"<u{name}@storm.example>",
            priority=self._mix.priority(self._rng),
            key=self._mix.key(self._rng),
        )
        self._wish(one, snooze, _soon(self._rng))

    def _wish(self, one: Snoozed, act: Act, due: float | None) -> None:
        """Do it, and plan the next one about the same message."""
        if not self._people.wish(one, act, due):
            return
        if one.wishes < MOST_WISHES and self._rng.random() < GOES_ON:
            heapq.heappush(self._plans, Plan(_moment(one, self._rng), next(self._numbers), one))


class People:
    """So many people at once, `rate` new messages a second for all of them."""

    def __init__(
        self, database_url: str, *, history: History, seed: int, rate: float, mix: Mix, people: int = 3
    ) -> None:
        self.url = database_url
        self.stopping = Event()
        self._history = history
        self._engine: Engine = make_engine(parse_url(database_url), name="web", pool_size=people)
        each = [
            Person(str(number), people=self, rng=Random(f"{seed} person {number}"), rate=rate / people, mix=mix)
            for number in range(people)
        ]
        self._threads = [Thread(target=one.go_on, name="person", daemon=True) for one in each]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wishes that are under way are answered; plans are dropped."""
        self.stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._engine.dispose()

    def wish(self, one: Snoozed, act: Act, due: float | None) -> bool:
        """Do it and remember the answer; False when none came."""
        names = {"wish": one.wishes, "message_id": one.message_id}
        self._history.write("attempt", user_email=one.user_email, due=due, key=one.key, **names)
        try:
            with self._engine.begin() as connection:
                answer = act(connection, one, due or 0.0)
        except SQLAlchemyError:
            return False
        self._history.write("ack", answer=answer, **names)
        one.wishes += 1
        if due is not None and answer != "over":
            one.due = due
        return True


def _soon(rng: Random) -> float:
    return round(time.time() + rng.uniform(SOONEST, LATEST), 6)


def _choose(one: Snoozed, rng: Random) -> tuple[Act, float | None]:
    return rng.choice(
        [
            (cancel, None),
            (change, one.due),  # another note
            (change, _soon(rng)),
            (snooze_again, _soon(rng)),
        ]
    )


def _moment(one: Snoozed, rng: Random) -> float:
    """Well before it is due, around then, or later."""
    now = time.time()
    return rng.choice([rng.uniform(now, max(now, one.due)), one.due + rng.uniform(-0.1, 0.3), one.due + 2.0])
