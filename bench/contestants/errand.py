"""What every contestant is told, and what a job does: sleep, or hand a mail over. The same for all of them."""

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

from bench.contestants.post import Post, ended

TOKEN = UUID(int=1)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One line of JSON, the worker's only argument."""

    url: str
    rows: int
    # "sleep", "send" (the bytes were made beforehand), "compose", or "library" (compose, and send by aiosmtplib)
    does: str
    smtp_port: int
    # The shortest and the longest sleep, in milliseconds
    sleeps: tuple[float, float]
    parallel: int
    batch: int
    # The file with the mail that was made beforehand
    message: str


def payload(number: int) -> dict[str, Any]:
    """What a queue keeps for one reminder: the words that a row of Snoozer's has."""
    return {
        "number": number,
        "user_email": f"person-{number}@snoozer.example",
        "message_id": f"<{number}@mail.example>",
        "subject": f"Quarterly figures, part {number}",
        "sender_email": "bob@mail.example",
    }


class Errand:
    """A job's work. At most `parallel` are at it side by side in this process; `numbers` are those that were done."""

    def __init__(self, task: Task) -> None:
        self.numbers: list[int] = []
        self._sleeps = task.sleeps
        self._post = Post(task.smtp_port)
        self._room = asyncio.Semaphore(task.parallel)
        self._rng = Random()  # noqa: S311 - scatters pauses, guards nothing
        self._ended = ended(Path(task.message).read_bytes())
        self._do = {
            "sleep": self._sleep,
            "send": self._send,
            "compose": self._compose,
            "library": self._by_library,
        }[task.does]
        if task.does == "library":
            # Here, because only bench/.venv has it.
            from bench.contestants.library import LibraryPost

            self._library = LibraryPost(task.smtp_port)

    async def run(self, job: dict[str, Any]) -> None:
        async with self._room:
            await self._do(job)
        self.numbers.append(job["number"])

    def report(self) -> None:
        """The last word: which jobs were done here, as one line of JSON."""
        self._post.close()
        sys.stdout.write(json.dumps(self.numbers) + "\n")

    async def _sleep(self, job: dict[str, Any]) -> None:
        await asyncio.sleep(self._rng.uniform(*self._sleeps) / 1000)

    async def _send(self, job: dict[str, Any]) -> None:
        await self._post.deliver(job["user_email"].encode("ascii"), self._ended)

    async def _compose(self, job: dict[str, Any]) -> None:
        await self._post.deliver(job["user_email"].encode("ascii"), ended(written(job)))

    async def _by_library(self, job: dict[str, Any]) -> None:
        await self._library.deliver(job["user_email"], written(job))


def written(job: dict[str, Any]) -> bytes:
    """The mail that Snoozer would write for this job."""
    # Here, so that workers that write nothing need not load what writes.
    from snoozer.bench import mails
    from snoozer.domain.reminder import Send

    now = datetime.now(UTC)
    send = Send(
        id=job["number"],
        snooze_id=job["number"],
        claim_token=TOKEN,
        user_email=job["user_email"],
        message_id=job["message_id"],
        scheduled_for=now,
        reserved_at=now,
        reminder_message_id=f"<{job['number']:040x}@snoozer.example>",
        subject=job["subject"],
        sender_email=job["sender_email"],
        note=None,
        zone="UTC",
        bytes_sha256=None,
    )
    return mails.written(send)


def main(*, prepare: Callable[[Task], Awaitable[None]], work: Callable[[Task], Awaitable[None]]) -> None:
    """`prepare` lays the queue out and fills it; `work` drains it. On uvloop, which halves the CPU of SMTP."""
    import uvloop

    verb, told = sys.argv[1:]
    uvloop.run({"prepare": prepare, "work": work}[verb](Task(**json.loads(told))))
