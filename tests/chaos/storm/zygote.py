"""A parent that has read the product's code once and forks its commands, so that a kill costs milliseconds.

Starting `python -m snoozer worker` takes 0.7 s, of which 0.6 s are imports; a thousand kills would spend their time
there. This process imports the modules of the commands and nothing more: no thread, no connection, no setting exists
in it. Its child then does what `python -m snoozer ARGS` does from its first line on: it gets its own environment, its
own sys.argv, the default signal handlers, calls `snoozer.cli.main()`, which reads the settings, and ends through the
interpreter's own end. It is a real process of its own with a real id, so a SIGKILL is a SIGKILL.

Orders come as lines of JSON, `{"order": n, "start": ["worker"], "env": {…}, "log": PATH}`; each fork is answered by
`{"order": n, "started": pid}`, and what becomes of the child by `{"order": n, "ended": code, "at": …}` (negative: the
signal) or `{"order": n, "stopped": true}`. The end of the orders kills the children and ends the zygote.
"""

import gc
import json
import os
import signal
import sys
import time
from select import select
from typing import Any

from tests.fork_server import become


class Zygote:
    def __init__(self, orders: int, answers: int) -> None:
        self._orders, self._answers = orders, answers
        self._waking, self._awake = os.pipe()
        for end in (self._waking, self._awake):
            os.set_blocking(end, False)
        self._children: dict[int, int] = {}
        self._left = b""

    def run(self) -> None:
        """Obey until the orders end. A child leaves it by the SystemExit of the command that it has become."""
        signal.set_wakeup_fd(self._awake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready, _, _ = select([self._orders, self._waking], [], [])
            if self._waking in ready:
                os.read(self._waking, 4096)
                self._look_after_children()
            if self._orders in ready and not self._obey():
                return

    def _obey(self) -> bool:
        heard = os.read(self._orders, 65_536)
        if not heard:
            self._kill_all()
            return False
        *lines, self._left = (self._left + heard).split(b"\n")
        for line in lines:
            order = json.loads(line)
            pid = os.fork()
            if pid == 0:
                self._become(order)
            self._children[pid] = order["order"]
            self._say({"order": order["order"], "started": pid})
        return True

    def _become(self, order: dict[str, Any]) -> None:
        """The child: forget the zygote, look like a fresh interpreter, be the command. Does not return."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (self._waking, self._awake):
            os.close(end)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        for end in (log, nothing, self._orders, self._answers):
            os.close(end)
        if "LD_PRELOAD" in order["env"]:
            # What is loaded before all else asks for a fresh interpreter.
            os.execve(sys.executable, [sys.executable, "-m", "snoozer", *order["start"]], order["env"])  # noqa: S606
        become(order["start"], environment=order["env"])

    def _look_after_children(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self._say({"order": self._children[pid], "stopped": True})
                continue
            order = self._children.pop(pid)
            self._say({"order": order, "ended": os.waitstatus_to_exitcode(status), "at": time.time()})

    def _kill_all(self) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        for pid in self._children:
            os.waitpid(pid, 0)

    def _say(self, answer: dict[str, Any]) -> None:
        os.write(self._answers, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    answers = os.dup(1)
    os.dup2(2, 1)
    gc.disable()
    gc.freeze()
    Zygote(os.dup(0), answers).run()
