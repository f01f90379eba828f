"""The mail server of the bench: Postfix's smtp-sink if it is wanted and installed, else a server of our own.

Our own server accepts every mail after a given number of milliseconds and keeps nothing; on request it logs the
recipient and the time of each mail. It implements as much of RFC 5321 as a correct client needs, and runs as a separate
process, so that its cost is not part of the measurement.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import cast

from bench.report import BenchError
from snoozer.dev import ports
from snoozer.dev.processes import CHILD, GONE, reaper

ROOT = Path(__file__).resolve().parents[1]
SMTP_SINK_FOLDERS = ("/usr/sbin", "/usr/lib/postfix/sbin", "/usr/lib/postfix", "/usr/libexec/postfix")
MAX_CONNECTIONS = "1024"
START_SECONDS = 5.0

_END_OF_DATA = b"\r\n.\r\n"
_QUEUED = b"250 2.0.0 queued as BENCH1\r\n"
_REPLIES = {
    b"EHLO": b"250-bench.snoozer.example\r\n250-8BITMIME\r\n250 PIPELINING\r\n",
    b"HELO": b"250 bench.snoozer.example\r\n",
    b"QUIT": b"221 bye\r\n",
    b"DATA": b"354 go on\r\n",
}


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """The server's port and name, and the file with its counters, if it counts."""

    port: int
    name: str
    counters: Path | None = None

    def accepted(self) -> int | None:
        """Return how many mails it has accepted since its start; None if it does not count."""
        if self.counters is None:
            return None
        # It writes "sess=1 quit=0 mesg=1\r" after each mail; the last one counts.
        tail = self.counters.read_bytes()[-200:].decode("ascii").split("mesg=")
        return int(tail[-1].split()[0]) if len(tail) > 1 else 0


@contextmanager
def fastest_mail_server() -> Iterator[MailServer]:
    """Run a mail server without delay: smtp-sink (written in C, uses hardly any CPU), else the bench's own."""
    program = shutil.which("smtp-sink") or shutil.which("smtp-sink", path=os.pathsep.join(SMTP_SINK_FOLDERS))
    if program is None:
        with bench_mail_server((0, 0)) as port:
            yield MailServer(port=port, name="the bench's own sink")
        return
    port = ports.any_free()
    # Started by root, it insists on the name of another user.
    user = ["-u", "postfix"] if os.geteuid() == 0 else []
    with tempfile.NamedTemporaryFile(prefix="snoozer-smtp-sink-") as counters:
        command = [program, *user, "-c", "-m", MAX_CONNECTIONS, f"127.0.0.1:{port}", MAX_CONNECTIONS]
        with reaper() as register:
            server = subprocess.Popen(command, stdout=counters, stderr=subprocess.DEVNULL)
            register(CHILD, server.pid)
            try:
                _wait_for_port(server, port)
                yield MailServer(port=port, name="Postfix smtp-sink", counters=Path(counters.name))
            finally:
                server.terminate()
                server.wait()
                register(GONE, server.pid)


@contextmanager
def bench_mail_server(work: tuple[float, float], *, journal: Path | None = None) -> Iterator[int]:
    """The bench's own, as a process; its port. `work` is the milliseconds that a mail takes, at least and at most.

    `journal` is the file in which it writes when it accepted which recipient's mail; `read_journal` reads it.
    """
    command = [sys.executable, "-m", "bench.mail_server", *map(str, work), *([str(journal)] if journal else [])]
    with reaper() as register, subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        register(CHILD, server.pid)
        try:
            yield int(server.stdout.readline() if server.stdout else 0)
        finally:
            server.terminate()


def read_journal(journal: Path) -> list[tuple[str, float]]:
    """The recipient of each mail and when it was accepted, in seconds since 1970, in that order."""
    lines = journal.read_text("ascii").splitlines() if journal.exists() else []
    return [(recipient, float(at)) for at, recipient in map(str.split, lines)]


def _wait_for_port(server: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        with suppress(OSError), socket.create_connection((ports.HOST, port)):
            return
        if server.poll() is not None or time.monotonic() > until:
            raise BenchError("smtp-sink did not come up")
        time.sleep(0.05)


class SmtpProtocol(asyncio.Protocol):
    """One connection of a client to the bench's own mail server."""

    def __init__(self, *, work: tuple[float, float], rng: Random, journal: int | None) -> None:
        self._work = work
        self._rng = rng
        self._journal = journal
        self._buffer = bytearray()
        self._recipient = b""
        self._in_data = self._is_working = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(b"220 bench.snoozer.example ESMTP\r\n")

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._read()

    def _read(self) -> None:
        # Commands pipelined after a mail wait until that mail has its reply.
        while not self._is_working and (self._in_data or b"\n" in self._buffer):
            if self._in_data:
                end = self._buffer.find(_END_OF_DATA)
                if end < 0:
                    return
                del self._buffer[: end + len(_END_OF_DATA)]
                self._in_data = False
                self._accept()
                continue
            line, _, self._buffer = self._buffer.partition(b"\n")
            verb = bytes(line[:4]).upper()
            self._transport.write(_REPLIES.get(verb, b"250 fine\r\n"))
            self._in_data = verb == b"DATA"
            if verb == b"RCPT":
                self._recipient = bytes(line).partition(b"<")[2].partition(b">")[0]
            if verb == b"QUIT":
                self._transport.close()

    def _accept(self) -> None:
        shortest, longest = self._work
        if longest <= 0:
            self._reply()
            return
        self._is_working = True
        pause = self._rng.uniform(shortest, longest) / 1000
        asyncio.get_running_loop().call_later(pause, self._finish)

    def _finish(self) -> None:
        self._is_working = False
        self._reply()
        self._read()

    def _reply(self) -> None:
        if self._journal is not None:
            os.write(self._journal, b"%.6f %s\n" % (time.time(), self._recipient))
        self._transport.write(_QUEUED)


async def serve(work: tuple[float, float], journal: str | None = None) -> None:
    """Listen on a free port of loopback, print it, and serve until the process is ended."""
    rng = Random(4)  # noqa: S311 - scatters pauses, guards nothing
    file = os.open(journal, os.O_CREAT | os.O_WRONLY | os.O_APPEND) if journal else None
    server = await asyncio.get_running_loop().create_server(
        lambda: SmtpProtocol(work=work, rng=rng, journal=file), "127.0.0.1", 0, backlog=512
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve((float(sys.argv[1]), float(sys.argv[2])), *sys.argv[3:]))
