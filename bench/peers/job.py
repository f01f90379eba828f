"""The task of a peer's worker, and what one job does: sleep, or send a mail. The same for every peer."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from bench.peers.smtp_client import SmtpClient, as_data

TOKEN = UUID(int=1)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One line of JSON, the worker's only argument."""

    url: str
    rows: int
    # "sleep", "send" (a canned mail), "compose", or "library" (compose, and send by aiosmtplib)
    does: str
    smtp_port: int
    # The shortest and the longest sleep, in milliseconds
    sleeps: tuple[float, float]
    parallel: int
    batch: int
    # The file with the canned mail
    message: str


def payload(number: int) -> dict[str, Any]:
    """The arguments of one job: the columns that a row of Snoozer's has."""
    return {
        "number": number,
        "user_email": f"person-{number}@snoozer.example",
        "message_id": f"<{number}@mail.example>",
        "subject": f"Quarterly figures, part {number}",
        "sender_email": "bob@mail.example",
    }


class JobRunner:
    """Runs jobs, at most `parallel` side by side in this process; `numbers` are those that were done."""

    def __init__(self, task: Task) -> None:
        self.numbers: list[int] = []
        self._sleeps = task.sleeps
        self._smtp = SmtpClient(task.smtp_port)
        self._slots = asyncio.Semaphore(task.parallel)
        self._rng = Random()  # noqa: S311 - scatters pauses, guards nothing
        self._canned = as_data(Path(task.message).read_bytes())
        self._do = {
            "sleep": self._sleep,
            "send": self._send,
            "compose": self._compose,
            "library": self._send_by_library,
        }[task.does]
        if task.does == "library":
            # Here, because only bench/.venv has it.
            from bench.peers.aiosmtplib_client import AiosmtplibClient

            self._library = AiosmtplibClient(task.smtp_port)

    async def run(self, job: dict[str, Any]) -> None:
        async with self._slots:
            await self._do(job)
        self.numbers.append(job["number"])

    def report(self) -> None:
        """Print the numbers of the jobs that were done here, as one line of JSON."""
        self._smtp.close()
        sys.stdout.write(json.dumps(self.numbers) + "\n")

    async def _sleep(self, job: dict[str, Any]) -> None:
        await asyncio.sleep(self._rng.uniform(*self._sleeps) / 1000)

    async def _send(self, job: dict[str, Any]) -> None:
        await self._smtp.send(job["user_email"].encode("ascii"), self._canned)

    async def _compose(self, job: dict[str, Any]) -> None:
        await self._smtp.send(job["user_email"].encode("ascii"), as_data(composed(job)))

    async def _send_by_library(self, job: dict[str, Any]) -> None:
        await self._library.send(job["user_email"], composed(job))


def composed(job: dict[str, Any]) -> bytes:
    """The mail that Snoozer would send for this job."""
    # Here, so that workers that compose nothing need not import it.
    from bench import mails
    from snoozer.domain.reminder import Send

    now = datetime.now(UTC)
    send = Send(
        id=job["number"],
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
        zone="UTC",
        bytes_sha256=None,
    )
    return mails.composed(send)


def main(*, prepare: Callable[[Task], Awaitable[None]], work: Callable[[Task], Awaitable[None]]) -> None:
    """`prepare` creates the queue's tables and jobs; `work` drains it. On uvloop, which halves the CPU of SMTP."""
    import uvloop

    verb, task = sys.argv[1:]
    uvloop.run({"prepare": prepare, "work": work}[verb](Task(**json.loads(task))))
