"""Streams of events to open lists. They report that a list changed, never its contents: the page fetches its list.

The streams of a process wait in its event loop. One thread queries the database for all of them, every `poll` seconds
while there are any; its query is a function, so that the operators' overview has streams of its own.
"""

import asyncio
import json
import logging
import random
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from flask import Flask, Response, current_app, request
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import list_changes
from snoozer.db.engine import autocommit, per_query_timeout
from snoozer.db.errors import error_text
from snoozer.db.list_changes import Answer, Changes, OpenList
from snoozer.runtime import secret_keys
from snoozer.runtime.backoff import Backoff
from snoozer.web.auth import get_cookie
from snoozer.web.front import STREAM, Stream

log = logging.getLogger("snoozer.web")

POLL_SECONDS = 1.0
QUERY_SECONDS = 5.0
# Proxies close silent connections; the shortest common limit is 30 seconds.
BEAT_SECONDS = 15.0
# Half of the files that a process may open: the other half is for pages.
MAX_STREAMS = min(1_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
MAX_STREAMS_OF_ACCOUNT = 10
# If many lists change at once, their fetches are spread over this time per list, so that not all are late.
SPREAD_SECONDS, MAX_SPREAD_SECONDS = 0.01, 5.0
# After a stream ends, browsers reconnect within this time, and not all at once.
MIN_RETRY_MS, MAX_RETRY_MS = 1_000, 4_000

_KEY = "snoozer-streams"
_random = random.Random()  # noqa: S311 - to spread load


@dataclass(eq=False)
class _OpenStream:
    """One browser's stream. `shown` is the next query; `unsent` holds changes that were found and not sent yet."""

    account_id: int
    shown: OpenList
    loop: asyncio.AbstractEventLoop
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    unsent: Changes | None = None
    has_to_poll: bool = False

    def add(self, changes: Changes) -> None:
        """Called in the event loop."""
        self.unsent = changes.after(self.unsent)
        self.waiting.set()


class Streams:
    """All streams of a process. `events` is read in its event loop."""

    def __init__(
        self,
        engine: Engine,
        *,
        most: int = MAX_STREAMS,
        most_of_account: int = MAX_STREAMS_OF_ACCOUNT,
        find: Callable[[Connection, Sequence[OpenList]], Answer] = list_changes.find,
        poll: float = POLL_SECONDS,
    ) -> None:
        self._engine, self._most, self._most_of_account = engine, most, most_of_account
        self._find, self._poll = find, poll
        self._open: dict[_OpenStream, None] = {}
        self._lock = Lock()
        self._thread: Thread | None = None

    async def events(self, *, account_id: int, shown: OpenList) -> Stream:
        """The events for one list, until its session ends; each names the snapshot up to which it is the answer.

        `change` has the transactions that the list does not show, or null if they are unknown. `poll` is sent if there
        are too many streams, also to a person's oldest stream if they open too many. `end` is sent when the session has
        ended.
        """
        stream = _OpenStream(account_id=account_id, shown=shown, loop=asyncio.get_running_loop())
        yield f"retry: {_random.randint(MIN_RETRY_MS, MAX_RETRY_MS)}\n".encode()
        if not self._enter(stream):
            yield _event("poll", None)
            return
        try:
            yield _event("ready", None)
            while True:
                try:
                    async with asyncio.timeout(BEAT_SECONDS):
                        await stream.waiting.wait()
                except TimeoutError:
                    yield _event("beat", stream.shown.snapshot)
                    continue
                stream.waiting.clear()
                changes, stream.unsent = stream.unsent, None
                if changes is not None and changes.is_signed_in:
                    yield _event("change", changes.snapshot, changes.transaction_ids)
                elif changes is not None:
                    yield _event("end", None)
                    return
                if stream.has_to_poll:
                    yield _event("poll", None)
                    return
        finally:
            with self._lock:
                self._open.pop(stream, None)

    def _enter(self, stream: _OpenStream) -> bool:
        """Returns whether there is room. The first stream starts the thread."""
        with self._lock:
            if len(self._open) >= self._most:
                return False
            of_account = [one for one in self._open if one.account_id == stream.account_id and not one.has_to_poll]
            if len(of_account) >= self._most_of_account:
                of_account[0].has_to_poll = True
                of_account[0].waiting.set()
            self._open[stream] = None
            if self._thread is None:
                self._thread = Thread(target=self._run, name="lists", daemon=True)
                self._thread.start()
            return True

    def _run(self) -> None:
        """Queries until no stream is left. While the database is away, streams stay open, and learn of changes
        afterwards."""
        backoff, pause = Backoff(first=self._poll, cap=QUERY_SECONDS, healthy_after=QUERY_SECONDS), Event()
        while self._goes_on():
            began = time.monotonic()
            try:
                with autocommit(self._engine) as connection:
                    while self._goes_on():
                        self._ask(connection)
                        pause.wait(self._poll)
                    return
            except SQLAlchemyError as error:
                log.info("open lists learn of no change for a moment: %s", error_text(error))
                pause.wait(backoff.next_wait(worked_for=time.monotonic() - began))

    def _goes_on(self) -> bool:
        with self._lock:
            if not self._open:
                self._thread = None
            return bool(self._open)

    def _ask(self, connection: Connection) -> None:
        with self._lock:
            streams = list(self._open)
        if not streams:
            return
        with per_query_timeout(QUERY_SECONDS):
            answer = self._find(connection, [stream.shown for stream in streams])
            if not answer.has_checkpoint:
                list_changes.begin(connection)
        changed = [pair for pair in zip(streams, answer.changes, strict=True) if _is_news(pair[1])]
        for stream, changes in zip(streams, answer.changes, strict=True):
            stream.shown = OpenList(token_hash=stream.shown.token_hash, snapshot=changes.snapshot)
        if changed:
            changed[0][0].loop.call_soon_threadsafe(_hand_out, changed)


def _is_news(changes: Changes) -> bool:
    return changes.is_changed or not changes.is_signed_in


def _hand_out(changed: Sequence[tuple[_OpenStream, Changes]]) -> None:
    spread = min(len(changed) * SPREAD_SECONDS, MAX_SPREAD_SECONDS)
    for stream, changes in changed:
        stream.loop.call_later(_random.uniform(0, spread), stream.add, changes)


def _event(name: str, snapshot: str | None, data: object = None) -> bytes:
    id = f"id: {snapshot}\n" if snapshot else ""
    return f"{id}event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def init_app(app: Flask, *, engine: Engine) -> None:
    app.extensions[_KEY] = Streams(engine)


def streams() -> Streams:
    found: Streams = current_app.extensions[_KEY]
    return found


def respond(of: Streams, *, account_id: int, shown: OpenList | None) -> Response:
    """The response with the events for this list; 204 from a server that holds no streams, after which a browser does
    not retry."""
    hold = request.environ.get(STREAM)
    if hold is None or shown is None or request.method != "GET":
        return Response(status=204)
    hold(of.events(account_id=account_id, shown=shown))
    response = Response(mimetype="text/event-stream")
    # Proxies must not buffer it.
    response.headers["Cache-Control"] = "no-store, no-transform"
    response.headers["X-Accel-Buffering"] = "no"
    return response


def shown_list(snapshot: str | None) -> OpenList | None:
    """The list of this browser's session, at that snapshot if it is valid; None without a session."""
    session = get_cookie("session")
    if not session:
        return None
    known = snapshot if snapshot and list_changes.is_snapshot(snapshot) else list_changes.UNKNOWN
    return OpenList(token_hash=secret_keys.digest(session), snapshot=known)
