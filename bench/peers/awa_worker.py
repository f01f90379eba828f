"""Awa, whose queue is written in Rust and calls handlers in Python on the event loop.

A single process promotes jobs that have become due; how often it checks is a setting.
"""

import asyncio
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import awa

from bench.peers.job import JobRunner, Task, main, payload, terminated

QUEUE = "deliver"
# Jobs with a time of their own cannot be inserted together.
INSERTS_AT_ONCE = 8
INTERVAL_MS = 100


@dataclass
class Reminder:
    """The arguments of a job, by which Awa finds its handler."""

    number: int
    user_email: str
    message_id: str
    subject: str
    sender_email: str


async def prepare(task: Task) -> None:
    async with awa.AsyncClient(task.url) as client:
        await client.migrate()
        # Else it becomes the engine when the first worker starts, and the jobs are there before that.
        await client.install_queue_storage()


async def enqueue(task: Task) -> None:
    numbers, due = list(task.schedule.numbers), task.schedule.due_times()
    jobs = [Reminder(**payload(number)) for number in numbers]
    async with awa.AsyncClient(task.url) as client:
        if due is None:
            await client.enqueue_many_copy(jobs, queue=QUEUE)
            return
        timed = [(job, datetime.fromtimestamp(at, UTC)) for job, at in zip(jobs, due, strict=True)]
        for first in range(0, len(timed), INSERTS_AT_ONCE):
            some = timed[first : first + INSERTS_AT_ONCE]
            await asyncio.gather(*(client.insert(job, queue=QUEUE, run_at=at) for job, at in some))


async def work(task: Task) -> None:
    client, runner = awa.AsyncClient(task.url), JobRunner(task)

    async def deliver(job: awa.Job) -> None:
        await runner.run(asdict(job.args))

    client.task(Reminder, queue=QUEUE)(deliver)
    queue = {"name": QUEUE, "max_workers": task.batch, "claim_batch_size": task.batch}
    await client.start([queue], poll_interval_ms=INTERVAL_MS, promote_interval_ms=INTERVAL_MS)
    await terminated()
    await client.shutdown()
    await client.close()


if __name__ == "__main__":
    main(prepare=prepare, enqueue=enqueue, work=work)
