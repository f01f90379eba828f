"""The site served by gunicorn on a socket."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.conftest import HANG_SECONDS

T = TypeVar("T")

CHECKOUT = Path(__file__).resolve().parents[2]
TICK = 1 / os.sysconf("SC_CLK_TCK")
# What bin/test-at sets.
CLOCK = {name: os.environ[name] for name in ("LD_PRELOAD", "WALL_CLOCK_SECONDS") if name in os.environ}


@dataclass(frozen=True, kw_only=True)
class LiveSite:
    """A running gunicorn with one worker, and the file it logs to."""

    port: int
    log: Path
    pid: int

    @property
    def worker(self) -> int:
        """The process that serves."""
        [child] = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(child)

    def connections(self) -> int:
        """How many files and sockets the worker has open."""
        return len(list(Path(f"/proc/{self.worker}/fd").iterdir()))

    def cost(self, act: Callable[[], T]) -> tuple[T, float, int]:
        """What `act` returns, and what it cost the worker: seconds of CPU, and kB of memory at its peak."""
        process = Path(f"/proc/{self.worker}")

        def cpu() -> float:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) * TICK

        def memory(name: str) -> int:
            [line] = [line for line in (process / "status").read_text().splitlines() if line.startswith(f"{name}:")]
            return int(line.split()[1])

        (process / "clear_refs").write_text("5")
        used, resident = cpu(), memory("VmRSS")
        result = act()
        return result, cpu() - used, memory("VmHWM") - resident

    def connect(self) -> socket.socket:
        """A connection that fails if the site hangs."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=HANG_SECONDS)

    def send(self, request: bytes, *, ends: bool = True) -> str:
        """Returns the whole response to these bytes, until the connection is closed; the client ends its own side
        before, unless `ends` is false."""
        with closing(self.connect()) as connection:
            connection.sendall(request)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65_536), b"")).decode("utf-8", "replace")

    def request(self, path: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> tuple[int, str]:
        """Returns the status and the whole response; header names are written with underscores."""
        headers = {"host": "snoozer.example", "content_length": str(len(body)), "connection": "close"} | headers
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        response = self.send(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        status = re.match(r"HTTP/1\.1 (\d{3}) ", response)
        assert status is not None, response
        return int(status[1]), response


@contextmanager
def live_site(postgres_url: str, home: Path, *, options: Sequence[str] = (), **variables: str) -> Iterator[LiveSite]:
    """Starts gunicorn with these options and environment variables, in which {port} is its port; at the end stops it
    and waits until it has flushed."""
    with socket.create_server(("127.0.0.1", 0)) as listener, (home / "web.log").open("wb") as log:
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--bind", f"fd://{listener.fileno()}", *options, "wsgi:app"],
            cwd=CHECKOUT,
            env={
                "PATH": os.environ["PATH"],
                "SNOOZER_HOME": str(home),
                "DATABASE_URL": postgres_url,
                "SECRET_KEY": "a-test-key-of-enough-length",
                "SMTP_URL": "smtp://127.0.0.1:1",
                "MAIL_FROM": "snoozer@snoozer.example",
                "BASE_URL": "http://snoozer.example",
            }
            | CLOCK
            | {name: value.format(port=port) for name, value in variables.items()},
            pass_fds=[listener.fileno()],
            stdout=log,
            stderr=log,
        )
        try:
            yield LiveSite(port=port, log=home / "web.log", pid=process.pid)
        finally:
            process.terminate()
            process.wait(timeout=HANG_SECONDS)
