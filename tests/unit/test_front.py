"""What clients that take nothing of their responses may hold in memory."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from snoozer.web.api import problems
from snoozer.web.front import LARGE_BYTES, BodyLimits, Capacity, Front, Message
from tests import loops

LIMITS = BodyLimits(usual=1, is_upload=lambda method, path: False, upload=lambda environ: 1)


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
