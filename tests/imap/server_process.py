"""What the IMAP servers of the tests share: an account without privileges, a home, ports, and an end for certain."""

import contextlib
import fcntl
import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import SystemRandom

UNPRIVILEGED_ACCOUNT = "nobody"
_given: set[int] = set()


def account() -> pwd.struct_passwd:
    """Who runs the server: root gives its rights up."""
    return pwd.getpwnam(UNPRIVILEGED_ACCOUNT) if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


@contextlib.contextmanager
def home(name: str) -> Iterator[Path]:
    """A folder of that account's, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"snoozer-{name}-"))
    give_away(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def give_away(path: Path) -> None:
    """The account may write there."""
    if os.geteuid() == 0:
        os.chown(path, account().pw_uid, account().pw_gid)


def run(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Starts a program as that account, as the head of a process group: Cyrus ends the whole group it is in."""
    as_root = os.geteuid() == 0
    return subprocess.Popen(
        command,
        user=account().pw_uid if as_root else None,
        group=account().pw_gid if as_root else None,
        extra_groups=[] if as_root else None,
        process_group=0,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextlib.contextmanager
def stopping(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stopped at the end with all that it has started, whatever happens."""
    try:
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    """A port that no other caller gets while this process runs, whichever process calls.

    Systems give higher ports to connections on their way out: none of these takes it before the server does.
    """
    while True:
        port = SystemRandom().randrange(20_000, 32_000)
        if port in _given:
            continue
        with contextlib.suppress(OSError):
            fcntl.lockf(_ports(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            with socket.create_server(("127.0.0.1", port)):
                _given.add(port)
                return port


@functools.cache
def _ports() -> int:
    """A file in which each byte stands for a port. The lock of a byte ends with the process that holds it."""
    return os.open(Path(tempfile.gettempdir()) / f"snoozer-ports-{os.geteuid()}", os.O_CREAT | os.O_WRONLY)


def wait_for(port: int, process: subprocess.Popen[bytes], *, log: Path, seconds: float = 20) -> None:
    """Returns once the server greets. Raises RuntimeError with its log when it does not."""
    until = time.monotonic() + seconds
    while not _greets(port):
        if process.poll() is not None or time.monotonic() > until:
            logged = log.read_text(encoding="utf-8", errors="replace") if log.exists() else "nothing"
            raise RuntimeError(f"the server did not start; its log: {logged[-4000:]}")
        time.sleep(0.05)


def _greets(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            return bool(connection.recv(1))
    except OSError:
        return False
