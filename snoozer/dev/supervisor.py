"""Starts processes, passes on their output, restarts them when they end, and stops them in order."""

import asyncio
import contextlib
import signal
import time
from asyncio import SubprocessTransport
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from snoozer.dev import processes
from snoozer.dev.binaries import RunAs
from snoozer.dev.console import Output
from snoozer.dev.processes import send
from snoozer.resources import PYTHON_MODULE
from snoozer.runtime.backoff import Backoff
from snoozer.runtime.signals import describe_exit

INITIAL_BACKOFF = 0.5
MAX_BACKOFF = 30.0
MAX_LINE_LENGTH = 4_000
_OUT, _ERR = 1, 2

OnLine = Callable[[int, str], None]


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command to run, as this process unless `run_as` and `env` say otherwise. It inherits `sockets`, and is killed
    `stop_timeout` seconds after SIGTERM."""

    name: str
    argv: tuple[str, ...]
    sockets: tuple[int, ...] = ()
    stop_timeout: float = 10.0
    run_as: RunAs = field(default_factory=RunAs)
    env: Mapping[str, str] | None = None


class CommandFailed(Exception):
    """A command ended with an exit code other than 0."""


class Child(asyncio.SubprocessProtocol):
    """A process whose end is noticed at once, whereas asyncio waits until all processes have closed its output."""

    def __init__(self, on_line: OnLine) -> None:
        self._on_line = on_line
        self._partial = {_OUT: b"", _ERR: b""}
        self._transport: SubprocessTransport
        self._exit_code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._output_closed = asyncio.Event()

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    async def wait(self) -> int:
        """Wait for its end. Returns the exit code, or minus the signal that ended it."""
        return await asyncio.shield(self._exit_code)

    async def wait_or(self, event: asyncio.Event, *, timeout: float | None = None) -> bool:
        """Wait for its end, for this event or for a time limit. Returns whether it has ended."""
        happened: asyncio.Future[Any] = asyncio.create_task(event.wait())
        await asyncio.wait({self._exit_code, happened}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        happened.cancel()
        return self._exit_code.done()

    async def drain_output(self) -> None:
        """After its end, read the rest of its output for a second, and close the pipes."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._output_closed.wait(), timeout=1)
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *lines, partial = (self._partial[fd] + data).split(b"\n")
        self._partial[fd] = partial[:MAX_LINE_LENGTH]
        for line in lines:
            self._on_line(fd, line[:MAX_LINE_LENGTH].decode(errors="replace").rstrip("\r"))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if partial := self._partial.pop(fd):
            self._on_line(fd, partial.decode(errors="replace"))

    def process_exited(self) -> None:
        self._exit_code.set_result(self._transport.get_returncode() or 0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._output_closed.set()


class Supervisor:
    """Keeps programs running, and a reaper that stops them if the supervisor itself is killed."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._kept: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._kill_now = asyncio.Event()
        self._reaper: Process | None = None
        self._reaper_task: asyncio.Task[None] | None = None
        self._registered: dict[int, str] = {}

    async def start_reaper(self, *, lock: int) -> None:
        """Start the reaper, which inherits this open lock."""
        started = asyncio.Event()
        self._reaper_task = asyncio.create_task(self._keep_reaper(lock, started))
        await started.wait()

    async def stop_reaper(self) -> None:
        """Close the reaper's pipe and wait for its end."""
        if self._reaper_task is None:
            return
        self._reaper_task.cancel()
        await asyncio.gather(self._reaper_task, return_exceptions=True)
        if self._reaper is not None and self._reaper.stdin is not None:
            self._reaper.stdin.close()
            await self._reaper.wait()

    def register(self, what: str, pid: int) -> None:
        """Report to the reaper that a process began or ended (CHILD, DATABASE or GONE)."""
        if what == processes.GONE:
            self._registered.pop(pid, None)
        else:
            self._registered[pid] = what
        self._write_to_reaper(f"{what} {pid}\n")

    async def run(self, program: Program) -> list[str]:
        """Run a command to its end. Returns the lines of its standard output. Raises CommandFailed."""
        lines: list[str] = []

        def on_line(stream: int, line: str) -> None:
            if stream == _OUT:
                lines.append(line)
            else:
                self._output.line(line, by=program.name)

        child = await self._start(program, on_line, stderr=PIPE)
        try:
            code = await child.wait()
        except asyncio.CancelledError:
            await self._stop_child(child, program)
            raise
        finally:
            await child.drain_output()
            self.register(processes.GONE, child.pid)
        if code:
            raise CommandFailed(f"{program.name} {describe_exit(code)}; its output stands above")
        return lines

    def keep(self, program: Program) -> None:
        """Start a program, and restart it after a growing pause whenever it ends."""
        stopping = asyncio.Event()
        self._kept[program.name] = (asyncio.create_task(self._keep(program, stopping)), stopping)

    async def stop(self, *names: str) -> None:
        """Stop these programs at the same time, and return when they are gone."""
        kept = [self._kept.pop(name) for name in names if name in self._kept]
        for _, stopping in kept:
            stopping.set()
        await asyncio.gather(*(task for task, _ in kept))

    def kill_now(self) -> None:
        """Kill programs that are being stopped, without waiting any longer."""
        self._kill_now.set()

    async def _keep(self, program: Program, stopping: asyncio.Event) -> None:
        backoff = Backoff(first=INITIAL_BACKOFF, cap=MAX_BACKOFF, healthy_after=30)
        while not stopping.is_set():
            began = time.monotonic()
            how = await self._run_once(program, stopping)
            if stopping.is_set():
                return
            pause = backoff.next_wait(worked_for=time.monotonic() - began)
            self._output.warn(f"{how}; starting it again in {pause:g} s", by=program.name)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), pause)

    async def _run_once(self, program: Program, stopping: asyncio.Event) -> str:
        """Run a program until it ends or `stopping` is set. Returns how it ended, in words."""
        try:
            child = await self._start(program, lambda _, line: self._output.line(line, by=program.name), stderr=STDOUT)
        except OSError as error:
            return f"cannot be started ({error.strerror})"
        if not await child.wait_or(stopping):
            await self._stop_child(child, program)
        # Processes that the child left keep its output and its port open.
        send(child.pid, signal.SIGKILL, group=True)
        await child.drain_output()
        self.register(processes.GONE, child.pid)
        return describe_exit(await child.wait())

    async def _start(self, program: Program, on_line: OnLine, *, stderr: int) -> Child:
        """Start it in a session of its own: a Ctrl-C at the terminal reaches the supervisor alone. Raises OSError."""
        _, child = await asyncio.get_running_loop().subprocess_exec(
            lambda: Child(on_line),
            *program.argv,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=stderr,
            pass_fds=program.sockets,
            start_new_session=True,
            env=program.env,
            **program.run_as,
        )
        self.register(processes.CHILD, child.pid)
        return child

    async def _stop_child(self, child: Child, program: Program) -> None:
        send(child.pid, signal.SIGTERM)
        if not await child.wait_or(self._kill_now, timeout=program.stop_timeout):
            if not self._kill_now.is_set():
                self._output.warn(f"does not stop within {program.stop_timeout:g} s and is killed", by=program.name)
            send(child.pid, signal.SIGKILL, group=True)
        await child.wait()

    async def _keep_reaper(self, lock: int, started: asyncio.Event) -> None:
        while True:
            self._reaper = await asyncio.create_subprocess_exec(
                *PYTHON_MODULE, processes.__name__, stdin=PIPE, pass_fds=(lock,), start_new_session=True
            )
            for pid, what in self._registered.items():
                self._write_to_reaper(f"{what} {pid}\n")
            started.set()
            await self._reaper.wait()
            await asyncio.sleep(INITIAL_BACKOFF)

    def _write_to_reaper(self, line: str) -> None:
        if self._reaper is not None and self._reaper.stdin is not None:
            self._reaper.stdin.write(line.encode())
