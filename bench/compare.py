"""`bench compare`: Snoozer, its baseline and other queues in turn, on one database server and one mail server."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from bench import options
from bench.comparison import contestants, drains, figures, idle, scheduled, targets
from bench.comparison.contestants import BEFORE, QUEUES, SLOW_QUEUES, SNOOZER, Contestant
from bench.comparison.stage import fast_stage, journal_stage
from bench.peers import redis_server, venv
from bench.report import Bar, BenchError, Line, open_console, progress_bar, write_bars, write_json, write_svg

RUNS = ("drain", "statements", "lateness", "burst", "idle")
LATENESS_RATE = 100

T = TypeVar("T")

DRAIN_CAPTION = (
    "Medians. CPU of the workers, with starting and without (“work”), and of the server, commits and WAL are of one "
    "job. Snoozer composes its mail; the baseline and the others send bytes that were made before by a client of the "
    "bench; with “composing” the job composes the same mail, with the name of a library it sends it by that one too."
)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The contestants, the sizes of the runs, and the number of rounds."""

    queues: tuple[str, ...]
    rows: int
    slow_rows: int
    burst_rows: int
    seconds: float
    rounds: int
    processes: int
    concurrency: int
    batch: int
    beside: Path | None

    @property
    def draining(self) -> list[Contestant]:
        """Return the contestants that drain a queue."""
        return contestants.draining(
            concurrency=self.concurrency, batch=self.batch, queues=self.queues, beside=self.beside
        )

    @property
    def scheduled(self) -> list[Contestant]:
        """Return the contestants that run jobs which become due later."""
        return contestants.scheduled(concurrency=self.concurrency, batch=self.batch, queues=self.queues)

    def rows_of(self, contestant: Contestant) -> int:
        """Return how many rows this contestant drains."""
        return min(self.rows, self.slow_rows) if contestant.queue in SLOW_QUEUES else self.rows


@click.command(name="compare", short_help="Snoozer beside PgQueuer, Procrastinate, Awa and Celery.")
@click.option("--run", "names", type=click.Choice(RUNS), multiple=True, help="Only this one.")
@click.option("--peer", "queues", type=click.Choice(QUEUES), multiple=True, help="Only this one.")
@click.option("--rows", type=click.IntRange(100, 1_000_000), default=10_000, show_default=True, help="Of a drain.")
@click.option("--slow-rows", type=click.IntRange(100), default=4_000, show_default=True, help="The same of slow peers.")
@click.option("--burst-rows", type=click.IntRange(10, 100_000), default=2_000, show_default=True, help="Of a burst.")
@click.option("--seconds", type=click.FloatRange(1, 3600), default=10, show_default=True, help="Of lateness and idle.")
@options.rounds()
@options.processes(default=2)
@options.concurrency(default=64, help="Snoozer's, in each process.")
@options.batch(default=1000)
@click.option("--beside", type=click.Path(exists=True, file_okay=False, path_type=Path), help="An older checkout.")
@options.to_json
@click.option("--svg", "pictures", type=click.Path(file_okay=False, path_type=Path), help="Draw them in this folder.")
def command(names: tuple[str, ...], to_json: Path | None, pictures: Path | None, **given: Any) -> None:
    """Compare Snoozer with other queues on this machine: drain, lateness of what is scheduled, burst, idle workers.

    The others are installed into bench/.venv by the versions of bench/requirements.txt; Celery's broker, Redis, must be
    installed. Figures of different machines cannot be compared; the ratios can.
    """
    plan = Plan(**given)
    plan = replace(plan, queues=plan.queues or QUEUES, beside=plan.beside and plan.beside.resolve())
    options.check_concurrency(plan.concurrency, processes=1)
    if "celery" in plan.queues:
        redis_server.program()
    console = open_console()
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    console.print("Installing the other queues into bench/.venv, unless they are there")
    python = venv.python()
    measures = {"drain": _drain, "statements": _statements, "lateness": _lateness, "burst": _burst, "idle": _idle}
    report: dict[str, object] = {
        "versions": venv.versions(plan.queues),
        "plan": asdict(plan) | {"beside": plan.beside and plan.beside.name},
    }
    for name in names or RUNS:
        report[name] = measures[name](plan, python, console, pictures)
        write_json("compare", report, to=to_json)


