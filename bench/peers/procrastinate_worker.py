"""Procrastinate: drains the queue with its own workers and ends when nothing is queued.

A worker fetches one job at a time, so several of them share a process; that is faster than one with a higher
concurrency. The pool is ours, as its documentation allows, without a check of each connection and without BEGIN.
"""

import asyncio
import logging
from typing import Any

from procrastinate import App, PsycopgConnector
from psycopg_pool import AsyncConnectionPool

from bench.peers.job import JobRunner, Task, main, payload

NAME = "deliver"
JOBS_PER_INSERT = 1_000
WORKERS = 8
CONCURRENCY = 4
CONNECTIONS = 18

# It warns of applications in the main module, whose tasks get other names when imported; ours have explicit ones.
logging.getLogger("procrastinate").setLevel(logging.ERROR)


async def prepare(task: Task) -> None:
    async def not_run_here(job: dict[str, Any]) -> None:
        """Only `work` runs jobs."""

    app = App(connector=PsycopgConnector(conninfo=task.url))
    deliver = app.task(not_run_here, name=NAME)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for first in range(0, task.rows, JOBS_PER_INSERT):
            numbers = range(first, min(first + JOBS_PER_INSERT, task.rows))
            await deliver.batch_defer_async(*({"job": payload(number)} for number in numbers))


async def work(task: Task) -> None:
    runner = JobRunner(task)

    async def deliver(job: dict[str, Any]) -> None:
        await runner.run(job)

    async def without_begin(connection: Any) -> None:
        await connection.set_autocommit(True)

    app = App(connector=PsycopgConnector(conninfo=task.url))
    app.task(deliver, name=NAME)
    async with (
        AsyncConnectionPool(task.url, min_size=CONNECTIONS, max_size=CONNECTIONS, configure=without_begin) as pool,
        app.open_async(pool),
    ):
        worker = {"concurrency": CONCURRENCY, "wait": False, "listen_notify": False, "install_signal_handlers": False}
        await asyncio.gather(*(app.run_worker_async(**worker) for _ in range(WORKERS)))
    runner.report()


if __name__ == "__main__":
    main(prepare=prepare, work=work)
