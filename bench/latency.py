"""`bench latency`: how late reminders are that are due at random times, with LISTEN/NOTIFY working, off or failing."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from threading import Event, Thread
from typing import Literal

import click
from rich.table import Table

from bench import baseline, options, seed
from bench.environment import Environment, scratch_environment
from bench.report import (
    BenchError,
    Line,
    Progress,
    open_console,
    percentile,
    progress_bar,
    table,
    write_json,
    write_svg,
)
from bench.statements import execute
from bench.workers import running_workers

LEAD = timedelta(seconds=3)
TIMEOUT_SECONDS = 30.0
POLL_SECONDS = 0.2
FAULT_INTERVAL_SECONDS = 0.25
WARM_UP = 20

# The fault applied to sessions that LISTEN: they are terminated ("cut"), or their server processes stopped ("silent").
Fault = Literal["", "cut", "silent"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Rows inserted ahead, or when they are due; with notifications or without, and with which fault."""

    key: str
    name: str
    ahead: bool
    notices: bool = True
    fault: Fault = ""
    wanted_ms: float


CASES = (
    Case(key="ahead", name="ahead, with notices", ahead=True, wanted_ms=50),
    Case(key="ahead-quiet", name="ahead, without notices", ahead=True, notices=False, wanted_ms=250),
    Case(key="ahead-cut", name="ahead, listening cut", ahead=True, fault="cut", wanted_ms=50),
    Case(key="ahead-silent", name="ahead, listening silent", ahead=True, fault="silent", wanted_ms=50),
    Case(key="due", name="when due, with notices", ahead=False, wanted_ms=50),
    Case(key="due-quiet", name="when due, without notices", ahead=False, notices=False, wanted_ms=1300),
    Case(key="due-cut", name="when due, listening cut", ahead=False, fault="cut", wanted_ms=1300),
    Case(key="due-silent", name="when due, listening silent", ahead=False, fault="silent", wanted_ms=1300),
)


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """Milliseconds between the time promised and the record of the mail server's 250."""

    case: str
    reminders: int
    p50_ms: float
    p99_ms: float
    worst_ms: float
    curve: tuple[tuple[float, float], ...]


@click.command(name="latency", short_help="How late reminders are that are due at random moments.")
@click.option("--rate", type=click.FloatRange(0.1, 10_000), default=100, show_default=True, help="Due each second.")
@click.option("--seconds", type=click.FloatRange(0.5, 3600), default=10, show_default=True, help="For how long.")
@options.processes(default=1)
@options.rounds(help="Runs of each case, in turn.")
@click.option("--case", "keys", type=click.Choice([case.key for case in CASES]), multiple=True, help="Only this one.")
@options.to_json
@options.to_svg
def command(
    rate: float,
    seconds: float,
    processes: int,
    rounds: int,
    keys: tuple[str, ...],
    to_json: Path | None,
    to_svg: Path | None,
) -> None:
    """Measure how late the mail server's 250 is for rows put down ahead, and for rows put down when they are due.

    With the database's notices, without them, with the sessions that wait for them cut four times a second, and with
    those sessions stopped.
    """
    console, rng = open_console(), Random(5)  # noqa: S311 - scatters due times, guards nothing
    results: list[Lateness] = []
    cases = [case for case in CASES if not keys or case.key in keys]
    with progress_bar(console) as start_stage, scratch_environment(work=(0, 0)) as environment:
        for number in range(1, rounds + 1):
            for case in cases:
                offsets = sorted(rng.uniform(0, seconds) for _ in range(round(rate * seconds)))
                progress = start_stage(f"round {number} of {rounds}: {case.name}", len(offsets))
                results.append(measure(environment, case, offsets, processes=processes, progress=progress))
    medians = [_medians([one for one in results if one.case == case.name]) for case in cases]
    console.print(_table(cases, medians, rate=rate))
    write_json(
        "latency",
        {"rate": rate, "medians": [_figures(one) for one in medians], "rounds": [_figures(one) for one in results]},
        to=to_json,
    )
    lines = [Line(name=one.case, points=one.curve) for one in results[-len(cases) :]]
    write_svg(lines, label="How many reminders were how late", x_unit="% of reminders", y_unit="ms late", to=to_svg)


