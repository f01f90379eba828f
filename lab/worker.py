"""A worker of the lab, `python -m lab.worker`: the worker of `snoozer worker`, whose failpoint the page sets.

Nothing else differs. It reads its settings from the environment, claims small batches, and stops when the lab is gone.
"""

import os
import signal
import sys

from lab.orders import Fuse, obey
from snoozer import settings
from snoozer.cli.worker import run_worker

BATCH_SIZE, CONCURRENCY = 10, 6


def main() -> int:
    given = settings.load().require("database_url", "secret_key", "smtp_url", "mail_from", "base_url")
    fuse = Fuse()
    # Before any thread: the signals that stop a worker are blocked in all of them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP})
    obey(fuse.order, on_end=lambda: os.kill(os.getpid(), signal.SIGTERM))
    return run_worker(given, drain=False, batch_size=BATCH_SIZE, concurrency=CONCURRENCY, parent=None, failpoint=fuse)


if __name__ == "__main__":
    sys.exit(main())
