"""What was measured, as numbers, as tables and as JSON. Ratios are taken within a round and their medians shown."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from rich.table import Table

US = "snoozer"
# The words of a figure, how it is written, and whether a quotient of it says something.
FIGURES = {
    "rate": ("jobs a second", "{:,.0f}", True),
    "p50_wait": ("wait p50, s", "{:.2f}", True),
    "p99_wait": ("wait p99, s", "{:.2f}", True),
    "cpu_ms": ("CPU each, ms", "{:.2f}", True),
    "commits": ("commits each", "{:.2f}", True),
    "wal_bytes": ("WAL each, B", "{:,.0f}", True),
    "duplicates": ("done twice", "{:.0f}", False),
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One contestant in one round, by the measures of `snoozer.bench.run.Outcome`.

    Time begins with the first job's start and ends with the last job's end, both as the contestant's own tables tell
    it, so that nobody's start-up counts. CPU is of the worker processes from birth to death. `mails` is what the mail
    server counted, where it counts.
    """

    who: str
    round: int
    rows: int
    seconds: float
    rate: float
    p50_wait: float
    p99_wait: float
    cpu_ms: float
    commits: float
    wal_bytes: float
    duplicates: int
    mails: int | None


def names(runs: Sequence[Run]) -> list[str]:
    """The contestants, in the order in which they ran."""
    return list(dict.fromkeys(run.who for run in runs))


def medians(runs: Sequence[Run], who: str) -> dict[str, float]:
    mine = [asdict(run) for run in runs if run.who == who]
    return {name: median(one[name] for one in mine) for name in FIGURES}


def ratios(runs: Sequence[Run], who: str) -> dict[str, float]:
    """Snoozer's figure through theirs, round by round, and of that the median: the machine's moods cancel out."""
    ours = {run.round: asdict(run) for run in runs if run.who == US}
    theirs = {run.round: asdict(run) for run in runs if run.who == who}
    return {
        name: median(ours[number][name] / theirs[number][name] for number in ours)
        for name, (_, _, divides) in FIGURES.items()
        if divides and all(theirs[number][name] for number in ours)
    }


def table(runs: Sequence[Run], *, title: str, caption: str) -> Table:
    """A column a contestant; below the figures, Snoozer's divided by theirs."""
    contestants = names(runs)
    drawn = Table(title=title, caption=caption, caption_justify="left")
    drawn.add_column("", no_wrap=True)
    for who in contestants:
        drawn.add_column(who.replace(", ", ",\n"), justify="right", no_wrap=True)
    middle = {who: medians(runs, who) for who in contestants}
    for name, (words, form, _) in FIGURES.items():
        drawn.add_row(words, *(form.format(middle[who][name]) for who in contestants))
    if US not in contestants:
        return drawn
    drawn.add_section()
    quotients = {who: ratios(runs, who) for who in contestants if who != US}
    drawn.add_row("Snoozer ÷")
    for name, (words, _, divides) in FIGURES.items():
        if divides:
            cells = (_quotient(quotients.get(who, {}).get(name)) for who in contestants)
            drawn.add_row(f"  {words.partition(',')[0]}", *cells)
    return drawn


def report(runs: Sequence[Run]) -> dict[str, object]:
    """The same for machines, with every run."""
    return {
        "medians": {who: medians(runs, who) for who in names(runs)},
        "snoozer_through_theirs": {who: ratios(runs, who) for who in names(runs) if who != US},
        "runs": [asdict(run) for run in runs],
    }


def _quotient(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
