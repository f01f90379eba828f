"""The figures of drains: medians, ratios, table and JSON. Ratios are taken within a round."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from rich import box
from rich.table import Table

from bench.comparison.contestants import SNOOZER

# A figure's label, its format, and whether a quotient of it means something.
FIGURES = {
    "rate": ("per s", "{:,.0f}", True),
    "p50_wait": ("p50, s", "{:.2f}", True),
    "p99_wait": ("p99, s", "{:.2f}", True),
    "cpu_ms": ("CPU, ms", "{:.2f}", True),
    "work_cpu_ms": ("work", "{:.2f}", True),
    "server_cpu_ms": ("server", "{:.2f}", True),
    "commits": ("commits", "{:.2f}", True),
    "wal_bytes": ("WAL, B", "{:,.0f}", True),
    "duplicates": ("twice", "{:.0f}", False),
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One contestant in one round, in the measures of `bench.drain.Result`.

    The time runs from the first job's start to the last job's end, so start-up does not count. It comes from Snoozer's
    ledger, or from the journals of a peer's jobs. `cpu_ms` covers the worker processes from start to end, `work_cpu_ms`
    since they were ready, `server_cpu_ms` the database server and the broker. `mails` is the mail server's count, if it
    counts. `duplicates` are known to the contestant or are the server's surplus. `commands` are a broker's.
    """

    who: str
    round: int
    rows: int
    seconds: float
    rate: float
    p50_wait: float
    p99_wait: float
    cpu_ms: float
    work_cpu_ms: float
    server_cpu_ms: float
    commits: float
    wal_bytes: float
    duplicates: int
    mails: int | None
    commands: float | None


def names(runs: Sequence[Run]) -> list[str]:
    """Return the contestants in the order in which they ran."""
    return list(dict.fromkeys(run.who for run in runs))


def medians(runs: Sequence[Run], who: str) -> dict[str, float]:
    """Return the median of each figure, but the maximum of duplicates, which a median would hide."""
    mine = [asdict(run) for run in runs if run.who == who]
    middle = {name: median(one[name] for one in mine) for name in FIGURES}
    return middle | {"duplicates": max(one["duplicates"] for one in mine)}


def ratios(runs: Sequence[Run], who: str, *, of: str = SNOOZER) -> dict[str, float]:
    """Return the median ratio of the two contestants' figures within a round, so that a slow minute affects both."""
    ours = {run.round: asdict(run) for run in runs if run.who == of}
    theirs = {run.round: asdict(run) for run in runs if run.who == who}
    both = ours.keys() & theirs.keys()
    return {
        name: median(ours[number][name] / theirs[number][name] for number in both)
        for name, (_, _, divides) in FIGURES.items()
        if divides and both and all(theirs[number][name] for number in both)
    }


def table(runs: Sequence[Run], *, title: str, caption: str) -> Table:
    """Return a table with a row of medians for each contestant."""
    drawn = Table(title=title, caption=caption, caption_justify="left", box=box.SIMPLE, pad_edge=False)
    drawn.add_column("", min_width=14)
    for label, _, _ in FIGURES.values():
        drawn.add_column(label, justify="right", no_wrap=True)
    for who in names(runs):
        middle = medians(runs, who)
        drawn.add_row(who, *(form.format(middle[name]) for name, (_, form, _) in FIGURES.items()))
    return drawn
