"""Procrastinate, with its own workers.

A worker fetches one job at a time, so several of them share a process; that is faster than one with a higher
concurrency. The pool is ours, as its documentation allows, without a check of each connection and without BEGIN. What
is due later is found by polling, so they poll often.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

from procrastinate import App, PsycopgConnector
from psycopg_pool import AsyncConnectionPool

from bench.peers.job import JobRunner, Task, main, payload, terminated

NAME = "deliver"
JOBS_PER_INSERT = 1_000
# Jobs with a time of their own cannot be inserted together.
INSERTS_AT_ONCE = 8
WORKERS = 8
CONCURRENCY = 4
CONNECTIONS = 18
WORKER = {
    "concurrency": CONCURRENCY,
    "listen_notify": False,
    "fetch_job_polling_interval": 0.05,
    "install_signal_handlers": False,
}

# It warns of applications in the main module, whose tasks get other names when imported; ours have explicit ones.
logging.getLogger("procrastinate").setLevel(logging.ERROR)


async def prepare(task: Task) -> None:
    app = App(connector=PsycopgConnector(conninfo=task.url))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def enqueue(task: Task) -> None:
    async def not_run_here(job: dict[str, Any]) -> None:
        """Only `work` runs jobs."""

    app = App(connector=PsycopgConnector(conninfo=task.url, min_size=INSERTS_AT_ONCE, max_size=INSERTS_AT_ONCE))
    deliver = app.task(not_run_here, name=NAME)
    numbers, due = list(task.schedule.numbers), task.schedule.due_times()
    async with app.open_async():
        if due is None:
            for first in range(0, len(numbers), JOBS_PER_INSERT):
                jobs = [{"job": payload(number)} for number in numbers[first : first + JOBS_PER_INSERT]]
                await deliver.batch_defer_async(*jobs)
            return
        for first in range(0, len(numbers), INSERTS_AT_ONCE):
            some = zip(numbers[first : first + INSERTS_AT_ONCE], due[first : first + INSERTS_AT_ONCE], strict=True)
            timed = [(number, deliver.configure(schedule_at=datetime.fromtimestamp(at, UTC))) for number, at in some]
            await asyncio.gather(*(one.defer_async(job=payload(number)) for number, one in timed))


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
        workers = [asyncio.create_task(app.run_worker_async(**WORKER)) for _ in range(WORKERS)]
        await terminated()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


if __name__ == "__main__":
    main(prepare=prepare, enqueue=enqueue, work=work)
