"""One process that starts the others, passes on what they say, starts them again, and stops them in order."""

import asyncio
import contextlib
import signal
import time
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass

from snoozer.dev import reaper
from snoozer.dev.console import Voice
from snoozer.dev.os_process import send
from snoozer.dev.subprocess import OUT, Child, Hear
from snoozer.resources import PYTHON_MODULE
from snoozer.runtime.backoff import Backoff
from snoozer.runtime.signals import describe_exit

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
WELL_AFTER_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command to run. `sockets` are handed to it open; `patience` is what it gets between SIGTERM and SIGKILL."""

    name: str
    argv: tuple[str, ...]
    sockets: tuple[int, ...] = ()
    patience: float = 10.0


class CommandFailed(Exception):
    """A command that has to end well did not."""

    def __init__(self, program: Program, code: int) -> None:
        super().__init__(f"{program.name} {describe_exit(code)}; what it said stands above")


class Supervisor:
    """Keeps programs running, and keeps a guardian for the case that it is killed itself."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._kept: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._hurry = asyncio.Event()
        self._guardian: Process | None = None
        self._announced: dict[int, str] = {}
        self._guarding: asyncio.Task[None] | None = None

    async def guard(self, *, lock: int) -> None:
        """Start the guardian, which holds this open lock and outlives us if we are killed."""
        started = asyncio.Event()
        self._guarding = asyncio.create_task(self._keep_guardian(lock, started))
        await started.wait()

    def announce(self, what: str, pid: int) -> None:
        """Tell the guardian of a process that began or ended (its words: CHILD, DATABASE, GONE)."""
        if what == reaper.GONE:
            self._announced.pop(pid, None)
        else:
            self._announced[pid] = what
        self._tell(f"{what} {pid}\n")

    async def run(self, program: Program) -> list[str]:
        """Run a command to its end and return the lines of its standard output. Raises CommandFailed."""
        said: list[str] = []

        def hear(stream: int, line: str) -> None:
            if stream == OUT:
                said.append(line)
            else:
                self._voice.say(line, by=program.name)

        child = await self._start(program, hear, one_stream=False)
        try:
            code = await child.ended()
        except asyncio.CancelledError:
            await self._end(child, program)
            raise
        finally:
            await child.last_words()
            self.announce(reaper.GONE, child.pid)
        if code:
            raise CommandFailed(program, code)
        return said

    def keep(self, program: Program) -> None:
        """Start a program and start it again, after a growing pause, whenever it ends."""
        stopping = asyncio.Event()
        self._kept[program.name] = (asyncio.create_task(self._keep(program, stopping)), stopping)

    async def stop(self, *names: str) -> None:
        """Stop these programs at the same time, and return when they are gone."""
        kept = [self._kept.pop(name) for name in names if name in self._kept]
        for _, stopping in kept:
            stopping.set()
        await asyncio.gather(*(task for task, _ in kept))

    def hurry(self) -> None:
        """Wait for nobody any longer: what is being stopped is killed."""
        self._hurry.set()

    async def dismiss_guardian(self) -> None:
        """Let the guardian go; it finds nothing to do."""
        if self._guarding is None:
            return
        self._guarding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._guarding
        if self._guardian is not None and self._guardian.stdin is not None:
            self._guardian.stdin.close()
            await self._guardian.wait()

    async def _keep(self, program: Program, stopping: asyncio.Event) -> None:
        backoff = Backoff(first=FIRST_PAUSE, cap=LONGEST_PAUSE, healthy_after=WELL_AFTER_SECONDS)
        while not stopping.is_set():
            began = time.monotonic()
            how = await self._run_once(program, stopping)
            if stopping.is_set():
                return
            pause = backoff.next_wait(worked_for=time.monotonic() - began)
            self._voice.warn(f"{how}; starting it again in {pause:g} s", by=program.name)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), pause)

    async def _run_once(self, program: Program, stopping: asyncio.Event) -> str:
        """Run a program until it ends by itself or is to stop, and say how it ended."""
        try:
            child = await self._start(program, lambda _, line: self._voice.say(line, by=program.name), one_stream=True)
        except OSError as error:
            return f"cannot be started ({error.strerror})"
        ended, told = asyncio.create_task(child.ended()), asyncio.create_task(stopping.wait())
        await asyncio.wait({ended, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if not ended.done():
            await self._end(child, program)
        # Whoever the child left behind holds its output open, and its port; they go with it.
        send(child.pid, signal.SIGKILL, group=True)
        await child.last_words()
        self.announce(reaper.GONE, child.pid)
        return describe_exit(await ended)

    async def _start(self, program: Program, hear: Hear, *, one_stream: bool) -> Child:
        child = await Child.start(program.argv, hear=hear, one_stream=one_stream, sockets=program.sockets)
        self.announce(reaper.CHILD, child.pid)
        return child

    async def _end(self, child: Child, program: Program) -> None:
        send(child.pid, signal.SIGTERM)
        ended, hurry = asyncio.create_task(child.ended()), asyncio.create_task(self._hurry.wait())
        await asyncio.wait({ended, hurry}, timeout=program.patience, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if not ended.done():
            if not self._hurry.is_set():
                self._voice.warn(f"does not stop within {program.patience:g} s and is killed", by=program.name)
            send(child.pid, signal.SIGKILL, group=True)
        await ended

    async def _keep_guardian(self, lock: int, started: asyncio.Event) -> None:
        while True:
            self._guardian = await asyncio.create_subprocess_exec(
                *(*PYTHON_MODULE, reaper.__name__),
                stdin=PIPE,
                pass_fds=(lock,),
                cwd="/",
                start_new_session=True,
            )
            for pid, what in self._announced.items():
                self._tell(f"{what} {pid}\n")
            started.set()
            await self._guardian.wait()
            await asyncio.sleep(FIRST_PAUSE)

    def _tell(self, line: str) -> None:
        if self._guardian is not None and self._guardian.stdin is not None:
            self._guardian.stdin.write(line.encode())
