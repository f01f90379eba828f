"""`snoozer bench punctual`: how late reminders are that are due at random moments, whatever becomes of the notices."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median

import click
from rich.console import Console
from rich.table import Table

from snoozer.bench import filling, floor, options
from snoozer.bench.crew import crew
from snoozer.bench.ground import Ground, ground
from snoozer.bench.harm import Harm, harmed
from snoozer.bench.plot import Line, svg
from snoozer.bench.refusal import BenchRefused
from snoozer.bench.run import Progress, settle
from snoozer.bench.telling import bar, draw, part, table, write
from snoozer.db.statements import execute

LEAD = timedelta(seconds=3)
PATIENCE_SECONDS = 30.0
WARM_UP = 20
_LOOK = 0.2


@dataclass(frozen=True, kw_only=True)
class Case:
    """Rows put down ahead, or in the moment when they are due; with notices or without, and what befalls them."""

    key: str
    name: str
    ahead: bool
    notices: bool = True
    harm: Harm = ""
    wanted_ms: float


CASES = (
    Case(key="ahead", name="ahead, with notices", ahead=True, wanted_ms=50),
    Case(key="ahead-quiet", name="ahead, without notices", ahead=True, notices=False, wanted_ms=250),
    Case(key="ahead-cut", name="ahead, listening cut", ahead=True, harm="cut", wanted_ms=50),
    Case(key="ahead-silent", name="ahead, listening silent", ahead=True, harm="silent", wanted_ms=50),
    Case(key="due", name="when due, with notices", ahead=False, wanted_ms=50),
    Case(key="due-quiet", name="when due, without notices", ahead=False, notices=False, wanted_ms=1300),
    Case(key="due-cut", name="when due, listening cut", ahead=False, harm="cut", wanted_ms=1300),
    Case(key="due-silent", name="when due, listening silent", ahead=False, harm="silent", wanted_ms=1300),
)


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """Milliseconds between the promise and the record of the mail server's 250."""

    case: str
    reminders: int
    p50_ms: float
    p99_ms: float
    worst_ms: float
    curve: tuple[tuple[float, float], ...]


@click.command(name="punctual", short_help="How late reminders are that are due at random moments.")
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
    console, rng = Console(), Random(5)  # noqa: S311 - scatters promises, guards nothing
    told: list[Lateness] = []
    cases = [case for case in CASES if not keys or case.key in keys]
    with bar(console) as begin, ground(work=(0, 0)) as here:
        for number in range(1, rounds + 1):
            for case in cases:
                moments = sorted(rng.uniform(0, seconds) for _ in range(round(rate * seconds)))
                progress = begin(f"round {number} of {rounds}: {case.name}", len(moments))
                told.append(measure(here, case, moments, processes=processes, progress=progress))
    medians = [_medians([one for one in told if one.case == case.name]) for case in cases]
    console.print(_table(cases, medians, rate=rate))
    write(
        "punctual",
        {"rate": rate, "medians": [_figures(one) for one in medians], "rounds": [_figures(one) for one in told]},
        to=to_json,
    )
    last = told[-len(cases) :]
    lines = [Line(name=one.case, points=one.curve) for one in last]
    draw(svg(lines, what="How many reminders were how late", across="% of reminders", upwards="ms late"), to=to_svg)


def measure(ground: Ground, case: Case, moments: Sequence[float], *, processes: int, progress: Progress) -> Lateness:
    """One run: `moments` are seconds from its beginning."""
    settings = {} if case.notices else {"SNOOZER_PGBOUNCER": "1"}
    with crew(ground, count=processes, settings=settings), floor.bare(ground.url) as database:
        filling.due(database, rows=WARM_UP)
        settle(ground.engine)
        began = datetime.now(UTC) + LEAD
        with harmed(ground, case.harm):
            promises = [began + timedelta(seconds=moment) for moment in moments]
            if case.ahead:
                filling.promised(database, promises)
            else:
                for number, promise in enumerate(promises, start=1):
                    time.sleep(max(0.0, (promise - datetime.now(UTC)).total_seconds()))
                    filling.promised(database, [datetime.now(UTC)])
                    progress(number)
            late = _wait(ground, since=began, count=len(moments), until=promises[-1], progress=progress)
    return Lateness(
        case=case.name,
        reminders=len(late),
        p50_ms=part(late, 0.5),
        p99_ms=part(late, 0.99),
        worst_ms=late[-1],
        curve=tuple((100 * (rank + 1) / len(late), one) for rank, one in enumerate(late)),
    )


def _wait(ground: Ground, *, since: datetime, count: int, until: datetime, progress: Progress) -> list[float]:
    """How late each was, the most punctual first, once all are out."""
    while True:
        with ground.engine.begin() as connection:
            late = list(execute(connection, "bench/lateness", since=since).scalars())
        progress(len(late))
        if len(late) >= count:
            return late
        if (datetime.now(UTC) - until).total_seconds() > PATIENCE_SECONDS:
            raise BenchRefused(f"{count - len(late)} of {count} reminders were not out after {PATIENCE_SECONDS:g} s")
        time.sleep(_LOOK)


def _medians(told: Sequence[Lateness]) -> Lateness:
    return Lateness(
        case=told[0].case,
        reminders=sum(one.reminders for one in told),
        p50_ms=median(one.p50_ms for one in told),
        p99_ms=median(one.p99_ms for one in told),
        worst_ms=max(one.worst_ms for one in told),
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
