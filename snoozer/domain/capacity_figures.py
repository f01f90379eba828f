"""Figures that `snoozer plan` starts from.

Measured on a virtual machine with 2 cores and PostgreSQL 15 (`fsync` and `synchronous_commit` on) while other work ran
beside it: `snoozer bench drain --processes 1 --concurrency 16 --work 0 0` in batches of 10, 50 and 100, fitted, and
`snoozer bench growth --future 10000 --future 10000000 --sent 1000000`. They are cautious for a machine that has nothing
else to do; `snoozer plan --figures` takes your own.
"""

from snoozer.domain.capacity import Figures

MEASURED = Figures(
    batch_seconds=0.0098,
    reminder_seconds=0.00262,
    worker_cpu_seconds=0.0027,
    server_batch_seconds=0.0065,
    server_reminder_seconds=0.0006,
    wal_bytes=3_800,
    other_wal_bytes=3_500,
    asleep_bytes=640,
    over_bytes=1_270,
    archived_bytes=975,
)
