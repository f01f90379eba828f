"""The output of every run: a progress bar, a table at its end, and JSON and a picture (SVG) on request."""

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import IO, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table

WIDTH, HEIGHT, EDGE = 720, 320, 48
# A bar chart: the height of a bar, and the width of the column of names.
BAR, NAMES = 22, 260
COLOURS = ("#3b3f8f", "#9a9a92", "#b5651d", "#3f7d58", "#8f3b5e", "#55554f")

# Called with how much of a stage is done, a few times a second.
Progress = Callable[[int], None]
# Begins a stage of a given size, and returns its Progress.
StartStage = Callable[[str, int], Progress]


class BenchError(click.ClickException):
    """The measurement could not be made; ends the command with one sentence and exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"bench: {self.format_message().rstrip('.')}.", err=True)


def open_console() -> Console:
    """As wide as the terminal; into a file or a pipe wide enough that no column is left out."""
    return Console() if sys.stdout.isatty() else Console(width=240)


@contextmanager
def progress_bar(console: Console) -> Iterator[StartStage]:
    """One bar, which shows one stage after the other."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RichProgress(*columns, console=console, transient=True) as progress:

        def start_stage(description: str, total: int) -> Progress:
            for task in progress.task_ids:
                progress.remove_task(task)
            task = progress.add_task(description, total=total)
            return lambda done: progress.update(task, completed=done)

        yield start_stage


def table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "") -> Table:
    """Return a table with words aligned left and figures aligned right."""
    drawn = Table(title=title, caption=caption or None)
    for number, heading in enumerate(headings):
        drawn.add_column(heading, justify="right" if number else "left")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def write_json(run: str, report: Mapping[str, object], *, to: Path | None) -> None:
    """Write the figures of a run and a description of the machine; do nothing without a path."""
    if to:
        machine = {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
        to.write_text(json.dumps({"run": run, "machine": machine} | dict(report), indent=2) + "\n", encoding="utf-8")


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of `values` that at least this share of them does not exceed (nearest rank); 0 if empty."""
    ranked = sorted(values)
    return ranked[max(0, -int(-share * len(ranked) // 1) - 1)] if ranked else 0.0


@dataclass(frozen=True, kw_only=True)
class Line:
    """One curve: points to the right and upwards."""

    name: str
    points: Sequence[tuple[float, float]]


def write_svg(
    lines: Sequence[Line], *, label: str, x_unit: str = "s", y_unit: str = "reminders", to: Path | None
) -> None:
    """Draw the lines from the origin on; nothing without a path. `label` is the text for screen readers."""
    if to:
        to.write_text(_svg(lines, label=label, x_unit=x_unit, y_unit=y_unit), encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar of a chart."""

    name: str
    value: float
    is_ours: bool = False


def write_bars(bars: Sequence[Bar], *, label: str, to: Path | None) -> None:
    """Draw horizontal bars below each other; nothing without a path. `label` is the text for screen readers."""
    if to:
        longest = max((bar.value for bar in bars), default=0.0) or 1.0
        title = f'<text x="{NAMES}" y="{EDGE - 12}" fill="#55554f">{escape(label)}</text>'
        drawn = [_bar(bar, top=EDGE + BAR * number, longest=longest) for number, bar in enumerate(bars)]
        height = 2 * EDGE + BAR * len(bars)
        to.write_text(_frame("".join([title, *drawn]), label=label, height=height), encoding="utf-8")


def _bar(bar: Bar, *, top: int, longest: float) -> str:
    width, base = (WIDTH - NAMES - EDGE) * bar.value / longest, top + BAR - 7
    return (
        f'<text x="{NAMES - 8}" y="{base}" text-anchor="end" fill="#55554f">{escape(bar.name)}</text>'
        f'<rect x="{NAMES}" y="{top + 3}" width="{width:.1f}" height="{BAR - 6}" '
        f'fill="{COLOURS[0 if bar.is_ours else 1]}"/>'
        f'<text x="{NAMES + width + 5:.1f}" y="{base}" fill="#55554f">{bar.value:,.0f}</text>'
    )


def _frame(content: str, *, label: str, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{escape(label)}">'
        f'<rect width="{WIDTH}" height="{height}" fill="#fffefb"/>{content}</svg>\n'
    )


def _svg(lines: Sequence[Line], *, label: str, x_unit: str, y_unit: str) -> str:
    x_max = max((x for line in lines for x, _ in line.points), default=0.0) or 1.0
    y_max = max((y for line in lines for _, y in line.points), default=0.0) or 1.0

    def point(x: float, y: float) -> str:
        right = EDGE + (WIDTH - 2 * EDGE) * x / x_max
        down = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * y / y_max
        return f"{right:.1f},{down:.1f}"

    curves = "".join(
        f'<polyline fill="none" stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="2" '
        f'points="{" ".join(point(x, y) for x, y in line.points)}"/>'
        for number, line in enumerate(lines)
    )
    names = "".join(
        f'<text x="{EDGE + 8}" y="{EDGE + 16 * number}" fill="{COLOURS[number % len(COLOURS)]}">'
        f"{escape(line.name)}</text>"
        for number, line in enumerate(lines)
    )
    base = HEIGHT - EDGE
    axes = (
        f'<path d="M{EDGE} {EDGE}V{base}H{WIDTH - EDGE}" fill="none" stroke="#55554f"/>'
        f'<text x="{WIDTH - EDGE}" y="{base + 20}" text-anchor="end" fill="#55554f">'
        f"{x_max:.1f} {escape(x_unit)}</text>"
        f'<text x="{EDGE}" y="{EDGE - 10}" fill="#55554f">{y_max:,.4g} {escape(y_unit)}</text>'
    )
    return _frame(axes + curves + names, label=label, height=HEIGHT)
