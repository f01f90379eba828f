"""The benchmark's mail server: it takes every mail after so many milliseconds, and keeps nothing.

Lean on purpose (RFC 5321 as far as a well-behaved client needs it), so that it is not what is measured.
"""

import asyncio
import sys
from random import Random
from typing import cast

_END = b"\r\n.\r\n"
_REPLIES = {
    b"EHLO": b"250-bench.snoozer.example\r\n250-8BITMIME\r\n250 PIPELINING\r\n",
    b"HELO": b"250 bench.snoozer.example\r\n",
    b"QUIT": b"221 bye\r\n",
    b"DATA": b"354 go on\r\n",
}


class Conversation(asyncio.Protocol):
    """One connection."""

    def __init__(self, *, work: tuple[float, float], rng: Random) -> None:
        self._work = work
        self._rng = rng
        self._read = bytearray()
        self._in_data = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(b"220 bench.snoozer.example ESMTP\r\n")

    def data_received(self, data: bytes) -> None:
        self._read += data
        while self._in_data or b"\n" in self._read:
            if self._in_data:
                end = self._read.find(_END)
                if end < 0:
                    return
                del self._read[: end + len(_END)]
                self._in_data = False
                self._accept()
                continue
            line, _, self._read = self._read.partition(b"\n")
            verb = bytes(line[:4]).upper()
            self._transport.write(_REPLIES.get(verb, b"250 fine\r\n"))
            self._in_data = verb == b"DATA"
            if verb == b"QUIT":
                self._transport.close()

    def _accept(self) -> None:
        shortest, longest = self._work
        if longest <= 0:
            self._transport.write(b"250 2.0.0 queued as BENCH1\r\n")
            return
        pause = self._rng.uniform(shortest, longest) / 1000
        asyncio.get_running_loop().call_later(pause, self._transport.write, b"250 2.0.0 queued as BENCH1\r\n")


async def serve(work: tuple[float, float]) -> None:
    """Listen on a free port of loopback, say which, and go on until told to stop."""
    rng = Random(4)  # noqa: S311 - scatters pauses, guards nothing
    server = await asyncio.get_running_loop().create_server(
        lambda: Conversation(work=work, rng=rng), "127.0.0.1", 0, backlog=512
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve((float(sys.argv[1]), float(sys.argv[2]))))
