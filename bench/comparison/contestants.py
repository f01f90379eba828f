"""The contestants of a comparison, their settings, and how each of them is started."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench import baseline, seed
from bench.comparison.stage import Stage
from bench.drain import Load
from bench.environment import ROOT
from bench.peers.queue import PeerQueue, Settings, peer_queue
from bench.peers.redis_server import RedisServer
from bench.schedule import Schedule
from bench.workers import running_workers

SNOOZER, BEFORE, BASELINE = "snoozer", "snoozer, before", "baseline"
QUEUES = ("pgqueuer", "procrastinate", "awa", "celery")
# The fastest settings measured here for each queue: concurrent jobs in a process, and rows fetched at once.
PEER_SETTINGS = {"pgqueuer": (32, 200), "procrastinate": (32, 1), "awa": (128, 128), "celery": (1, 64)}
# Two worker processes of one job each (`solo`) drain fastest, but take 28 ms for each task if many tasks were held for
# the same moment.
SCHEDULED_SETTINGS = PEER_SETTINGS | {"celery": (2, 64)}
# These drain fewer rows, so their rates can be compared, but not their waits.
SLOW_QUEUES = ("procrastinate", "celery")
# All queues run with the bench's SMTP client; these are the clients that people would use instead.
LIBRARIES = {"celery": "smtplib"}
LIBRARY = "aiosmtplib"
# A peer that also runs with the same protocol, in two ways.
KEEPS_LEDGER = ("pgqueuer",)
LEDGERS = {"ledger": ", with a ledger", "batched": ", with a batched ledger"}
# The second shape in which Snoozer and its baseline are compared.
SMALL = "32 × 50"


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A queue and the work of its jobs; `concurrency` is the concurrency of each process.

    A peer's job sends a canned mail with the bench's client ("send"), composes Snoozer's mail ("compose"), composes it
    and sends it with the usual library ("library"), or composes it and keeps Snoozer's protocol: a ledger's row before
    the dot, completed after the reply, by a statement for each mail ("ledger") or for many ("batched"). `checkout` is
    the checkout from which Snoozer runs.
    """

    name: str
    queue: str
    does: str = "compose"
    concurrency: int
    batch: int
    checkout: Path = ROOT

    @property
    def is_peer(self) -> bool:
        return self.queue in QUEUES

    def load(self, *, rows: int, processes: int) -> Load:
        """As the load of a drain."""
        return Load(rows=rows, processes=processes, concurrency=self.concurrency * processes, batch=self.batch)


@dataclass(frozen=True, kw_only=True)
class AtWork:
    """A contestant's workers with nothing to do: their process ids, how rows are inserted for them, and the broker that
    they have instead of the database."""

    pids: Sequence[int]
    enqueue: Callable[[Schedule], None]
    broker: RedisServer | None


def snoozer(*, concurrency: int, batch: int) -> Contestant:
    return Contestant(name=SNOOZER, queue=SNOOZER, concurrency=concurrency, batch=batch)


def peer(queue: str, does: str, *, settings: Mapping[str, tuple[int, int]] = PEER_SETTINGS) -> Contestant:
    """Return a peer with its best settings, named after the work of its jobs."""
    concurrency, batch = settings[queue]
    library = LIBRARIES.get(queue, LIBRARY)
    what = {"send": "", "compose": ", composing", "library": f", {library}"} | LEDGERS
    return Contestant(name=f"{queue}{what[does]}", queue=queue, does=does, concurrency=concurrency, batch=batch)


def draining(*, concurrency: int, batch: int, queues: Sequence[str], beside: Path | None) -> list[Contestant]:
    """Return the contestants of the drain: Snoozer, Snoozer of the checkout `beside`, the baseline, Snoozer and the
    baseline in the second shape, each peer in three ways, and a peer with the same protocol."""
    ours = snoozer(concurrency=concurrency, batch=batch)
    loop = replace(ours, queue=BASELINE, name=f"{BASELINE}, composing")
    return [
        ours,
        *([replace(ours, name=BEFORE, checkout=beside)] if beside else []),
        replace(loop, name=BASELINE, does="send"),
        loop,
        *(replace(one, name=f"{one.name}, {SMALL}", concurrency=32, batch=50) for one in (ours, loop)),
        *(peer(queue, does) for queue in queues for does in ("send", "compose", "library")),
        *(peer(queue, does) for queue in queues if queue in KEEPS_LEDGER for does in LEDGERS),
    ]


def scheduled(*, concurrency: int, batch: int, queues: Sequence[str]) -> list[Contestant]:
    """Return the contestants for jobs due later: Snoozer, and the peers composing, with the client of the bench."""
    peers = (peer(queue, "compose", settings=SCHEDULED_SETTINGS) for queue in queues)
    return [snoozer(concurrency=concurrency, batch=batch), *peers]


@contextmanager
def empty_queue(contestant: Contestant, stage: Stage) -> Iterator[PeerQueue]:
    """The queue of a peer for one run. Raises BenchError."""
    settings = Settings(
        queue=contestant.queue,
        does=contestant.does,
        processes=stage.processes,
        parallel=contestant.concurrency,
        batch=contestant.batch,
    )
    with peer_queue(settings, stage.environment, python=stage.python, message=stage.message) as queue:
        yield queue


@contextmanager
def at_work(contestant: Contestant, stage: Stage) -> Iterator[AtWork]:
    """Run its workers until the end of the block. Raises BenchError if a worker does not start or ends early."""
    if contestant.is_peer:
        with empty_queue(contestant, stage) as queue, queue.working() as pids:
            yield AtWork(pids=pids, enqueue=queue.enqueue, broker=queue.broker)
        return
    seed.reset(stage.environment)
    options = [f"--concurrency={contestant.concurrency}", f"--batch={contestant.batch}"]
    with (
        running_workers(stage.environment, count=stage.processes, options=options) as pids,
        baseline.connect(stage.environment.url) as database,
    ):
        yield AtWork(pids=pids, enqueue=lambda schedule: seed.copy_schedule(database, schedule), broker=None)