def measure(
    environment: Environment, case: Case, offsets: Sequence[float], *, processes: int, progress: Progress
) -> Lateness:
    """One run: reminders are due at these offsets, in seconds from its start."""
    settings = {} if case.notices else {"SNOOZER_PGBOUNCER": "1"}
    with (
        running_workers(environment, count=processes, settings=settings),
        baseline.connect(environment.url) as database,
    ):
        seed.copy_due(database, rows=WARM_UP)
        seed.analyze(environment.engine)
        start = datetime.now(UTC) + LEAD
        due_times = [start + timedelta(seconds=offset) for offset in offsets]
        with injected(case.fault, environment):
            if case.ahead:
                seed.copy_at(database, due_times)
            else:
                for number, due in enumerate(due_times, start=1):
                    time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds()))
                    seed.copy_at(database, [datetime.now(UTC)])
                    progress(number)
            late = _wait(environment, since=start, count=len(offsets), until=due_times[-1], progress=progress)
    return Lateness(
        case=case.name,
        reminders=len(late),
        p50_ms=percentile(late, 0.5),
        p99_ms=percentile(late, 0.99),
        worst_ms=late[-1],
        curve=tuple((100 * (rank + 1) / len(late), one) for rank, one in enumerate(late)),
    )


@contextmanager
def injected(fault: Fault, environment: Environment) -> Iterator[None]:
    """Until the end of the block, four times a second: terminate the listening sessions, or SIGSTOP their processes."""
    if not fault:
        yield
        return
    over, stopped = Event(), set[int]()

    def inject_until_over() -> None:
        while not over.wait(FAULT_INTERVAL_SECONDS):
            if fault == "cut":
                _terminate_listeners(environment)
            else:
                stopped.update(_stop_listeners(environment))

    thread = Thread(target=inject_until_over, name="faults", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _terminate_listeners(environment: Environment) -> None:
    with environment.engine.begin() as connection:
        execute(connection, "terminate_listeners")


def _stop_listeners(environment: Environment) -> list[int]:
    with environment.engine.begin() as connection:
        pids = list(execute(connection, "listeners").scalars())
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    return pids


def _wait(environment: Environment, *, since: datetime, count: int, until: datetime, progress: Progress) -> list[float]:
    """Wait until all are sent; return the lateness of each in milliseconds, in ascending order."""
    while True:
        with environment.engine.begin() as connection:
            late = list(execute(connection, "lateness", since=since).scalars())
        progress(len(late))
        if len(late) >= count:
            return late
        if (datetime.now(UTC) - until).total_seconds() > TIMEOUT_SECONDS:
            raise BenchError(f"{count - len(late)} of {count} reminders were not out after {TIMEOUT_SECONDS:g} s")
        time.sleep(POLL_SECONDS)


def _medians(rounds: Sequence[Lateness]) -> Lateness:
    return Lateness(
        case=rounds[0].case,
        reminders=sum(one.reminders for one in rounds),
        p50_ms=median(one.p50_ms for one in rounds),
        p99_ms=median(one.p99_ms for one in rounds),
        worst_ms=max(one.worst_ms for one in rounds),
        curve=(),
    )


def _figures(lateness: Lateness) -> dict[str, object]:
    return {name: value for name, value in asdict(lateness).items() if name != "curve"}


def _table(cases: Sequence[Case], medians: Sequence[Lateness], *, rate: float) -> Table:
    return table(
        f"How late, in milliseconds, at {rate:g} a second",
        ("promised", "p50", "p99", "worst", "p99 wanted"),
        [
            (one.case, f"{one.p50_ms:,.1f}", f"{one.p99_ms:,.1f}", f"{one.worst_ms:,.1f}", f"≤ {case.wanted_ms:g}")
            for case, one in zip(cases, medians, strict=True)
        ],
        caption="Medians of the rounds; the worst of all of them. Without notices a row that is due at once waits for "
        "the poll.",
    )
