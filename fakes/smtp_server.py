"""A mail server with faults to order. It writes what it accepts into a file of its own, flushed, before it says 250.

A process apart, on loopback unless another address is given:
`python -m fakes.smtp_server FILE [--host ADDRESS] [--port N] [--seed N] [--pipelining]`. Its first line of output is
its port. After that each line of JSON on its input is an order and gets one line back,
`{"connections": n, "accepted": n}`:

    {"takes": 0.25}                             seconds from the final dot to the moment it accepts
    {"think": 0.02}                             seconds it thinks around that moment (mean, exponential)
    {"dot": 0.3}                                up to so many seconds more, uniformly, around that moment
    {"slow": [0.05, 30]}                        so many of all recipients, always the same, take so many seconds more
    {"drop": 0.2}                               how often it accepts and then hangs up without a word
    {"drop_next": 3}                            it does so for the next 3 mails
    {"refuse": "a@b.example"}                   this recipient is refused for good (null: none)
    {"down": true}                              connections are counted and torn down at once
    {"fault": ["rcpt", "451 4.3.0 later", 3]}   the next 3 answers in this phase (null: all) are this reply, or a fault
    {"heal": true}                              no drops, no faults, no refusals, not down

The end of its input is the end of the server. An accepted mail is a fact once its line is on the disk; a judge reads
that file alone.
"""

import argparse
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

EOF = "<eof>"  # hang up instead of a reply
RESET = "<reset>"  # tear the connection down
STALL = "<stall>"  # silent until the client hangs up

REPLIES = {
    "banner": "220 sink.example ESMTP",
    "ehlo": "250-sink.example\r\n250-AUTH PLAIN\r\n250 8BITMIME",
    "helo": "250 sink.example",
    "auth": "235 2.7.0 Welcome",
    "mail": "250 2.1.0 Ok",
    "rcpt": "250 2.1.5 Ok",
    "data": "354 End with a dot",
    "dot": "250 2.0.0 Ok: queued as 4XyZ12abc",
    "rset": "250 2.0.0 Ok",
    "noop": "250 2.0.0 Ok",
    "quit": "221 2.0.0 Bye",
}
NO_MAILBOX, NO_RECIPIENT = "550 5.1.1 No such mailbox here", "554 5.5.1 No valid recipients"
PIPELINING = "250-sink.example\r\n250-PIPELINING\r\n250 8BITMIME"
LARGEST_MAIL = 8 * 1024 * 1024
END = b"\r\n.\r\n"
WISH = re.compile(rb"stormwish(\d+)")


class HangUp(Exception):
    """The connection ends here."""


class SmtpServer:
    def __init__(self, path: Path, *, seed: int = 0, pipelining: bool = False) -> None:
        self._file = path.open("ab")
        self._rng = Random(seed)
        self._replies = REPLIES | ({"ehlo": PIPELINING} if pipelining else {})
        self._takes = 0.0
        self._think = 0.0
        self._dot = 0.0
        self._slow = (0.0, 0.0)
        self._drop = 0.0
        self._drop_next = 0
        self._refused: str | None = None
        self._down = False
        self._faults: dict[str, tuple[str, int | None]] = {}
        self.connections = 0
        self.accepted = 0

    def order(self, order: dict[str, Any]) -> None:
        if order.get("heal"):
            self._drop, self._drop_next, self._refused, self._down = 0.0, 0, None, False
            self._faults.clear()
        self._takes = order.get("takes", self._takes)
        self._think = order.get("think", self._think)
        self._dot = order.get("dot", self._dot)
        self._slow = order.get("slow", self._slow)
        self._drop = order.get("drop", self._drop)
        self._drop_next = order.get("drop_next", self._drop_next)
        self._refused = order.get("refuse", self._refused)
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
            if phase == "rcpt":
                rcpt = line.partition("<")[2].rpartition(">")[0]
            refusal = self._refusal(phase, rcpt)
            if refusal is not None:
                rcpt = ""
                writer.write(f"{refusal}\r\n".encode())
                continue
            answer = await self._say(phase, reader, writer)
            if phase == "rcpt" and not answer.startswith("2"):
                rcpt = ""
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
        await asyncio.sleep(self._takes + self._thought() + self._slowness(rcpt) + before)
        peer = writer.get_extra_info("peername")[0]
        self._write_down(content.replace(b"\r\n..", b"\r\n."), rcpt=rcpt, read_at=read_at, peer=peer)
        await asyncio.sleep(self._thought() + takes - before)
        if self._drop_next > 0:
            self._drop_next -= 1
            raise HangUp
        if self._rng.random() < self._drop:
            raise HangUp
        await self._say("dot", reader, writer)

    def _refusal(self, phase: str, rcpt: str) -> str | None:
        if phase not in self._replies:
            return "500 5.5.1 Unknown"
        if phase == "rcpt" and rcpt == self._refused:
            return NO_MAILBOX
        return NO_RECIPIENT if phase == "data" and not rcpt else None

    def _write_down(self, content: bytes, *, rcpt: str, read_at: float, peer: str) -> None:
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
            "peer": peer,
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
            return self._replies[phase]
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


async def main(server: SmtpServer, *, host: str, port: int) -> None:
    """Serve at this address, at a free port if `port` is 0, and obey until the orders end."""
    # The limit is for one read. Another server may have had the port before it was killed.
    listening = await asyncio.start_server(server.serve, host, port, limit=LARGEST_MAIL, backlog=1024)
    print(listening.sockets[0].getsockname()[1], flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        server.order(json.loads(line))
        print(json.dumps({"connections": server.connections, "accepted": server.accepted}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pipelining", action="store_true")
    given = parser.parse_args()
    server = SmtpServer(given.file, seed=given.seed, pipelining=given.pipelining)
    asyncio.run(main(server, host=given.host, port=given.port))
