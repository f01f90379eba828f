"""The task of a peer's process, and what one job does: it sends a mail. The same for every peer."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from bench.peers.journal import Journal
from bench.peers.smtp_client import SmtpClient, as_data
from bench.schedule import Schedule, recipient

TOKEN = UUID(int=1)


@dataclass(frozen=True, kw_only=True)
class Task:
    """The work of one process, as one line of JSON."""

    # The URL of the queue's database, or of its broker
    url: str
    schedule: Schedule
    # "send" (a canned mail, with the bench's client), "compose" (compose Snoozer's mail), "library" (compose it, and
    # send it with the client that people would use), or "ledger" and "batched" (compose it, keep Snoozer's protocol)
    does: str
    smtp_port: int
    # Jobs at once in a process, and rows fetched at once
    parallel: int
    batch: int
    # The file with the canned mail, and the folder of the journals
    message: str
    journal: str


def read_arguments() -> tuple[str, Task]:
    """The verb and the task that the process was started with."""
    verb, line = sys.argv[1:]
    given = json.loads(line)
    return verb, Task(**given | {"schedule": Schedule(**given["schedule"])})


def payload(number: int) -> dict[str, Any]:
    """The arguments of one job: the columns that a row of Snoozer's has."""
    return {
        "number": number,
        "user_email": recipient(number),
        "message_id": f"<{number}.quarterly.figures@mail.example>",
        "subject": f"Quarterly figures, part {number}",
        "sender_email": "bob@mail.example",
    }


class Ledger(Protocol):
    """A row for each mail: entered before its dot, completed after the reply."""

    async def authorise(self, number: int, digest: str) -> None: ...
    async def record(self, number: int) -> None: ...


class JobRunner:
    """Runs jobs on an event loop, at most `parallel` side by side in this process."""

    def __init__(self, task: Task, *, ledger: Ledger | None = None) -> None:
        self._smtp = SmtpClient(task.smtp_port)
        self._slots = asyncio.Semaphore(task.parallel)
        self._canned = as_data(Path(task.message).read_bytes())
        works = {"send": self._send, "compose": self._compose, "library": self._send_by_library}
        self._do = works[task.does] if ledger is None else partial(self._send_with_ledger, ledger)
        if task.does == "library":
            # Here, because only bench/.venv has it.
            from bench.peers.aiosmtplib_client import AiosmtplibClient

            self._library = AiosmtplibClient(task.smtp_port)
        self._journal = Journal(task.journal)

    async def run(self, job: dict[str, Any]) -> None:
        """Send the mail of one job, and write that down. Raises what the client raises."""
        async with self._slots:
            began = time.time()
            await self._do(job)
        self._journal.add(job["number"], began=began)

    async def _send(self, job: dict[str, Any]) -> None:
        await self._smtp.send(job["user_email"].encode("ascii"), self._canned)

    async def _compose(self, job: dict[str, Any]) -> None:
        await self._smtp.send(job["user_email"].encode("ascii"), as_data(composed(job)))

    async def _send_by_library(self, job: dict[str, Any]) -> None:
        await self._library.send(job["user_email"], composed(job))

    async def _send_with_ledger(self, ledger: Ledger, job: dict[str, Any]) -> None:
        data, number = as_data(composed(job)), job["number"]
        authorise = ledger.authorise(number, sha256(data).hexdigest())
        await self._smtp.send_if(job["user_email"].encode("ascii"), data, authorise)
        await ledger.record(number)


def composed(job: dict[str, Any]) -> bytes:
    """The mail that Snoozer would send for this job."""
    # Here, so that workers that compose nothing need not import it.
    from bench import mails
    from snoozer.queue.reminder import Send

    now = datetime.now(UTC)
    send = Send(
        snooze_id=job["number"],
        claim_token=TOKEN,
        user_email=job["user_email"],
        message_id=job["message_id"],
        scheduled_for=now,
        dated=now,
        reminder_message_id=f"<{job['number']:040x}@snoozer.example>",
        subject=job["subject"],
        sender_email=job["sender_email"],
        note=None,
        zone="Europe/Berlin",
        bytes_sha256=None,
    )
    return mails.composed(send)


def on_terminate(act: Callable[[], None]) -> None:
    """Call `act` at SIGTERM, on the running event loop."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, act)


async def terminated() -> None:
    """Wait for SIGTERM."""
    event = asyncio.Event()
    on_terminate(event.set)
    await event.wait()


def main(**verbs: Callable[[Task], Awaitable[None]]) -> None:
    """Do what the arguments say: `prepare` the queue's tables, `enqueue` the jobs, or `work` until SIGTERM.

    On uvloop, which halves the CPU of SMTP.
    """
    import uvloop

    verb, task = read_arguments()
    uvloop.run(verbs[verb](task))
