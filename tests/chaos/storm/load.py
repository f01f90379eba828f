"""The people who write rows by SQL: they put messages away, and remember which were acknowledged.

Most rows have the seed's columns alone; a `Mix` gives some of them priorities over the whole range and serialization
keys, many small ones and a few big ones.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from threading import Event, Thread

import psycopg

from tests.chaos.storm.history import History

INSERT = """
INSERT INTO email_snoozes (user_email, message_id, remind_at, priority, serialization_key)
SELECT user_email, message_id, to_timestamp(due), priority, serialization_key
FROM unnest(%s::text[], %s::text[], %s::float8[], %s::smallint[], %s::text[])
    AS asked (user_email, message_id, due, priority, serialization_key)
"""
CANCEL = """
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = TRUE,
    outcome = 'cancelled',
    finished_at = now()
WHERE message_id = ANY(%s)
  AND outcome IS NULL
RETURNING message_id
"""
WAITING = "SELECT count(*) FROM email_snoozes WHERE NOT inactive AND remind_at <= now()"
# Where so many are due the load pauses, so that lateness is that of the product and not of a machine that is too busy.
MOST_WAITING = 30
PEOPLE = 40
TICK = 0.1
AGAIN = 0.2
MOST_AT_ONCE = 500
LOWEST, HIGHEST = -1000, 1000
SMALL_KEYS, BIG_KEYS = 50, 2
BIG_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class Mix:
    """Which share of rows has a priority other than the default one, and which has a key."""

    priorities: float = 0.0
    keys: float = 0.0

    def priority(self, rng: Random) -> int:
        return rng.randint(LOWEST, HIGHEST) if rng.random() < self.priorities else 0

    def key(self, rng: Random) -> str | None:
        if rng.random() >= self.keys:
            return None
        return f"big-{rng.randrange(BIG_KEYS)}" if rng.random() < BIG_SHARE else f"small-{rng.randrange(SMALL_KEYS)}"


PLAIN = Mix()
ATTACK = Mix(priorities=0.3, keys=0.3)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row to be inserted."""

    user_email: str
    message_id: str
    due: float
    priority: int = 0
    key: str | None = None


class Load:
    """Inserts up to `rate` rows a second from `start` to `stop`; each is due within `spread` seconds."""

    def __init__(
        self, database_url: str, *, history: History, seed: int, rate: float, mix: Mix = PLAIN, spread: float = 0.5
    ) -> None:
        self._url, self._history = database_url, history
        self._rng = Random(seed)
        self._rate, self._mix, self._spread = rate, mix, spread
        self._count = 0
        self._stopping = Event()
        self._thread = Thread(target=self._go_on, name="load", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def pour(self, count: int) -> list[str]:
        """So many plain rows at once, due now; returns their message ids."""
        return self.put(self.rows(count))

    def rows(self, count: int, *, spread: float = 0.0, mix: Mix = PLAIN) -> list[Row]:
        """So many new rows, due within `spread` seconds from now."""
        numbers, now = range(self._count, self._count + count), time.time()
        self._count += count
        return [
            Row(
                user_email=f"p{self._rng.randrange(PEOPLE)}@snoozer.example",
                message_id=f"<{number}@storm.example>",
                due=round(now + self._rng.random() * spread, 6),
                priority=mix.priority(self._rng),
                key=mix.key(self._rng),
            )
            for number in numbers
        ]

    def put(self, rows: Sequence[Row]) -> list[str]:
        """Insert them once; returns their message ids. When the database goes away in between, the outcome is unknown:
        the log then has no "ack"."""
        self._history.write_all(
            {"kind": "attempt", "wish": 0, "user_email": row.user_email, "message_id": row.message_id}
            | {"due": row.due, "key": row.key}
            for row in rows
        )
        columns = [[getattr(row, name) for row in rows] for name in Row.__dataclass_fields__]
        message_ids = [row.message_id for row in rows]
        try:
            with psycopg.connect(self._url, connect_timeout=5) as connection:
                connection.execute(INSERT, columns)
        except psycopg.OperationalError:
            self._stopping.wait(AGAIN)
            return message_ids
        self._acknowledge(message_ids, wish=0)
        return message_ids

    def cancel(self, rows: Sequence[Row]) -> None:
        """Cancel what is left of these, in one statement by hand."""
        names = [{"user_email": row.user_email, "message_id": row.message_id, "key": row.key} for row in rows]
        self._history.write_all({"kind": "attempt", "wish": 1, "due": None, **name} for name in names)
        with psycopg.connect(self._url) as connection:
            done = {found[0] for found in connection.execute(CANCEL, [[row.message_id for row in rows]])}
        self._acknowledge(sorted(done), wish=1)
        self._acknowledge([row.message_id for row in rows if row.message_id not in done], wish=1, answer="over")

    def _acknowledge(self, message_ids: Sequence[str], *, wish: int, answer: str = "done") -> None:
        self._history.write_all(
            {"kind": "ack", "wish": wish, "message_id": message_id, "answer": answer} for message_id in message_ids
        )

    def _go_on(self) -> None:
        last = time.monotonic()
        while not self._stopping.wait(TICK):
            now = time.monotonic()
            if has_backlog(self._url):
                last = now
                continue
            count = min(int((now - last) * self._rate), MOST_AT_ONCE)
            if count > 0:
                last += count / self._rate
                self.put(self.rows(count, spread=self._spread, mix=self._mix))


def has_backlog(database_url: str) -> bool:
    """Are so many rows due that new ones would only measure the machine?"""
    try:
        with psycopg.connect(database_url, connect_timeout=5) as connection:
            [waiting] = connection.execute(WAITING).fetchone() or (0,)
    except psycopg.OperationalError:
        return False
    return bool(waiting >= MOST_WAITING)
