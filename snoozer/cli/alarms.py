"""The alarms of the clock: operators hear of what the doctor finds wrong, on the services that they chose."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Engine

from snoozer.cli.database_findings import first_trouble
from snoozer.cli.worker import push_sender
from snoozer.db import push
from snoozer.delivery.claiming import no_failpoint
from snoozer.notify.send_loop import drain
from snoozer.runtime.loop import Loop
from snoozer.settings import Settings

log = logging.getLogger(__name__)

EVERY = 60.0
# A change counts if it lasts this long: at a start the worker may come a moment after the clock.
CONFIRM_AFTER = 10.0


@dataclass(kw_only=True)
class AlarmWatch:
    """`look` returns the first trouble in a sentence, empty if all is well; `send` sends the pushes that are due."""

    engine: Engine
    look: Callable[[], str]
    send: Callable[[], object]
    _was_wrong: bool | None = field(default=None, init=False)

    def turn(self) -> float:
        """Look, and enter an alarm that begins or ends; returns the seconds until the next turn. Alarms are in the
        database, so that several clocks enter each once."""
        wrong = self.look()
        is_new, self._was_wrong = bool(wrong) != self._was_wrong, bool(wrong)
        if is_new:
            return CONFIRM_AFTER
        with self.engine.begin() as connection:
            entered = push.begin_alarm(connection, sentence=wrong) if wrong else push.end_alarm(connection)
        if entered:
            # Workers send pushes, too, but there may be none: that would be an alarm.
            self.send()
        return EVERY


def alarm_loop(engine: Engine, config: Settings) -> Loop:
    """The thread that does it. It is not to be joined: a request may take as long as its limit."""

    def look() -> str:
        with engine.begin() as connection:
            return first_trouble(connection, config)

    def send() -> None:
        if config.keys:
            drain(push_sender(config, engine=engine, failpoint=no_failpoint, stopping=loop.stopping))

    def report(error: Exception) -> None:
        log.warning("alarms were not looked for: %s", type(error).__name__)

    loop = Loop(AlarmWatch(engine=engine, look=look, send=send).turn, name="alarms", report=report)
    return loop
