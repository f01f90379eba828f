"""A crowd at all doors: people who act on snoozes when they are about to leave, and a journal of the answers.

Each act is written down before it is sent, and its answer when it came, in the harness's log. One message is acted on
by one of the crowd at a time, so that every change of its snoozes is that of one act or of a worker; messages of one
person are acted on at once.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from snoozer.timephrase.recurrence import Recurrence
from tests.chaos.storm.doors import DOORS, Aim, NoAnswer, Reply, Statement, Undoing, Visit
from tests.chaos.storm.fleet import until
from tests.chaos.storm.history import History, read
from tests.chaos.storm.load import MOST_WAITING
from tests.factories import People as Accounts
from tests.factories import Person, a_kept_message

SOONEST, LATEST = 0.2, 3.0
FAR = 0.15  # the share of times that lie hours ahead
ACTS = 2  # per message, in the mean
AT_ONCE = 5  # the most others in one selection
HOT = 0.7  # how often someone acts on what is about to leave
OVERDUE, AHEAD = 2.0, 1.5
LEARNS = 0.3
PAUSE = 0.02

ENTER = """
INSERT INTO email_snoozes (user_email, message_id, remind_at, recurrence, zone, time_kind, note, subject)
VALUES (%(user_email)s, %(message_id)s, %(at)s, %(recurrence)s, 'UTC', %(kind)s, %(note)s, 'Quarterly figures')
RETURNING id, extract(epoch FROM clock_timestamp())
"""
HOT_ROWS = """
SELECT message_id
FROM email_snoozes
WHERE NOT inactive
  AND (claimed_at IS NOT NULL OR remind_at BETWEEN now() - %s * interval '1 s' AND now() + %s * interval '1 s')
ORDER BY random()
LIMIT 8
"""
WAITING = "SELECT count(*) AS waiting FROM email_snoozes WHERE NOT inactive AND remind_at <= now()"
NEWEST = """
SELECT id, COALESCE(scheduled_for, remind_at) AS promise, inactive, outcome, recurrence IS NOT NULL AS repeats
FROM email_snoozes
WHERE message_id = %s
ORDER BY outcome IS NOT NULL, id DESC
LIMIT 1
"""
ARRIVED = """
SELECT snooze_id AS id, scheduled_for AS promise FROM reminder_sends WHERE reminder_message_id = %s
"""

# What can be done with a snooze in each state, each act by its weight.
LIVE = Counter(move=3, snooze=2, wake=1, pause=1, cancel=2, note=2, options=1, inbox=1)
REPEATING = Counter(once=3, every=1, skip=2, end=1, move=1, wake=1, pause=1, cancel=1, note=1, options=1, snooze=1)
PAUSED = Counter(resume=3, move=1, snooze=1, cancel=1)
OVER = Counter(snooze=3, move=1)
BULK = frozenset({"selection", "many"})


@dataclass
class Owned:
    """A message of one person, whose snoozes are acted on."""

    person: Person
    message_id: str
    kept: int | None = None
    undo: Undoing | None = None
    undone_with: "Sequence[Owned]" = ()
    id: int = 0
    lock: Lock = field(default_factory=Lock)


class Crowd:
    """So many actors, who put `count` messages away and act on their snoozes."""

    def __init__(
        self,
        database_url: str,
        *,
        port: int,
        key: str,
        sink: Path,
        history: History,
        engine: Engine,
        people: Sequence[Person],
        seed: int,
        count: int,
        actors: int,
    ) -> None:
        self.database_url, self.port, self.key, self.engine = database_url, port, key, engine
        self.sink_path, self.history, self.people, self.count = sink, history, people, count
        self.stopping = Event()
        self.lock = Lock()
        self.owned: dict[str, Owned] = {}
        self.order: list[Owned] = []
        self.entered = 0
        self.done = 0
        self.numbers = itertools.count()
        self._actors = [Actor(self, Random(f"{seed} actor {number}")) for number in range(actors)]
        self._threads = [Thread(target=one.go_on, name="actor", daemon=True) for one in self._actors]

    def start(self, *, seconds: float) -> None:
        """Begin when the site answers."""
        visit = Visit(port=self.port, person=self.people[0], key=self.key, database_url=self.database_url)
        assert until(visit.is_open, seconds=seconds, look=0.5)
        for thread in self._threads:
            thread.start()

    def finish(self, *, seconds: float) -> bool:
        """Wait until all messages were put away and acted on; False if time ran out or an actor failed."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and any(thread.is_alive() for thread in self._threads):
            time.sleep(0.05)
        over = self.done >= self.wanted
        self.stop()
        return over

    def stop(self) -> None:
        self.stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    @property
    def wanted(self) -> int:
        """How many acts there are, with those that put messages away."""
        return self.count * (ACTS + 1)

    def next_number(self) -> int | None:
        """The number of the next message; None after the last."""
        with self.lock:
            if self.entered >= self.count:
                return None
            self.entered += 1
            return self.entered

    def add(self, one: Owned) -> None:
        with self.lock:
            self.owned[one.message_id] = one
            self.order.append(one)


