"""A process that has read the product's code once and forks its commands: to start one takes milliseconds.

Most of what `python -m snoozer worker` takes until it works is imports. This process imports the modules of the
commands and nothing more: no thread, no connection, no setting exists in it. The child then does what
`python -m snoozer ARGS` does from its first line on: it has its own environment, arguments, folder and standard files,
reads the settings, and ends through the interpreter's own end. It is a process with an id of its own, and a child of
the tests' process, so a SIGKILL is a SIGKILL and waiting for it is waiting for it.

Run by `tests.forked`, with a socket as standard input; each order is one message, with the three standard files.
"""

import gc
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from random import seed
from typing import Any, NoReturn

import snoozer.cli
import snoozer.cli.clock
import snoozer.cli.mailbox
import snoozer.cli.worker

__all__ = ["snoozer"]

LONGEST_ORDER = 128 * 1024


def become(command: list[str], *, environment: dict[str, str]) -> NoReturn:
    """A fork becomes `snoozer COMMAND`."""
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    seed()
    gc.enable()
    sys.modules["__main__"].__package__ = "snoozer"
    sys.argv = [str(Path(snoozer.__file__).with_name("__main__.py")), *command]
    snoozer.cli.main()
    sys.exit(0)


def serve(orders: socket.socket) -> None:
    """Until the tests' process ends. A child leaves it by the SystemExit of the command that it has become."""
    while True:
        message, files, _, _ = socket.recv_fds(orders, LONGEST_ORDER, 3)
        if not message:
            return
        order: dict[str, Any] = json.loads(message)
        held, gate = os.pipe()
        between = os.fork()
        if between == 0:
            os.close(gate)
            child = os.fork()
            if child == 0:
                _begin(order, files, held, orders)
            orders.send(str(child).encode())
            os.kill(os.getpid(), signal.SIGKILL)
        # Now the child's parent is the tests' process; until then it waits at the gate.
        os.waitpid(between, 0)
        orders.send(b"begun")
        for each in (held, gate, *files):
            os.close(each)


def _begin(order: dict[str, Any], files: list[int], held: int, orders: socket.socket) -> NoReturn:
    orders.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.read(held, 1)
    for number, file in enumerate(files):
        os.dup2(file, number)
    for each in (held, *files):
        os.close(each)
    os.chdir(order["folder"])
    become(order["command"], environment=order["environment"])


if __name__ == "__main__":
    # Those who stop the tests stop this by the end of its orders.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=os.dup(0))
    gc.disable()
    gc.freeze()
    serve(orders)
