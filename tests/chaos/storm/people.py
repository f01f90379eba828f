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

from snoozer import snoozing
from snoozer.db import queue
from snoozer.db.engine import make_engine
from snoozer.db.queue import EnqueueOptions, ReminderTime
from tests.chaos.storm.history import History
from tests.chaos.storm.load import Mix
from tests.chaos.storm.wishes import Answer

ROUTE = "storm"
TICK = 0.05
SOONEST, LATEST = 0.3, 3.0
MOST_WISHES = 4


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
    one.id, _ = queue.enqueue(
        connection,
        user_email=one.user_email,
        message_id=one.message_id,
        reminder_time=one.reminder_time(due),
        subject="Quarterly figures",
        options=EnqueueOptions(priority=one.priority, serialization_key=one.key),
    )
    return "done"


def snooze_again(connection: Connection, one: Snoozed, due: float) -> Answer:
    """Snooze a message that may be asleep, as the API does."""
    message = snoozing.Message(message_id=one.message_id, subject="Quarterly figures")
    result = snoozing.snooze(
        connection,
        user_email=one.user_email,
        message=message,
        reminder_time=one.reminder_time(due),
        route=ROUTE,
    )
    one.id = result.id
    return "anew" if result.new else "done"


def change(connection: Connection, one: Snoozed, due: float) -> Answer:
    """Another time or another note, as the page does."""
    done = snoozing.change(
        connection, id=one.id, user_email=one.user_email, reminder_time=one.reminder_time(due), route=ROUTE
    )
    return "done" if done else "over"


def cancel(connection: Connection, one: Snoozed, due: float) -> Answer:
    """Never mind."""
    done = snoozing.cancel(connection, id=one.id, user_email=one.user_email, message_id=one.message_id, route=ROUTE)
    return "done" if done else "over"


@dataclass(order=True)
class Plan:
    """What a person is going to do, and when."""

    at: float
    number: int
    one: Snoozed = field(compare=False)


class People:
    """So many people, `rate` new messages a second for all of them, and what they do about those later."""

    def __init__(
        self, database_url: str, *, history: History, seed: int, rate: float, mix: Mix, people: int = 3
    ) -> None:
        self._engine: Engine = make_engine(
            database_url.replace("postgresql://", "postgresql+psycopg://"), name="web", pool_size=people
        )
        self._history, self._rate, self._mix = history, rate / people, mix
        self._stopping = Event()
        self._threads = [
            Thread(target=self._go_on, args=(Random(f"{seed} person {number}"), number), daemon=True)
            for number in range(people)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wishes that are under way are answered; plans are dropped."""
        self._stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._engine.dispose()

    def _go_on(self, rng: Random, person: int) -> None:
        began, plans, numbers = time.monotonic(), list[Plan](), itertools.count()
        entered = 0
        while not self._stopping.wait(TICK):
            if entered < (time.monotonic() - began) * self._rate:
                entered += 1
                name = f"{person}-{entered}"
                one = Snoozed(
                    user_email=f"u{name}@snoozer.example",
                    message_id=f"<u{name}@storm.example>",
                    priority=self._mix.priority(rng),
                    key=self._mix.key(rng),
                )
                self._wish(one, snooze, due=_soon(rng), rng=rng, plans=plans, number=next(numbers))
            while plans and plans[0].at <= time.time() and not self._stopping.is_set():
                one = heapq.heappop(plans).one
                act, due = _choose(one, rng)
                self._wish(one, act, due=due, rng=rng, plans=plans, number=next(numbers))

    def _wish(self, one: Snoozed, act: Act, *, due: float | None, rng: Random, plans: list[Plan], number: int) -> None:
        """Do it, and plan the next one about the same message."""
        names = {"wish": one.wishes, "message_id": one.message_id}
        self._history.write("attempt", user_email=one.user_email, due=due, key=one.key, **names)
        try:
            with self._engine.begin() as connection:
                answer = act(connection, one, due or 0.0)
        except SQLAlchemyError:
            return
        self._history.write("ack", answer=answer, **names)
        one.wishes += 1
        if due is not None and answer != "over":
            one.due = due
        if one.wishes < MOST_WISHES and rng.random() < 0.7:
            heapq.heappush(plans, Plan(_moment(one, rng), number, one))


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
