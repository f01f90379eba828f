"""Commands of the product that are forked from a process that has imported their code, as `subprocess.Popen`."""

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, AnyStr

from tests.conftest import HANG_SECONDS
from tests.fork_server import LONGEST_ORDER

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = [sys.executable, "-m", "snoozer"]
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
PR_SET_CHILD_SUBREAPER = 36
# What an interpreter, or a library, reads before the command's first line.
READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "OTEL_")


def start_forked(*command: str, env: dict[str, str], **options: Any) -> "subprocess.Popen[Any]":
    """`snoozer COMMAND` as a child of this process. Where only a fresh interpreter can be it, it is one."""
    fresh = sys.platform != "linux" or _needs_a_fresh_interpreter(env)
    kind = subprocess.Popen if fresh else _Forked
    return kind([*PRODUCT, *command], env=env, **options)


class _Forked(subprocess.Popen[AnyStr]):
    def _execute_child(self, *arguments: Any) -> None:
        """As `subprocess.Popen` starts its program: called once, with what its options have become."""
        program, cwd, env = arguments[0], arguments[5], arguments[6]
        read, _, _, write, _, error = arguments[10:16]
        files = [number if file == -1 else file for number, file in enumerate((read, write, error))]
        order = {"command": program[len(PRODUCT) :], "environment": env, "folder": str(cwd or Path.cwd())}
        self.pid = _server().fork(json.dumps(order).encode(), files)
        self._child_created = True
        self._close_pipe_fds(*arguments[10:16])  # type: ignore[attr-defined]


def run_forked(*command: str, env: dict[str, str], cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """`snoozer COMMAND` to its end, with what it printed."""
    process = start_forked(*command, env=env, cwd=cwd, **PIPES)
    try:
        out, err = process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _needs_a_fresh_interpreter(environment: dict[str, str]) -> bool:
    return any(os.environ.get(name) != environment[name] for name in environment if name.startswith(READ_AT_START))


class _Server:
    """The process that forks. It ends with this one, whatever ends that: the socket is closed then."""

    def __init__(self) -> None:
        self._orders, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server"], cwd=ROOT, stdin=its.fileno(), stdout=subprocess.DEVNULL
            )
        self._one_at_a_time = Lock()
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl

    def fork(self, order: bytes, files: list[int]) -> int:
        """Returns the id of a new child of this process, which takes it over from one that ends at once."""
        with self._one_at_a_time:
            self._prctl(PR_SET_CHILD_SUBREAPER, 1)
            try:
                socket.send_fds(self._orders, [order], files)
                child = int(self._orders.recv(LONGEST_ORDER))
                assert self._orders.recv(LONGEST_ORDER) == b"begun"
            finally:
                self._prctl(PR_SET_CHILD_SUBREAPER, 0)
        return child

    def close(self) -> None:
        self._orders.close()
        self._process.wait()


@cache
def _server() -> _Server:
    server = _Server()
    atexit.register(server.close)
    return server