class Actor:
    """One thread: it puts messages away, and acts at random moments."""

    def __init__(self, crowd: Crowd, rng: Random) -> None:
        self._crowd, self._rng = crowd, rng
        self._visits: dict[int, Visit] = {}
        self._latency = 0.1

    def go_on(self) -> None:
        with psycopg.connect(self._crowd.database_url, autocommit=True, row_factory=dict_row) as self._look:
            while not self._crowd.stopping.is_set() and self._crowd.done < self._crowd.wanted:
                behind = self._crowd.done > self._crowd.entered * (ACTS + 1) or self._rng.random() < 0.1
                if self._crowd.entered == 0 or (behind and not self._has_backlog()):
                    number = self._crowd.next_number()
                    if number is not None:
                        self._enter(number)
                        continue
                if not self._act():
                    time.sleep(PAUSE)

    def _has_backlog(self) -> bool:
        """Whether so many are due that acts would meet nothing but what waits."""
        row = self._look.execute(WAITING).fetchone()
        return row is not None and row["waiting"] >= MOST_WAITING

    def _enter(self, number: int) -> None:
        """Put a new message away: by the API or by SQL, repeating or not, with a kept message or without."""
        person = self._rng.choice(self._crowd.people)
        one = Owned(person=person, message_id=f"<a{number}@storm.example>")
        if self._rng.random() < 0.3:
            one.kept = a_kept_message(self._crowd.engine, user_email=person.email, message_id=one.message_id)
        one.lock.acquire()
        self._crowd.add(one)
        try:
            aim = self._aim(one, {"id": 0, "promise": datetime.now(UTC)})
            door = "sql" if self._rng.random() < 0.5 else "page" if one.kept else self._rng.choice(["api", "many"])
            self._perform(door, "snooze", aim, [one], self._enter_row if door == "sql" else None)
        finally:
            one.lock.release()

    def _enter_row(self, visit: Visit, aim: Aim) -> Reply:
        repeats = self._rng.random() < 0.5
        series = Recurrence(unit="day", interval=1, start=aim.at.date(), at=aim.at.time()).as_json()
        row = {
            **{name: getattr(aim, name) for name in ("user_email", "message_id", "at", "note")},
            "recurrence": Jsonb(series) if repeats else None,
            "kind": "wall" if repeats else None,
        }
        found = visit.sql(ENTER, row)
        assert found is not None
        return Reply(statements={found[0]: Statement(done=True, at=found[1])})

    def _act(self) -> bool:
        """Act on something that no one else acts on; False if there was nothing."""
        if self._rng.random() < 0.06 and self._follow_link():
            return True
        with ExitStack() as held:
            one = self._take(held, self._candidates())
            if one is None:
                return False
            row = self._look.execute(NEWEST, [one.message_id]).fetchone()
            if row is None:
                return False
            one.id = row["id"]
            door, act = self._choose(one, row, can_undo=all(self._take(held, [other]) for other in one.undone_with))
            others = self._others(held, one) if door in BULK and act != "snooze" else []
            if door == "undo":
                others = list(one.undone_with)
            self._wait(row["promise"])
            self._perform(door, act, self._aim(one, row, others), [one, *others])
        return True

    def _candidates(self) -> list[Owned]:
        if self._rng.random() < HOT:
            hot = self._look.execute(HOT_ROWS, [OVERDUE, AHEAD]).fetchall()
            found = [self._crowd.owned[row["message_id"]] for row in hot if row["message_id"] in self._crowd.owned]
            if found:
                return found
        with self._crowd.lock:
            newest = self._crowd.order[-200:]
        return self._rng.sample(newest, min(len(newest), 8))

    def _take(self, held: ExitStack, candidates: Sequence[Owned]) -> Owned | None:
        for one in candidates:
            if one.lock.acquire(blocking=False):
                held.callback(one.lock.release)
                return one
        return None

    def _others(self, held: ExitStack, one: Owned) -> list[Owned]:
        """Others of the same person that no one acts on."""
        same = [other for other in self._candidates() + self._crowd.order[-60:] if other.person == one.person]
        wanted = {other.message_id: other for other in same if other is not one and other.id}
        found: list[Owned] = []
        for other in list(wanted.values())[: self._rng.randint(0, AT_ONCE)]:
            if self._take(held, [other]):
                found.append(other)
        return found

    def _choose(self, one: Owned, row: Mapping[str, Any], *, can_undo: bool) -> tuple[str, str]:
        if one.undo is not None and can_undo and self._rng.random() < 0.3:
            return "undo", "undo"
        live = REPEATING if row["repeats"] else LIVE
        acts = OVER if row["outcome"] else PAUSED if row["inactive"] else live
        act = self._rng.choice([*acts.elements()])
        doors = [door for door, known in DOORS.items() if act in known and door not in {"link", "undo"}]
        if one.kept is None:
            doors = [door for door in doors if (door, act) not in {("page", "snooze"), ("page", "inbox")}]
        if row["inactive"]:
            # A script that only gives another time leaves what is paused or over as it is.
            doors = [door for door in doors if (door, act) != ("sql", "move")]
        if row["outcome"]:
            doors = [door for door in doors if (door, act) != ("selection", "move")]
        return (self._rng.choice(doors), act) if doors else ("api", "snooze")

    def _wait(self, promise: datetime) -> None:
        """Until the act arrives at a random moment around the promise, if that is near."""
        ahead = (promise - datetime.now(UTC)).total_seconds()
        if -OVERDUE < ahead < AHEAD and self._rng.random() < 0.8:
            self._crowd.stopping.wait(max(0.0, ahead + self._rng.uniform(-0.1, 0.5) - self._latency))

    def _follow_link(self) -> bool:
        """The link of a mail that the mail server has just accepted."""
        mails = read(self._crowd.sink_path)[-12:]
        if not mails:
            return False
        mail = self._rng.choice(mails)
        one = self._crowd.owned.get(mail["in_reply_to"])
        with ExitStack() as held:
            if one is None or self._take(held, [one]) is None:
                return False
            row = self._look.execute(ARRIVED, [mail["message_id"]]).fetchone()
            if row is None:
                return False
            self._perform("link", self._rng.choice(["done", "again"]), self._aim(one, row), [one])
        return True

    def _aim(self, one: Owned, row: Mapping[str, Any], others: Sequence[Owned] = ()) -> Aim:
        ahead = self._rng.uniform(SOONEST, LATEST)
        if self._rng.random() < FAR:
            ahead = self._rng.uniform(2 * 3600, 20 * 3600)
        return Aim(
            id=row["id"],
            user_email=one.person.email,
            message_id=one.message_id,
            promise=row["promise"],
            at=datetime.now(UTC) + timedelta(seconds=ahead),
            note="",
            kept=one.kept,
            others=tuple(other.id for other in others),
            undo=one.undo,
        )

    def _perform(
        self,
        door: str,
        act: str,
        aim: Aim,
        named: Sequence[Owned],
        do: Callable[[Visit, Aim], Reply] | None = None,
    ) -> None:
        """Do it, and write down what was asked and what was answered."""
        number = next(self._crowd.numbers)
        values = vars(aim) | {"note": f"stormwish{number}"}
        if datetime.now(UTC) > aim.at - timedelta(seconds=SOONEST):
            values["at"] = datetime.now(UTC) + timedelta(seconds=self._rng.uniform(SOONEST, LATEST))
        aim = Aim(**values)
        ids = {one.message_id: id for one, id in zip(named, aim.ids, strict=True)}
        facts = {"door": door, "act": act, "named": ids, "due": aim.at.isoformat(), "promise": aim.promise.isoformat()}
        if act == "undo" and aim.undo is not None:
            facts["through"] = aim.undo.path
            named[0].undo, named[0].undone_with = None, ()
        self._crowd.history.write("act", number=number, **facts)
        began = time.monotonic()
        try:
            reply = (do or DOORS[door][act])(self._visit(named[0].person), aim)
        except NoAnswer as error:
            self._crowd.history.write("no answer", number=number, why=str(error))
        else:
            self._latency += LEARNS * ((time.monotonic() - began) / 2 - self._latency)
            statements = {id: vars(one) for id, one in reply.statements.items()}
            self._crowd.history.write("answer", number=number, status=reply.status, statements=statements)
            if reply.undo is not None:
                named[0].undo, named[0].undone_with = reply.undo, named[1:]
            if len(reply.statements) == 1 and len(named) == 1:
                named[0].id = next(iter(reply.statements)) or named[0].id
        with self._crowd.lock:
            self._crowd.done += 1

    def _visit(self, person: Person) -> Visit:
        crowd = self._crowd
        if person.id not in self._visits:
            self._visits[person.id] = Visit(
                port=crowd.port, person=person, key=crowd.key, database_url=crowd.database_url
            )
        return self._visits[person.id]


def accounts(engine: Engine, count: int) -> list[Person]:
    """People with a browser and a token each."""
    known = Accounts(engine)
    return [known.ann(f"p{number}@snoozer.example", zone="UTC") for number in range(count)]
