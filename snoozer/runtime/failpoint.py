"""Steps of a delivery, and of moves in a mailbox, at which tests crash a process on purpose, to examine the state that
it leaves behind."""

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock, get_ident

STEPS = ("claimed", "reserved", "body", "marked", "dot", "replied", "recorded", "finalized")
# The step of a mail that was prepared ahead: its dot is authorised, and its time has not come yet.
AHEAD_STEPS = ("held",)
# Steps of a move in a mailbox.
MOVE_STEPS = ("noticed", "intended", "imap_marked", "imap_copied", "imap_flagged", "imap_moved", "arrived")

# Steps of a push to a device; its number takes the place of the Message-ID.
PUSH_STEPS = ("push_claimed", "push_connected", "push_marked", "push_answered", "push_recorded")

# Steps of a webhook; the number of its endpoint takes the place of the Message-ID.
WEBHOOK_STEPS = ("webhook_claimed", "webhook_connected", "webhook_answered", "webhook_recorded")

# Steps of a chunk of an operation; the operation's number takes the place of the Message-ID.
OPERATION_STEPS = ("operation_changed", "operation_recorded", "operation_committed")

ALL_STEPS = (*STEPS, *AHEAD_STEPS, *MOVE_STEPS, *PUSH_STEPS, *WEBHOOK_STEPS, *OPERATION_STEPS)

# Called with the name of the step that is passed, and the Message-ID.
FailpointHook = Callable[[str, str], None]

_SPELLING = re.compile(r"(?P<step>[a-z_]+):(?P<act>kill|stop|raise)(?::(?P<nth>[1-9]\d*))?(?:@(?P<message_id>.+))?")


class FailpointReached(RuntimeError):
    """Raised by a failpoint of the kind `raise`."""


class InvalidFailpoint(ValueError):
    """SNOOZER_FAILPOINT is written NAME:kill|stop|raise[:N][@MESSAGE_ID]."""


@dataclass
class Failpoint:
    """Fires once, at the N-th passage of `step`; if a message is named, only for that message."""

    step: str
    act: str
    nth: int = 1
    message_id: str | None = None
    _left: int = field(init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self._left = self.nth

    def __call__(self, step: str, message_id: str) -> None:
        """Called when the message `message_id` passes `step`."""
        if step != self.step or (self.message_id is not None and message_id != self.message_id):
            return
        with self._lock:
            self._left -= 1
            fires = self._left == 0
        if fires:
            self._fire()

    def _fire(self) -> None:
        if self.act == "raise":
            raise FailpointReached(f"failpoint {self.step}")
        if self.act == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        # A signal sent to the process could be taken by another thread while this one runs past the step.
        signal.pthread_kill(get_ident(), signal.SIGSTOP)


def parse(spelling: str) -> Failpoint:
    """Read `NAME:kill|stop|raise[:N][@MESSAGE_ID]`. Raises InvalidFailpoint."""
    found = _SPELLING.fullmatch(spelling)
    if not found or found["step"] not in ALL_STEPS:
        steps = ", ".join(ALL_STEPS)
        raise InvalidFailpoint(f"SNOOZER_FAILPOINT is NAME:kill|stop|raise[:N][@MESSAGE_ID], with NAME one of {steps}")
    return Failpoint(step=found["step"], act=found["act"], nth=int(found["nth"] or 1), message_id=found["message_id"])
