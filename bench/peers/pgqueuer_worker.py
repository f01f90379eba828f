"""PgQueuer: drains the queue with its own QueueManager and ends when nothing is queued.

`max_concurrent_tasks` stays unset: a manager that has reached it polls again only a tenth of a second later, which
costs more than half of the rate. JobRunner limits the concurrency instead.
"""

import json
from typing import Any

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from bench.peers.job import JobRunner, Task, main, payload

ENTRYPOINT = "deliver"
JOBS_PER_INSERT = 5_000
CONNECTIONS = 5


async def prepare(task: Task) -> None:
    """In its own tables, logged as by default: Snoozer's rows survive a crash too."""
    async with asyncpg.create_pool(task.url, min_size=1, max_size=2) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        await queries.install()
        for first in range(0, task.rows, JOBS_PER_INSERT):
            numbers = range(first, min(first + JOBS_PER_INSERT, task.rows))
            jobs = [json.dumps(payload(number)).encode("ascii") for number in numbers]
            await queries.enqueue([ENTRYPOINT] * len(jobs), jobs, [0] * len(jobs))


async def work(task: Task) -> None:
    runner = JobRunner(task)

    async def deliver(job: Any) -> None:
        await runner.run(json.loads(job.payload))

    async with asyncpg.create_pool(task.url, min_size=2, max_size=CONNECTIONS) as pool:
        queue = PgQueuer(AsyncpgPoolDriver(pool))
        queue.entrypoint(ENTRYPOINT)(deliver)
        await queue.run(batch_size=task.batch, mode=QueueExecutionMode.drain)
    runner.report()


if __name__ == "__main__":
    main(prepare=prepare, work=work)
