"""The workers' network, `python -m lab.network FROM:TO …`: it passes on what comes to each port of loopback.

The order `{"cut": true}` cuts it like a broken line: nothing passes, and no connection ends. `{"cut": false}` mends it,
and data on its way arrives late.
"""

import asyncio
import json
import sys

HOST = "127.0.0.1"


class Line:
    """All connections; `mended` is set while anything passes."""

    def __init__(self) -> None:
        self._ends: set[asyncio.Transport] = set()
        self.mended = asyncio.Event()
        self.mended.set()

    def cut(self, is_cut: bool) -> None:
        """Hold everything up, or let it pass again."""
        if is_cut:
            self.mended.clear()
        else:
            self.mended.set()
        for end in self._ends:
            if not end.is_closing():
                _read(end, not is_cut)

    def add(self, end: asyncio.Transport) -> None:
        self._ends.add(end)
        if not self.mended.is_set():
            _read(end, False)

    def discard(self, end: asyncio.Transport) -> None:
        self._ends.discard(end)


class End(asyncio.Protocol):
    """One end of a connection; the data it reads is sent at the other end."""

    def __init__(self, line: Line, *, other: "End | None" = None) -> None:
        self._line, self.other = line, other
        self.transport: asyncio.Transport | None = None
        self._waiting: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self.transport = transport
        self._line.add(transport)
        for piece in self._waiting:
            transport.write(piece)

    def data_received(self, data: bytes) -> None:
        if self.other is not None:
            self.other.write(data)

    def write(self, data: bytes) -> None:
        if self.transport is None:
            self._waiting.append(data)
        else:
            self.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.transport is not None:
            self._line.discard(self.transport)
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class NearEnd(End):
    """The worker's end, which is connected on."""

    def __init__(self, line: Line, *, port: int) -> None:
        super().__init__(line)
        self._port = port
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # The far end buffers data until it is connected.
        self.other = far = End(self._line, other=self)
        self._task = asyncio.create_task(self._connect_on(far))

    async def _connect_on(self, far: End) -> None:
        await self._line.mended.wait()
        near = self.transport
        try:
            await asyncio.get_running_loop().create_connection(lambda: far, HOST, self._port)
        except OSError:
            if near is not None:
                near.abort()
            return
        if far.transport is not None and (near is None or near.is_closing()):
            far.transport.close()


def _read(end: asyncio.Transport, is_reading: bool) -> None:
    if is_reading:
        end.resume_reading()
    else:
        end.pause_reading()


async def main(pairs: list[str]) -> None:
    line, loop = Line(), asyncio.get_running_loop()
    for pair in pairs:
        near, far = map(int, pair.split(":"))
        await loop.create_server(lambda port=far: NearEnd(line, port=port), HOST, near, backlog=512)  # type: ignore[misc]
    print("ready", flush=True)  # noqa: T201 - the lab waits for this line
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while order := await orders.readline():
        line.cut(bool(json.loads(order)["cut"]))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
