"""Whether a child answers yet."""

import asyncio
import contextlib
import http.client
import time

from snoozer.dev.ports import HOST

_LOOK = 0.1
_ONE_ANSWER_SECONDS = 10.0


async def page(port: int, path: str, *, seconds: float) -> bool:
    """Ask for a page until it is answered with 200, for so many seconds at most."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if await asyncio.to_thread(_status, port, path) == http.HTTPStatus.OK:
            return True
        await asyncio.sleep(_LOOK)
    return False


async def door(host: str, port: int, *, seconds: float) -> bool:
    """Knock until somebody listens there, for so many seconds at most."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(_LOOK)
        else:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return True
    return False


def _status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=_ONE_ANSWER_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
