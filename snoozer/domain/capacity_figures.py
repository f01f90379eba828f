"""Figures that `snoozer plan` starts from.

Measured on a virtual machine with 2 cores and PostgreSQL 15 (`fsync` and `synchronous_commit` on), three rounds each of
`snoozer bench drain --rows 5000 --processes 1 --concurrency 32 --work 0 0` in batches of 10, 50 and 100, fitted. The
bytes are of `snoozer bench growth --future 10000 --future 10000000 --sent 1000000`. `snoozer plan --figures` takes your
own.
"""

from snoozer.domain.capacity import Figures

MEASURED = Figures(
    batch_seconds=0.0118,
    reminder_seconds=0.00060,
    worker_cpu_seconds=0.00089,
    server_batch_seconds=0.0033,
    server_reminder_seconds=0.00022,
    wal_bytes=3_900,
    other_wal_bytes=3_500,
    asleep_bytes=640,
    over_bytes=1_270,
    archived_bytes=975,
)
