"""A mail server with faults to order. It writes what it accepts into a file of its own, flushed, before it says 250.

A process apart, on loopback: `python -m tests.chaos.storm.sink FILE SEED`. Its first line of output is its port.
After that each line of JSON on its input is an order and gets one line back, `{"connections": n, "accepted": n}`:

    {"think": 0.02}                             seconds it thinks around the moment it accepts (mean, exponential)
    {"dot": 0.3}                                up to so many seconds more, uniformly, around that moment
    {"slow": [0.05, 30]}                        so many of all recipients, always the same, take so many seconds more
    {"drop": 0.2}                               how often it accepts and then hangs up without a word
    {"down": true}                              connections are counted and torn down at once
    {"fault": ["rcpt", "451 4.3.0 later", 3]}   the next 3 answers in this phase (null: all) are this reply, or a fault
    {"heal": true}                              no drops, no faults, not down

The end of its input is the end of the server. An accepted mail is a fact once its line is on the disk; a judge reads
that file alone.
"""

import asyncio
import hashlib
import json
import os
import re
import socket
import struct
import sys
import time
import zlib
from email.parser import BytesHeaderParser
from email.utils import parsedate_to_datetime
from pathlib import Path
from random import Random
from typing import Any

from tests.mail.scripted_server import EOF, RESET, STALL, USUAL

LARGEST_MAIL = 8 * 1024 * 1024
END = b"\r\n.\r\n"
WISH = re.compile(rb"stormwish(\d+)")


class HangUp(Exception):
    """The connection ends here."""


class Sink:
    def __init__(self, path: Path, *, seed: int) -> None:
        self._file = path.open("ab")
        self._rng = Random(seed)
        self._think = 0.0
        self._dot = 0.0
        self._slow = (0.0, 0.0)
        self._drop = 0.0
        self._down = False
        self._faults: dict[str, tuple[str, int | None]] = {}
        self.connections = 0
        self.accepted = 0

    def order(self, order: dict[str, Any]) -> None:
        if order.get("heal"):
            self._drop, self._down = 0.0, False
            self._faults.clear()
        self._think = order.get("think", self._think)
        self._dot = order.get("dot", self._dot)
        self._slow = order.get("slow", self._slow)
        self._drop = order.get("drop", self._drop)
        self._down = order.get("down", self._down)
        if "fault" in order:
            phase, answer, times = order["fault"]
            self._faults[phase] = (answer, times)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        self.connections += 1
        try:
            if self._down:
                self._tear(writer)
            await self._converse(reader, writer)
        except (HangUp, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        rcpt = ""
        await self._say("banner", reader, writer)
        while True:
            line = (await reader.readuntil(b"\r\n")).decode("utf-8", "replace").strip()
            phase = line.partition(" ")[0].lower()
            if phase not in USUAL:
                writer.write(b"500 5.5.1 unknown\r\n")
                continue
            answer = await self._say(phase, reader, writer)
            if phase == "rcpt" and answer.startswith("2"):
                rcpt = line.partition("<")[2].rpartition(">")[0]
            elif phase == "data" and answer.startswith("354"):
                await self._take(reader, writer, rcpt=rcpt)
            elif phase == "quit":
                raise HangUp

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, rcpt: str) -> None:
        content = (await reader.readuntil(END)).removesuffix(b".\r\n")
        read_at = time.time()
        if "dot" in self._faults:
            await self._say("dot", reader, writer)
            return
        takes = self._rng.uniform(0, self._dot) if self._dot else 0.0
        before = self._rng.uniform(0, takes) if takes else 0.0
        await asyncio.sleep(self._thought() + self._slowness(rcpt) + before)
        self._write_down(content.replace(b"\r\n..", b"\r\n."), rcpt=rcpt, read_at=read_at)
        await asyncio.sleep(self._thought() + takes - before)
        if self._rng.random() < self._drop:
            raise HangUp
        await self._say("dot", reader, writer)

    def _write_down(self, content: bytes, *, rcpt: str, read_at: float) -> None:
        head, wish = BytesHeaderParser().parsebytes(content), WISH.search(content)
        line = {
            "at": time.time(),
            "read_at": read_at,
            "date": parsedate_to_datetime(head["Date"]).timestamp() if head["Date"] else None,
            "wish": int(wish[1]) if wish else None,
            "message_id": head["Message-ID"],
            "in_reply_to": head["In-Reply-To"],
            "sha256": hashlib.sha256(content).hexdigest(),
            "rcpt": rcpt,
        }
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.accepted += 1

    async def _say(self, phase: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        answer = self._answer(phase)
        if answer == EOF:
            raise HangUp
        if answer == RESET:
            self._tear(writer)
        if answer == STALL:
            while await reader.read(65_536):
                pass
            raise HangUp
        writer.write(answer.encode() + b"\r\n")
        await writer.drain()
        return answer

    def _answer(self, phase: str) -> str:
        if phase not in self._faults:
            return "250-sink.example\r\n250-AUTH PLAIN\r\n250 8BITMIME" if phase == "ehlo" else USUAL[phase]
        answer, times = self._faults[phase]
        if times is not None:
            self._faults[phase] = (answer, times - 1)
            if times <= 1:
                del self._faults[phase]
        return answer

    def _tear(self, writer: asyncio.StreamWriter) -> None:
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise HangUp

    def _thought(self) -> float:
        return self._rng.expovariate(2 / self._think) if self._think else 0.0

    def _slowness(self, rcpt: str) -> float:
        share, seconds = self._slow
        return seconds if is_slow(rcpt, share=share) else 0.0


def is_slow(rcpt: str, *, share: float) -> bool:
    """Is this one of so many recipients whose mail takes long?"""
    return zlib.crc32(rcpt.encode()) % 1000 < share * 1000


async def main(path: Path, *, seed: int) -> None:
    sink = Sink(path, seed=seed)
    server = await asyncio.start_server(sink.serve, "127.0.0.1", 0, limit=LARGEST_MAIL, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        sink.order(json.loads(line))
        print(json.dumps({"connections": sink.connections, "accepted": sink.accepted}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), seed=int(sys.argv[2])))
