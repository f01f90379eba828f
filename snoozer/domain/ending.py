"""Being told to stop: SIGTERM and SIGINT, heard in a thread of their own."""

import signal
from collections.abc import Callable
from threading import Thread

ENDINGS = frozenset({signal.SIGTERM, signal.SIGINT})


def when_told_to_stop(act: Callable[[], None]) -> None:
    """Call `act` at each SIGTERM or SIGINT. To be called by the main thread, before others are started.

    A handler would run inside whatever the main thread is at, and setting an event there waits for ever
    when that is the event's own lock.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)

    def listen() -> None:
        while True:
            signal.sigwait(ENDINGS)
            act()

    Thread(target=listen, name="ending", daemon=True).start()
