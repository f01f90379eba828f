"""How every run tells what it measured: a bar while it goes on, a table at its end, JSON and a picture when asked."""

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from snoozer.bench.refusal import BenchRefused
from snoozer.dev.binaries import NoPostgres
from snoozer.dev.postgres import PostgresRefused
from snoozer.settings import SettingsError

# Begins a stretch of work of a given size; what it answers hears how much of it is done.
Bar = Callable[[str, int], Callable[[int], None]]


@contextmanager
def bar(console: Console) -> Iterator[Bar]:
    """A progress bar for one stretch after the other. What cannot be measured ends in one sentence."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:

        def begin(what: str, size: int) -> Callable[[int], None]:
            for before in progress.task_ids:
                progress.remove_task(before)
            task = progress.add_task(what, total=size)
            return lambda done: progress.update(task, completed=done)

        try:
            yield begin
        except (BenchRefused, PostgresRefused, NoPostgres) as refused:
            raise SettingsError(str(refused)) from None


def table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "") -> Table:
    """Words to the left, figures to the right."""
    told = Table(title=title, caption=caption or None)
    for number, heading in enumerate(headings):
        told.add_column(heading, justify="right" if number else "left")
    for row in rows:
        told.add_row(*row)
    return told


def write(run: str, report: Mapping[str, object], *, to: Path | None) -> None:
    """The figures of a run as JSON, with the machine they are from."""
    if to:
        machine = {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
        to.write_text(json.dumps({"run": run, "machine": machine} | dict(report), indent=2) + "\n", encoding="utf-8")


def draw(picture: str, *, to: Path | None) -> None:
    """A picture that was made by `snoozer.bench.plot`."""
    if to:
        to.write_text(picture, encoding="utf-8")


def part(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that at least this share of them does not exceed; 0 of none."""
    ranked = sorted(values)
    return ranked[max(0, -int(-share * len(ranked) // 1) - 1)] if ranked else 0.0
