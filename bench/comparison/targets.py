"""Ratios of Snoozer's figures to other contestants' figures, and the target for each ratio."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from bench.comparison.contestants import BEFORE, SMALL, SNOOZER
from bench.comparison.figures import Run, names, ratios
from bench.report import table

LABELS = {"rate": "rate", "cpu_ms": "worker CPU", "work_cpu_ms": "worker CPU, starting not counted"}


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure of `ours` divided by that of `theirs`: at least `least`, or at most `most`."""

    ours: str = SNOOZER
    theirs: str
    figure: str = "rate"
    least: float | None = None
    most: float | None = None

    @property
    def wanted(self) -> str:
        if self.least is not None:
            return f"≥ {self.least:g}"
        return f"≤ {self.most:g}" if self.most is not None else ""

    def holds(self, ratio: float) -> bool:
        """Return whether this ratio meets the target; True if the target has no bounds."""
        return (self.least is None or ratio >= self.least) and (self.most is None or ratio <= self.most)


TARGETS = (
    Target(theirs="baseline, composing", least=0.75),
    Target(ours=f"{SNOOZER}, {SMALL}", theirs=f"baseline, composing, {SMALL}", least=1.0),
    Target(theirs="pgqueuer, composing", least=1.1),
    Target(theirs="pgqueuer, aiosmtplib", least=1.9),
    Target(theirs="pgqueuer, with a ledger"),
    Target(theirs="pgqueuer, with a batched ledger", least=2.0),
    Target(theirs="procrastinate, aiosmtplib", least=5.0),
    Target(theirs="celery, smtplib", least=6.0),
    Target(theirs=BEFORE, figure="cpu_ms", most=0.65),
    Target(theirs=BEFORE, figure="work_cpu_ms", most=0.65),
    Target(theirs=BEFORE),
    *(Target(theirs=f"{queue}, composing") for queue in ("procrastinate", "celery", "awa")),
    Target(theirs="awa, aiosmtplib"),
)


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The ratio of one target, and whether it meets the target."""

    what: str
    ratio: float
    wanted: str
    holds: bool


def reached(runs: Sequence[Run]) -> list[Reached]:
    """Return the targets whose contestants took part, with the ratio of each."""
    took_part, found = names(runs), []
    for target in TARGETS:
        if target.ours not in took_part or target.theirs not in took_part:
            continue
        ratio = ratios(runs, target.theirs, of=target.ours).get(target.figure)
        if ratio is not None:
            what = f"{target.ours} ÷ {target.theirs}: {LABELS[target.figure]}"
            found.append(Reached(what=what, ratio=ratio, wanted=target.wanted, holds=target.holds(ratio)))
    return found


def target_table(found: Sequence[Reached]) -> Table:
    """Return a table of the ratios reached and wanted."""
    return table(
        "Ratios",
        ("", "reached", "wanted", ""),
        [(one.what, f"{one.ratio:.2f}", one.wanted, "" if one.holds else "missed") for one in found],
        caption="Medians of the rounds' own ratios.",
    )
