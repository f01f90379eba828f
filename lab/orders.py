"""Orders to a process of the lab: one line of JSON on its standard input each; it ends when its input ends."""

import json
import os
import signal
import sys
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any

Order = dict[str, Any]

# A message whose id holds this word kills each worker that sends it.
POISON = "poison"
# Reached when the whole mail but its last line was sent; the naive loop has this step only.
BEFORE_END = "body"


def obey(on_order: Callable[[Order], None], *, on_end: Callable[[], None]) -> None:
    """Call `on_order` with each order, and `on_end` once there will be no more: the lab has gone."""

    def listen() -> None:
        for line in sys.stdin:
            on_order(json.loads(line))
        on_end()

    Thread(target=listen, name="orders", daemon=True).start()


class Fuse:
    """A failpoint that is set while the process runs: `{"die_at": "marked"}` kills it when it passes that step next."""

    def __init__(self) -> None:
        self._step: str | None = None
        self._lock = Lock()

    def order(self, order: Order) -> None:
        """Set the step, or clear it with None."""
        with self._lock:
            self._step = order.get("die_at")

    def __call__(self, step: str, message_id: str) -> None:
        """Called when a message passes a step."""
        with self._lock:
            dies = step == self._step
        if dies or (step == BEFORE_END and POISON in message_id):
            os.kill(os.getpid(), signal.SIGKILL)
