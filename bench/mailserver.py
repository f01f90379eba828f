"""The mail server that everybody hands over to: Postfix's smtp-sink when it is installed, else the bench's own."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from snoozer.bench.ground import mail_server
from snoozer.dev import ports

PLACES = ("/usr/sbin", "/usr/lib/postfix/sbin", "/usr/lib/postfix", "/usr/libexec/postfix")
MOST_CONNECTIONS = "1024"
_COMES_UP_SECONDS = 5.0


class MailServerRefused(Exception):
    """The mail server did not come up."""


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where it listens, what it is, and where it counts, if it does."""

    port: int
    name: str
    counters: Path | None = None

    def taken(self) -> int | None:
        """How many mails it has taken since it came up; None when it does not count."""
        if self.counters is None:
            return None
        # It writes "sess=1 quit=0 mesg=1\r" after each mail; the last one counts.
        tail = self.counters.read_bytes()[-200:].decode("ascii").split("mesg=")
        return int(tail[-1].split()[0]) if len(tail) > 1 else 0


def smtp_sink() -> str | None:
    """Where smtp-sink lies on this machine, if it does."""
    return shutil.which("smtp-sink") or shutil.which("smtp-sink", path=os.pathsep.join(PLACES))


@contextmanager
def fastest() -> Iterator[MailServer]:
    """A mail server without delay: smtp-sink (of C, hardly any CPU), else the bench's own."""
    program = smtp_sink()
    if program is None:
        with mail_server((0, 0)) as port:
            yield MailServer(port=port, name="the bench's own sink")
        return
    port = ports.any_free()
    # As root it insists on the name of somebody else.
    somebody = ["-u", "postfix"] if os.geteuid() == 0 else []
    with tempfile.NamedTemporaryFile(prefix="snoozer-smtp-sink-") as counters:
        command = [program, *somebody, "-c", "-m", MOST_CONNECTIONS, f"127.0.0.1:{port}", MOST_CONNECTIONS]
        server = subprocess.Popen(command, stdout=counters, stderr=subprocess.DEVNULL)
        try:
            _wait_for(server, port)
            yield MailServer(port=port, name="Postfix smtp-sink", counters=Path(counters.name))
        finally:
            server.terminate()
            server.wait()


def _wait_for(server: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + _COMES_UP_SECONDS
    while True:
        with suppress(OSError), socket.create_connection((ports.HOST, port)):
            return
        if server.poll() is not None or time.monotonic() > until:
            raise MailServerRefused("smtp-sink did not come up")
        time.sleep(0.05)
