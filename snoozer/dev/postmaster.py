"""One running PostgreSQL server: a child of ours, or one that an earlier process left behind."""

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from snoozer.dev import ports
from snoozer.dev.binaries import Binaries
from snoozer.dev.os_process import is_called, is_running, send, wait_until_gone
from snoozer.dev.os_user import Account

CONNECTIONS = 100
_NAMES = ("postgres", "postmaster")
# Nothing of the caller's environment may change how the server runs; LC_ALL keeps macOS from starting threads in it.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


@dataclass
class Postmaster:
    """The server's main process. `port` is 0 when it has not said yet where it listens."""

    pid: int
    port: int
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def launch(
        cls, binaries: Binaries, *, data: Path, port: int, log: Path, account: Account, connections: int = CONNECTIONS
    ) -> Self:
        """Start a server on a data folder. It speaks to the log file alone, which stays its own through a restart."""
        settings = [argument for setting in _settings(port, connections) for argument in ("-c", setting)]
        with log.open("ab") as out:
            log.chmod(0o600)
            process = subprocess.Popen(
                [binaries.program("postgres"), "-D", str(data), *settings],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd="/",
                env=ENVIRONMENT,
                # A Ctrl-C at the terminal goes to the whole foreground group; the server is to stop last.
                start_new_session=True,
                **account.identity,
            )
        return cls(pid=process.pid, port=port, process=process)

    @classmethod
    def of(cls, data: Path) -> Self | None:
        """The server that says in postmaster.pid that it runs on this data, and does."""
        try:
            lines = (data / "postmaster.pid").read_text().splitlines()
            pid = int(lines[0])
        except (OSError, ValueError, IndexError):
            return None
        if not _serves(pid, data):
            return None
        port = int(lines[3]) if len(lines) > 5 and lines[3].isdigit() else 0
        return cls(pid=pid, port=port)

    @staticmethod
    def forget_stale(data: Path) -> None:
        """Remove a postmaster.pid whose process is something else by now: PostgreSQL itself would refuse to start."""
        if (data / "postmaster.pid").exists() and Postmaster.of(data) is None:
            (data / "postmaster.pid").unlink(missing_ok=True)

    def is_running(self) -> bool:
        return self.process.poll() is None if self.process else is_running(self.pid)

    def send(self, what: signal.Signals) -> None:
        if self.is_running():
            send(self.pid, what)

    def wait(self, seconds: float) -> bool:
        """Wait until it is gone; False when it is still there after so many seconds."""
        if self.process is None:
            return not wait_until_gone([self.pid], seconds=seconds)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def _settings(port: int, connections: int) -> tuple[str, ...]:
    return (
        f"listen_addresses={ports.HOST}",
        f"port={port}",
        "unix_socket_directories=",
        "cluster_name=snoozer",
        f"max_connections={connections}",
        "shared_buffers=128MB",
        "max_wal_size=512MB",
        "jit=off",
        "timezone=UTC",
        "log_timezone=UTC",
        "logging_collector=off",
        "log_checkpoints=off",
        # A failed statement and the details of a violated constraint carry addresses and subjects.
        "log_min_error_statement=panic",
        "log_error_verbosity=terse",
    )


def _serves(pid: int, data: Path) -> bool:
    """Whether this process is the server of this data: its working folder tells, where the system shows it."""
    if not is_running(pid):
        return False
    if not Path("/proc/self/cwd").exists():
        return is_called(pid, _NAMES)
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data.resolve()
    except OSError:
        return False
