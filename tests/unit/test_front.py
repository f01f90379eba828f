"""Limits of memory for clients that do not read their responses, or never end their requests."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

from snoozer.web.api import problems
from snoozer.web.front import LARGE_BYTES, BodyLimits, Capacity, Front, Message
from tests import loops

LIMITS = BodyLimits(usual=1, is_upload=lambda method, path: False, upload=lambda environ: (1, ""))


def a_file(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """A large one, unless a page is asked for."""
    start_response("200 OK", [])
    return [b"x" * (10 if environ["PATH_INFO"] == "/page" else LARGE_BYTES + 1)]


async def get(front: Front, path: str, *, may_send: asyncio.Event, began: asyncio.Event | None = None) -> int:
    """The status, once the client has taken all."""
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        if began is not None:
            began.set()
        await may_send.wait()

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
    }
    await front(scope, receive, send)
    return statuses[0]


def test_large_responses_that_wait_for_their_clients_are_few_and_pages_are_not_held_up() -> None:
    async def run() -> list[int]:
        capacity = Capacity(threads=1, unsent_bytes=LARGE_BYTES)
        front = Front(a_file, limits=LIMITS, capacity=capacity, describe=problems.describe)
        at_once, later, began = asyncio.Event(), asyncio.Event(), asyncio.Event()
        at_once.set()
        slow = asyncio.create_task(get(front, "/file", may_send=later, began=began))
        await began.wait()
        meanwhile = [await get(front, path, may_send=at_once) for path in ("/file", "/page")]
        later.set()
        return [*meanwhile, await slow, await get(front, "/file", may_send=at_once)]

    assert loops.run(run()) == [503, 200, 200, 200]


def test_a_process_whose_threads_all_wait_for_the_database_says_that_it_lives() -> None:
    released, waiting = threading.Event(), threading.Event()

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("200 OK", [])
        if environ["PATH_INFO"] == "/page":
            waiting.set()
            released.wait()
        return []

    async def run() -> list[int]:
        front = Front(app, limits=LIMITS, capacity=Capacity(threads=1, waiting=0), describe=problems.describe)
        may_send = asyncio.Event()
        may_send.set()
        page = asyncio.create_task(get(front, "/page", may_send=may_send))
        await asyncio.to_thread(waiting.wait)
        statuses = [await get(front, path, may_send=may_send) for path in ("/other", "/healthz")]
        released.set()
        return [*statuses, await page]

    assert loops.run(run()) == [503, 200, 200]


ROOM = Capacity(threads=1, held_bytes=100, reserved_bytes=30, share_bytes=40)
POSTS = BodyLimits(
    usual=10,
    is_upload=lambda method, path: path != "/form",
    upload=lambda environ: (1_000, environ["PATH_INFO"]),
)


def echo(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [])
    return [environ["wsgi.input"].read()]


class Upload:
    """A request whose body comes in pieces; the last one is b""."""

    def __init__(self, front: Front, path: str) -> None:
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.statuses: list[int] = []
        scope = {
            **{"type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": path, "headers": []},
            **{"raw_path": path.encode(), "query_string": b""},
        }
        self.task = asyncio.create_task(front(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        piece = await self.pieces.get()
        self.pieces.task_done()
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.statuses.append(message["status"])

    async def brings(self, *pieces: bytes | None) -> int | None:
        """The status, once there is one; None while the front waits for more."""
        for piece in pieces:
            self.pieces.put_nowait(piece)
        taken = asyncio.create_task(self.pieces.join())
        await asyncio.wait({taken, self.task}, return_when=asyncio.FIRST_COMPLETED)
        taken.cancel()
        if pieces[-1] in (b"", None):
            await self.task
        # The front has judged a piece once it asks for the next one.
        for _ in range(5):
            await asyncio.sleep(0)
        return self.statuses[0] if self.statuses else None


async def small(front: Front, *, size: int = 10) -> int | None:
    return await Upload(front, "/form").brings(b"x" * size, b"")


def test_unfinished_uploads_leave_room_for_small_bodies_and_for_others() -> None:
    async def run() -> None:
        front = Front(echo, limits=POSTS, capacity=ROOM, describe=problems.describe)
        ann = Upload(front, "/ann")
        assert await ann.brings(b"x" * 35) is None
        assert await Upload(front, "/ann").brings(b"x" * 20) == 503
        bob = Upload(front, "/bob")
        assert await bob.brings(b"x" * 30) is None
        assert await Upload(front, "/carol").brings(b"x" * 20) == 503
        for _ in range(20):
            assert await small(front) == 200
        # A body larger than a share is admitted only if it is alone.
        assert await bob.brings(b"x" * 15) == 503
        await ann.brings(None)
        for _ in range(3):
            assert await Upload(front, "/carol").brings(b"x" * 60, b"") == 200
        assert await Upload(front, "/carol").brings(b"x" * 71) == 503

    loops.run(run())


def test_many_small_bodies_have_the_whole_room_and_no_more() -> None:
    async def run() -> None:
        front = Front(echo, limits=POSTS, capacity=ROOM, describe=problems.describe)
        waiting = [Upload(front, "/form") for _ in range(10)]
        assert [await each.brings(b"x" * 10) for each in waiting] == [None] * 10
        assert await small(front) == 503
        await waiting[0].brings(None)
        assert await small(front) == 200

    loops.run(run())


def test_a_body_that_stalls_is_ended_whatever_came_of_it_before() -> None:
    async def run() -> None:
        capacity = Capacity(threads=1, grace_seconds=10_000, stall_seconds=0.01)
        front = Front(echo, limits=POSTS, capacity=capacity, describe=problems.describe)
        upload = Upload(front, "/ann")
        await upload.brings(b"x" * 500)
        await upload.task
        assert upload.statuses == [408]

    loops.run(run())
