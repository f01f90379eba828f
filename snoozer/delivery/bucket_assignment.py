"""Assign buckets to workers by rendezvous hashing, so that a worker that joins moves only about 1/N of them."""

import hashlib
from collections.abc import Sequence

BUCKETS = 1024


def assigned_buckets(worker: str, *, workers: Sequence[str]) -> list[int]:
    """The buckets (0 … 1023) of `worker` among `workers`; every bucket belongs to exactly one."""
    scores = {name: _scores(name) for name in {worker, *workers}}
    return [bucket for bucket in range(BUCKETS) if worker == max(scores, key=lambda name: (scores[name][bucket], name))]


def _scores(worker: str) -> list[int]:
    """One pseudo-random number per bucket, the same in every process."""
    size = BUCKETS * 8
    stream = hashlib.shake_128(worker.encode()).digest(size)
    return [int.from_bytes(stream[at : at + 8], "big") for at in range(0, size, 8)]
