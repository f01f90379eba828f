"""Celery on Redis: tasks that block, one at a time in each process, which has one connection to the mail server.

Its settings follow the advice of its optimising guide for many short tasks: no results, no events, no gossip, more
tasks fetched ahead. A task that is due later is held by the worker that fetched it.
"""

import smtplib
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import worker_init, worker_process_init

from bench.peers.job import Task, composed, payload, read_arguments
from bench.peers.journal import Journal
from bench.peers.smtp_client import SENDER, BlockingSmtpClient, as_data

NAME = "deliver"
TIMER_SECONDS = 0.01


class BlockingJobRunner:
    """Runs jobs one after the other."""

    def __init__(self, task: Task) -> None:
        self._canned = as_data(Path(task.message).read_bytes())
        self._does = task.does
        if task.does == "library":
            self._library = smtplib.SMTP("127.0.0.1", task.smtp_port, local_hostname="peer.snoozer.example")
        else:
            self._client = BlockingSmtpClient(task.smtp_port)
        self._journal = Journal(task.journal)

    def run(self, job: dict[str, Any]) -> None:
        """Send the mail of one job, and write that down. Raises what the client raises."""
        began = time.time()
        if self._does == "library":
            self._library.sendmail(SENDER.decode("ascii"), [job["user_email"]], composed(job))
        else:
            data = self._canned if self._does == "send" else as_data(composed(job))
            self._client.send(job["user_email"].encode("ascii"), data)
        self._journal.add(job["number"], began=began)


def application(task: Task) -> Celery:
    # Which user runs it is for the caller to decide.
    warnings.simplefilter("ignore", SecurityWarning)
    app = Celery("peer", broker=task.url)
    app.conf.update(
        task_ignore_result=True,
        worker_send_task_events=False,
        worker_prefetch_multiplier=task.batch,
        worker_timer_precision=TIMER_SECONDS,
        broker_connection_retry_on_startup=False,
    )
    return app


def enqueue(task: Task) -> None:
    app, due = application(task), task.schedule.due_times()
    with app.producer_or_acquire() as producer:
        for place, number in enumerate(task.schedule.numbers):
            eta = datetime.fromtimestamp(due[place], UTC) if due else None
            app.send_task(NAME, args=[payload(number)], eta=eta, producer=producer)


def work(task: Task) -> None:
    app, runners = application(task), list[BlockingJobRunner]()

    def deliver(job: dict[str, Any]) -> None:
        runners[0].run(job)

    def open_connection(**_: Any) -> None:
        runners.append(BlockingJobRunner(task))

    app.task(deliver, name=NAME)
    alone = task.parallel == 1
    (worker_init if alone else worker_process_init).connect(open_connection, weak=False)
    pool = ["--pool=solo"] if alone else ["--pool=prefork", f"--concurrency={task.parallel}"]
    quiet = ["--loglevel=ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    app.worker_main(["worker", *pool, *quiet])


def main() -> None:
    """Do what the arguments say; there is nothing to prepare, as each run has a broker of its own."""
    verb, task = read_arguments()
    {"prepare": lambda _: None, "enqueue": enqueue, "work": work}[verb](task)


if __name__ == "__main__":
    main()
