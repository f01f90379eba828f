"""The mail server of the lab, `python -m lab.mail_server FILE PORT`: writes down each mail, then replies 250.

Each accepted mail is a line of JSON in the file, on the disk before the reply leaves. The judge reads that file and
nothing else. Orders: `{"think": seconds}` before a mail is accepted, `{"drop": n}` accept the next n mails and hang up
without a reply, `{"defer": n}` say "later" to the next n recipients, `{"refuse": address}` (null: none) refuse one for
good.
"""

import asyncio
import hashlib
import json
import os
import sys
import time
from email.parser import BytesHeaderParser
from pathlib import Path

from lab.orders import Order

HOST = "127.0.0.1"
LARGEST_MAIL = 8 * 1024 * 1024
END = b"\r\n.\r\n"
REPLIES = {"mail": "250 2.1.0 Ok", "rset": "250 2.0.0 Ok", "noop": "250 2.0.0 Ok", "helo": "250 lab.example"}


class MailServer:
    """The orders in force, and the file."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("ab")
        self._think = 0.0
        self._drop = self._defer = 0
        self._refused: str | None = None

    def order(self, order: Order) -> None:
        self._think = order.get("think", self._think)
        self._drop = order.get("drop", self._drop)
        self._defer = order.get("defer", self._defer)
        self._refused = order.get("refuse", self._refused)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        try:
            writer.write(b"220 lab.example ESMTP\r\n")
            await self._converse(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        rcpt = ""
        while True:
            line = (await reader.readuntil(b"\r\n")).decode("utf-8", "replace").strip()
            verb = line.partition(" ")[0].lower()
            if verb == "ehlo":
                reply = "250-lab.example\r\n250-PIPELINING\r\n250 8BITMIME"
            elif verb == "rcpt":
                rcpt = line.partition("<")[2].rpartition(">")[0]
                reply = self._to(rcpt)
                rcpt = rcpt if reply.startswith("2") else ""
            elif verb == "data" and not rcpt:
                reply = "554 5.5.1 No valid recipients"
            elif verb == "data":
                writer.write(b"354 End with a dot\r\n")
                await writer.drain()
                if not await self._accept(reader, rcpt=rcpt):
                    return
                reply = "250 2.0.0 Accepted"
            else:
                reply = REPLIES.get(verb, "221 2.0.0 Bye" if verb == "quit" else "500 5.5.1 Unknown")
            writer.write(f"{reply}\r\n".encode())
            await writer.drain()
            if verb == "quit":
                return

    def _to(self, rcpt: str) -> str:
        if rcpt == self._refused:
            return "550 5.1.1 No such mailbox here"
        if self._defer > 0:
            self._defer -= 1
            return "451 4.3.0 Later"
        return "250 2.1.5 Ok"

    async def _accept(self, reader: asyncio.StreamReader, *, rcpt: str) -> bool:
        """Accept one mail. Returns False if the server must hang up after the dot."""
        content = (await reader.readuntil(END)).removesuffix(b".\r\n")
        await asyncio.sleep(self._think)
        self._write_down(content.replace(b"\r\n..", b"\r\n."), rcpt=rcpt)
        if self._drop > 0:
            self._drop -= 1
            return False
        return True

    def _write_down(self, content: bytes, *, rcpt: str) -> None:
        head = BytesHeaderParser().parsebytes(content)
        line = {
            "at": time.time(),
            "rcpt": rcpt,
            "message_id": head["Message-ID"],
            "in_reply_to": head["In-Reply-To"],
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        os.fdatasync(self._file.fileno())


async def main(file: Path, port: int) -> None:
    server = MailServer(file)
    # The port was this server's before it was stopped.
    await asyncio.start_server(server.serve, HOST, port, limit=LARGEST_MAIL, backlog=1024)
    print("ready", flush=True)  # noqa: T201 - the lab waits for this line
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        server.order(json.loads(line))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
