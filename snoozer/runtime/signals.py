"""Being told to stop: SIGTERM, SIGINT, SIGQUIT, a terminal that is closed; heard in a thread of their own. And how
another process ended."""

import os
import signal
import time
from collections.abc import Callable
from threading import Thread

POLL_INTERVAL = 1.0


def on_stop_signal(act: Callable[[], None]) -> None:
    """Call `act` at each signal to stop. To be called by the main thread, before others are started.

    A handler would run inside whatever the main thread is at, and setting an event there waits for ever
    when that is the event's own lock.
    """
    endings = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # As nohup leaves it: the terminal may go.
        endings.add(signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, endings)

    def listen() -> None:
        while True:
            signal.sigwait(endings)
            act()

    Thread(target=listen, name="ending", daemon=True).start()


def on_parent_exit(act: Callable[[], None], *, parent: int) -> None:
    """Call `act` once the process that started this one is gone: nobody would hand a signal on any longer."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_INTERVAL)
        act()

    Thread(target=look, name="parent", daemon=True).start()


def describe_exit(code: int) -> str:
    """What an exit code means, in words."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}" if code else "ended"
