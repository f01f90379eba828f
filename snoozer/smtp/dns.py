"""A host's addresses, asked of the system's resolver with an end to the wait."""

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

Addresses = Sequence[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]]


async def resolve(host: str, port: int, *, until: float) -> Addresses:
    """Where to connect to; none for a name without an address. TimeoutError when the resolver takes too long.

    The resolver knows no deadline, so it is asked in a thread that may be left behind.
    """
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Addresses] = loop.create_future()
    threading.Thread(target=_ask, args=(host, port, loop, found), daemon=True).start()
    async with asyncio.timeout_at(until):
        return await found


def _ask(host: str, port: int, loop: asyncio.AbstractEventLoop, found: "asyncio.Future[Addresses]") -> None:
    try:
        known: Addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        known = []
    with suppress(RuntimeError):  # Nobody asks any more: the loop is closed.
        loop.call_soon_threadsafe(_tell, found, known)


def _tell(found: "asyncio.Future[Addresses]", known: Addresses) -> None:
    if not found.done():
        found.set_result(known)
