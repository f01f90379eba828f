"""Signals to stop (SIGTERM, SIGINT, SIGQUIT, SIGHUP), received in a thread of their own, and how a process ended."""

import os
import signal
import time
from collections.abc import Callable
from threading import Thread

POLL_INTERVAL = 1.0


def on_stop_signal(act: Callable[[], None]) -> None:
    """Call `act` at each signal to stop. Call this from the main thread, before other threads are started.

    A signal handler would run inside whatever the main thread executes, and would deadlock on a lock held there.
    """
    stop_signals = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it.
        stop_signals.add(signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals)

    def listen() -> None:
        while True:
            signal.sigwait(stop_signals)
            act()

    Thread(target=listen, name="signals", daemon=True).start()


def on_parent_exit(act: Callable[[], None], *, parent: int) -> None:
    """Call `act` once the process that started this one has ended and so can no longer pass on a signal."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_INTERVAL)
        act()

    Thread(target=watch, name="parent", daemon=True).start()


def describe_exit(code: int) -> str:
    """The meaning of an exit code, for a log line."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}" if code else "ended"
