"""The people: they put messages away with the seed's columns alone, and remember which were acknowledged."""

import time
from collections.abc import Sequence
from random import Random
from threading import Event, Thread

import psycopg

from tests.chaos.storm.history import History

INSERT = """
INSERT INTO email_snoozes (user_email, message_id, remind_at)
SELECT user_email, message_id, now() + make_interval(secs => delay)
FROM unnest(%s::text[], %s::text[], %s::float8[]) AS asked (user_email, message_id, delay)
"""
PEOPLE = 40
TICK = 0.1
AGAIN = 0.2


class Load:
    """Inserts `rate` rows a second from `start` to `stop`; each is due within `spread` seconds."""

    def __init__(self, database_url: str, *, history: History, seed: int, rate: float, spread: float = 0.5) -> None:
        self._url, self._history = database_url, history
        self._rng = Random(seed)
        self._rate, self._spread = rate, spread
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
        """So many rows at once, due now; answers their message ids."""
        wanted = self._more(count, spread=0.0)
        self._insert(wanted)
        return [message_id for _, message_id, _ in wanted]

    def _go_on(self) -> None:
        began = time.monotonic()
        while not self._stopping.wait(TICK):
            owed = int((time.monotonic() - began) * self._rate) - self._count
            if owed > 0:
                self._insert(self._more(min(owed, 500), spread=self._spread))

    def _more(self, count: int, *, spread: float) -> list[tuple[str, str, float]]:
        numbers = range(self._count, self._count + count)
        self._count += count
        return [
            (
                f"p{self._rng.randrange(PEOPLE)}@snoozer.example",
                f"<{number}@storm.example>",
                self._rng.random() * spread,
            )
            for number in numbers
        ]

    def _insert(self, wanted: Sequence[tuple[str, str, float]]) -> None:
        """Insert once. When the database goes away in between, the outcome is unknown: the log then has no "ack"."""
        names = [{"user_email": email, "message_id": message_id} for email, message_id, _ in wanted]
        self._history.write_all({"kind": "attempt", **name} for name in names)
        try:
            with psycopg.connect(self._url, connect_timeout=5) as connection:
                connection.execute(INSERT, [list(column) for column in zip(*wanted, strict=True)])
        except psycopg.OperationalError:
            self._stopping.wait(AGAIN)
            return
        self._history.write_all({"kind": "ack", **name} for name in names)
