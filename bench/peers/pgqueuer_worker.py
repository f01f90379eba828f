"""PgQueuer, with its own QueueManager.

`max_concurrent_tasks` stays unset: a manager that has reached it polls again only a tenth of a second later, which
costs more than half of the rate. JobRunner limits the concurrency instead.
"""

import json
import time
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries

from bench.peers import ledger
from bench.peers.job import JobRunner, Task, main, on_terminate, payload
from bench.peers.ledger import Ledger

ENTRYPOINT = "deliver"
LEDGERS = ("ledger", "batched")
# It takes a time as a delay from the statement on, so few go into one where each is due at another time.
JOBS_PER_INSERT, TIMED_JOBS_PER_INSERT = 5_000, 100
CONNECTIONS = 5


async def prepare(task: Task) -> None:
    """In its own tables, logged as by default: Snoozer's rows survive a crash too."""
    async with asyncpg.create_pool(task.url, min_size=1, max_size=2) as pool:
        await Queries(AsyncpgPoolDriver(pool)).install()
        await pool.execute(ledger.CREATE)


async def enqueue(task: Task) -> None:
    numbers, due = list(task.schedule.numbers), task.schedule.due_times()
    step = TIMED_JOBS_PER_INSERT if due else JOBS_PER_INSERT
    async with asyncpg.create_pool(task.url, min_size=1, max_size=2) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        for first in range(0, len(numbers), step):
            jobs = [json.dumps(payload(number)).encode("ascii") for number in numbers[first : first + step]]
            delays = [timedelta(seconds=at - time.time()) for at in due[first : first + step]] if due else None
            await queries.enqueue([ENTRYPOINT] * len(jobs), jobs, [0] * len(jobs), delays)


async def work(task: Task) -> None:
    async with asyncpg.create_pool(task.url, min_size=2, max_size=CONNECTIONS) as pool:
        keeps = Ledger(pool, batched=task.does == "batched") if task.does in LEDGERS else None
        runner = JobRunner(task, ledger=keeps)

        async def deliver(job: Any) -> None:
            await runner.run(json.loads(job.payload))

        queue = PgQueuer(AsyncpgPoolDriver(pool))
        queue.entrypoint(ENTRYPOINT)(deliver)
        on_terminate(queue.shutdown.set)
        await queue.run(batch_size=task.batch)


if __name__ == "__main__":
    main(prepare=prepare, enqueue=enqueue, work=work)
