"""Measures how late the mail server accepts mails that are due later: at scattered times, or all at one moment."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.table import Table

from bench.comparison.contestants import SNOOZER, AtWork, Contestant, at_work
from bench.comparison.stage import Stage
from bench.mail_server import read_journal
from bench.report import BenchError, Progress, percentile, table
from bench.schedule import Schedule, recipient

WARM_UP = 20
# Jobs are inserted before the first one is due: seconds for starting, and rows a second for the slowest.
LEAD_SECONDS, INSERTS_PER_SECOND = 3.0, 400.0
TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.2
WANTED_P99_MS = 50


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """Milliseconds from when each mail was due until the mail server had accepted it, in a round."""

    who: str
    round: int
    rows: int
    first_ms: float
    p50_ms: float
    p99_ms: float
    last_ms: float
    curve: tuple[tuple[float, float], ...]

    @property
    def figures(self) -> dict[str, object]:
        """Return every field except the curve."""
        return {name: value for name, value in vars(self).items() if name != "curve"}


def measure(
    contestant: Contestant,
    stage: Stage,
    *,
    rows: int,
    seconds: float,
    number: int,
    progress: Progress,
) -> Lateness:
    """`rows` mails within `seconds` (0: all at one moment), onto idle workers, in round `number`.

    Raises BenchError when not all are sent.
    """
    accepted = stage.accepted
    accepted.write_bytes(b"")
    with at_work(contestant, stage) as workers:
        workers.enqueue(Schedule(rows=WARM_UP))
        _wait_for(accepted, count=WARM_UP, until=time.time())
        lead = LEAD_SECONDS + rows / INSERTS_PER_SECOND
        schedule = Schedule(rows=rows, first=WARM_UP, start=time.time() + lead, seconds=seconds)
        _enqueue_ahead(workers, schedule, who=contestant.name)
        due = dict(zip(map(recipient, schedule.numbers), schedule.due_times() or [], strict=True))
        _wait_for(accepted, count=WARM_UP + rows, until=max(due.values()), progress=progress)
    late = sorted(1000 * (at - due[who]) for who, at in read_journal(accepted) if who in due)
    return Lateness(
        who=contestant.name,
        round=number,
        rows=rows,
        first_ms=late[0],
        p50_ms=percentile(late, 0.5),
        p99_ms=percentile(late, 0.99),
        last_ms=late[-1],
        curve=tuple((100 * (rank + 1) / len(late), one) for rank, one in enumerate(late)),
    )


def _enqueue_ahead(workers: AtWork, schedule: Schedule, *, who: str) -> None:
    workers.enqueue(schedule)
    if schedule.start is not None and time.time() > schedule.start:
        raise BenchError(f"The jobs of {who} were inserted after the first was due; try fewer")


def _wait_for(accepted: Path, *, count: int, until: float, progress: Progress = lambda done: None) -> None:
    while (done := _count(accepted)) < count:
        progress(max(0, done - WARM_UP))
        if time.time() > until + TIMEOUT_SECONDS:
            raise BenchError(f"{count - done} of {count} mails were not sent after {TIMEOUT_SECONDS:g} s")
        time.sleep(POLL_SECONDS)


def _count(accepted: Path) -> int:
    with suppress(FileNotFoundError):
        return accepted.read_bytes().count(b"\n")
    return 0


def medians(rounds: Sequence[Lateness], who: str) -> dict[str, float]:
    """Return the median of each figure, but the maximum of `last_ms`."""
    mine = [one for one in rounds if one.who == who]
    middle = {name: median(getattr(one, name) for one in mine) for name in ("first_ms", "p50_ms", "p99_ms")}
    return middle | {"last_ms": max(one.last_ms for one in mine)}


def names(rounds: Sequence[Lateness]) -> list[str]:
    """Return the contestants in the order in which they ran in the first round."""
    return list(dict.fromkeys(one.who for one in sorted(rounds, key=lambda one: one.round)))


def lateness_table(rounds: Sequence[Lateness], *, rate: float) -> Table:
    """Return a table of each contestant's lateness when jobs are due at random moments."""
    rows = [(who, medians(rounds, who)) for who in names(rounds)]
    return table(
        f"Scheduled ahead, {rate:g} a second: how late, in milliseconds",
        ("", "p50", "p99", "worst"),
        [(who, *(f"{one[name]:,.1f}" for name in ("p50_ms", "p99_ms", "last_ms"))) for who, one in rows],
        caption=f"Medians of the rounds; the worst of all. Wanted: Snoozer's p99 ≤ {WANTED_P99_MS} and the lowest.",
    )


def burst_table(rounds: Sequence[Lateness], *, rows: int) -> Table:
    """Return a table of when the first and the last mail of a burst were accepted."""
    drawn = [(who, medians(rounds, who)) for who in names(rounds)]
    return table(
        f"Burst: {rows:,} due at one moment, idle workers; milliseconds until a mail is accepted",
        ("", "first", "p50", "p99", "last"),
        [(who, *(f"{one[n]:,.0f}" for n in ("first_ms", "p50_ms", "p99_ms", "last_ms"))) for who, one in drawn],
        caption="Medians of the rounds; of the last mail the worst.",
    )


def is_lowest(rounds: Sequence[Lateness]) -> bool:
    """Return whether Snoozer's p99 is below the p99 of every other contestant."""
    p99 = {who: medians(rounds, who)["p99_ms"] for who in names(rounds)}
    return all(p99[SNOOZER] < late for who, late in p99.items() if who != SNOOZER)
