"""A child process, what it says line by line, and its end."""

import asyncio
import contextlib
from asyncio import SubprocessTransport
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable, Sequence
from typing import Self, cast

OUT, ERR = 1, 2
LONGEST_LINE = 4_000
_LAST_WORDS_SECONDS = 1.0

Hear = Callable[[int, str], None]


class Child(asyncio.SubprocessProtocol):
    """A process whose end is known as soon as it ends, even while somebody it started holds its output open.

    (The Process of asyncio's own streams waits for both.)
    """

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._rests = {OUT: b"", ERR: b""}
        self._transport: SubprocessTransport | None = None
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._said_all = asyncio.Event()

    @classmethod
    async def start(cls, argv: Sequence[str], *, hear: Hear, one_stream: bool, sockets: Sequence[int] = ()) -> Self:
        """Start a command in a session of its own. `hear` gets its lines, as OUT all of them if `one_stream`.

        A Ctrl-C at the terminal is for us alone: we stop the others, in order. Raises OSError.
        """
        _, protocol = await asyncio.get_running_loop().subprocess_exec(
            lambda: cls(hear),
            *argv,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT if one_stream else PIPE,
            pass_fds=sockets,
            start_new_session=True,
        )
        return protocol

    @property
    def pid(self) -> int:
        assert self._transport is not None  # noqa: S101
        return self._transport.get_pid()

    async def ended(self) -> int:
        """Wait for its end; the exit code, or minus the signal that ended it."""
        return await asyncio.shield(self._ended)

    async def last_words(self) -> None:
        """Hear what it still has to say after its end, and then nobody who holds its output open."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._said_all.wait(), _LAST_WORDS_SECONDS)
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *lines, rest = (self._rests[fd] + data).split(b"\n")
        # Of an endless line only so much is kept.
        self._rests[fd] = rest[:LONGEST_LINE]
        for line in lines:
            self._hear(fd, line[:LONGEST_LINE].decode(errors="replace").rstrip("\r"))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        rest, self._rests[fd] = self._rests[fd], b""
        if rest:
            self._hear(fd, rest.decode(errors="replace"))

    def process_exited(self) -> None:
        code = self._transport.get_returncode() if self._transport is not None else None
        self._ended.set_result(code if code is not None else 0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._said_all.set()