def _drain(plan: Plan, python: Path, console: Console, pictures: Path | None) -> object:
    with progress_bar(console) as start_stage, fast_stage(processes=plan.processes, python=python) as stage:

        def one(contestant: Contestant, number: int) -> figures.Run:
            rows = plan.rows_of(contestant)
            progress = start_stage(f"drain, round {number} of {plan.rounds}: {contestant.name}", rows)
            return drains.measure(contestant, stage, rows=rows, number=number, progress=progress)

        runs = _in_turn(plan.draining, plan.rounds, console, one)
    order = [contestant.name for contestant in plan.draining if contestant.name in figures.names(runs)]
    runs.sort(key=lambda run: (run.round, order.index(run.who)))
    rows = f"{plan.rows:,} jobs ({', '.join(SLOW_QUEUES)}: {min(plan.rows, plan.slow_rows):,})"
    title = f"drain: {rows}, {plan.processes} processes each, {plan.rounds} rounds, to {stage.mail_server.name}"
    console.print(figures.table(runs, title=title, caption=DRAIN_CAPTION))
    reached = targets.reached(runs)
    console.print(targets.target_table(reached))
    medians = {who: figures.medians(runs, who) for who in order}
    bars = [Bar(name=who, value=medians[who]["rate"], is_ours=who in (SNOOZER, BEFORE)) for who in order]
    write_bars(bars, label="Mails a second", to=pictures and pictures / "drain.svg")
    return {
        "mail_server": stage.mail_server.name,
        "medians": medians,
        "snoozer_divided_by_theirs": {who: figures.ratios(runs, who) for who in order if who != SNOOZER},
        "targets": [asdict(one) for one in reached],
        "runs": [asdict(run) for run in runs],
    }


def _statements(plan: Plan, python: Path, console: Console, pictures: Path | None) -> object:
    composing = [contestant for contestant in plan.draining if contestant.does == "compose"]
    with progress_bar(console) as start_stage, fast_stage(processes=plan.processes, python=python) as stage:

        def one(contestant: Contestant, _: int) -> drains.Statements:
            rows = plan.rows_of(contestant)
            progress = start_stage(f"statements: {contestant.name}", rows)
            return drains.count_statements(contestant, stage, rows=rows, progress=progress)

        found = _in_turn(composing, 1, console, one)
    console.print(drains.statement_table(found))
    return [asdict(one) for one in found]


def _lateness(plan: Plan, python: Path, console: Console, pictures: Path | None) -> object:
    rows = round(LATENESS_RATE * plan.seconds)
    rounds = _scheduled(plan, python, console, rows=rows, seconds=plan.seconds, name="lateness")
    console.print(scheduled.lateness_table(rounds, rate=LATENESS_RATE))
    console.print("Snoozer's p99 is the lowest." if scheduled.is_lowest(rounds) else "Snoozer's p99 is NOT the lowest.")
    _draw(rounds, label="How many were how late", to=pictures and pictures / "lateness.svg")
    return _scheduled_report(rounds)


def _burst(plan: Plan, python: Path, console: Console, pictures: Path | None) -> object:
    rounds = _scheduled(plan, python, console, rows=plan.burst_rows, seconds=0.0, name="burst")
    console.print(scheduled.burst_table(rounds, rows=plan.burst_rows))
    _draw(rounds, label="How a burst was sent", to=pictures and pictures / "burst-peers.svg")
    return _scheduled_report(rounds)


def _idle(plan: Plan, python: Path, console: Console, pictures: Path | None) -> object:
    with progress_bar(console) as start_stage, journal_stage(processes=plan.processes, python=python) as stage:
        found = [idle.measure(one, stage, seconds=plan.seconds, start_stage=start_stage) for one in plan.scheduled]
    console.print(idle.idle_table(found, processes=plan.processes))
    return [asdict(one) for one in found]


def _scheduled(
    plan: Plan, python: Path, console: Console, *, rows: int, seconds: float, name: str
) -> list[scheduled.Lateness]:
    with progress_bar(console) as start_stage, journal_stage(processes=plan.processes, python=python) as stage:

        def one(contestant: Contestant, number: int) -> scheduled.Lateness:
            progress = start_stage(f"{name}, round {number} of {plan.rounds}: {contestant.name}", rows)
            return scheduled.measure(contestant, stage, rows=rows, seconds=seconds, number=number, progress=progress)

        return _in_turn(plan.scheduled, plan.rounds, console, one)


def _draw(rounds: Sequence[scheduled.Lateness], *, label: str, to: Path | None) -> None:
    """The curves of the last round."""
    last = [one for one in rounds if one.round == rounds[-1].round]
    lines = [Line(name=one.who, points=one.curve) for who in scheduled.names(rounds) for one in last if one.who == who]
    write_svg(lines, label=label, x_unit="% of mails", y_unit="ms late", to=to)


def _scheduled_report(rounds: Sequence[scheduled.Lateness]) -> dict[str, object]:
    return {
        "medians": {who: scheduled.medians(rounds, who) for who in scheduled.names(rounds)},
        "rounds": [one.figures for one in rounds],
    }


def _in_turn(
    turns: Sequence[Contestant], rounds: int, console: Console, one: Callable[[Contestant, int], T]
) -> list[T]:
    """Every contestant in every round; each round begins with another, so that none always follows the same one.

    A peer that fails costs its own run only, and is named. Raises BenchError when Snoozer or its baseline fails.
    """
    found = []
    for number in range(1, rounds + 1):
        turn = (number - 1) % len(turns)
        for contestant in [*turns[turn:], *turns[:turn]]:
            try:
                found.append(one(contestant, number))
            except BenchError as error:
                if not contestant.is_peer:
                    raise
                console.print(f"Left out, {contestant.name} in round {number}: {error.format_message()}")
    return found
