"""What was measured, as numbers, as tables and as JSON. Ratios are taken within a round and their medians shown."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from rich import box
from rich.table import Table

US = "snoozer"
# The words of a figure, how it is written, and whether a quotient of it says something.
FIGURES = {
    "rate": ("per s", "{:,.0f}", True),
    "p50_wait": ("p50, s", "{:.2f}", True),
    "p99_wait": ("p99, s", "{:.2f}", True),
    "cpu_ms": ("CPU, ms", "{:.2f}", True),
    "commits": ("commits", "{:.2f}", True),
    "wal_bytes": ("WAL, B", "{:,.0f}", True),
    "duplicates": ("twice", "{:.0f}", False),
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One contestant in one round, by the measures of `snoozer.bench.run.Outcome`.

    Time begins with the first job's start and ends with the last job's end, both as the contestant's own tables tell
    it, so that nobody's start-up counts. CPU is of the worker processes from birth to death. `mails` is what the mail
    server counted, where it counts; `duplicates` is what the contestant knows of, or what the server has too many.
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
    """The middle of each figure, but the worst of what was done twice: a median would hide it."""
    mine = [asdict(run) for run in runs if run.who == who]
    middle = {name: median(one[name] for one in mine) for name in FIGURES}
    return middle | {"duplicates": max(one["duplicates"] for one in mine)}


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
    """A row a contestant; below them, Snoozer's figures divided by theirs."""
    drawn = Table(title=title, caption=caption, caption_justify="left", box=box.SIMPLE, pad_edge=False)
    drawn.add_column("", min_width=14)
    for words, _, _ in FIGURES.values():
        drawn.add_column(words, justify="right", no_wrap=True)
    for who in names(runs):
        middle = medians(runs, who)
        drawn.add_row(who, *(form.format(middle[name]) for name, (_, form, _) in FIGURES.items()))
    if US in names(runs):
        drawn.add_section()
        for who in names(runs):
            if who != US:
                quotients = ratios(runs, who)
                drawn.add_row(
                    f"Snoozer ÷ {who}", *(f"{quotients[name]:.2f}" if name in quotients else "" for name in FIGURES)
                )
    return drawn


def report(runs: Sequence[Run]) -> dict[str, object]:
    """The same for machines, with every run."""
    return {
        "medians": {who: medians(runs, who) for who in names(runs)},
        "snoozer_through_theirs": {who: ratios(runs, who) for who in names(runs) if who != US},
        "runs": [asdict(run) for run in runs],
    }
