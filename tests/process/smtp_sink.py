"""A real SMTP server that writes down what it accepts, in a file of its own, before it says 250.

It is a process apart from the product: a judge reads only its file. Run as `python -m tests.process.smtp_sink FILE`;
it prints its port on the first line.
"""

import asyncio
import hashlib
import json
import os
import sys
import time
from email.parser import BytesHeaderParser
from pathlib import Path

from aiosmtpd.smtp import SMTP, Envelope, Session


class Writer:
    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.original_content or b""
        line = {
            "at": time.time(),
            "message_id": BytesHeaderParser().parsebytes(content)["Message-ID"],
            "in_reply_to": BytesHeaderParser().parsebytes(content)["In-Reply-To"],
            "sha256": hashlib.sha256(content).hexdigest(),
            "rcpt_to": envelope.rcpt_tos,
            "head": content.partition(b"\r\n\r\n")[0].decode("latin-1") + "\r\n\r\n",
        }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        return "250 2.0.0 queued as 4TEST"


async def serve(path: Path) -> None:
    writer = Writer(path)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(writer, loop=loop), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
