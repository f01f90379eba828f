"""Sent and failed over time, as the shapes of an SVG: sent upwards from a line, failed downwards."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from snoozer.db.minutes import Span

MINUTE = timedelta(minutes=1)
# Units of the drawing: the height for sent, the height for failed, and the width of a step.
SENT_HEIGHT, FAILED_HEIGHT, STEP_WIDTH = 60.0, 20.0, 6.0
# The smallest height of a bar, so that small values stay visible.
LEAST_HEIGHT = 1.5
_GAP_WIDTH = 1.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the chart's table: `recorded` is the share of its time for which there is data."""

    starts_at: datetime
    sent: int
    retried: int
    failed: int
    p50: float | None
    p99: float | None
    recorded: float


@dataclass(frozen=True, kw_only=True)
class Chart:
    """`sent`, `failed` and `unknown` are the data of paths. `most_sent` and `most_failed` per minute are the scales,
    which fill their heights; `failed` counts failed attempts, whether or not they were repeated."""

    sent: str
    failed: str
    unknown: str
    width: float
    most_sent: float
    most_failed: float
    total_sent: int
    total_failed: int
    total_retried: int
    starts_at: datetime
    ends_at: datetime
    rows: Sequence[Row]

    @property
    def height(self) -> float:
        return SENT_HEIGHT + FAILED_HEIGHT


def chart(spans: Sequence[Span], *, step: timedelta, rows_of: int, until: datetime) -> Chart:
    """The chart of these steps; its table has one line per `rows_of` steps. There must be at least one step, and the
    last may go on after `until`."""
    minutes = step / MINUTE
    sent = [_rate(span.sent, span) for span in spans]
    failed = [_rate(span.retried + span.failed, span) for span in spans]
    most_sent, most_failed = max(sent), max(failed)
    return Chart(
        sent=_bars(sent, most=most_sent, height=-SENT_HEIGHT),
        failed=_bars(failed, most=most_failed, height=FAILED_HEIGHT),
        unknown="".join(_box(n, -SENT_HEIGHT, whole=True) for n, span in enumerate(spans) if not span.recorded),
        width=len(spans) * STEP_WIDTH,
        most_sent=most_sent,
        most_failed=most_failed,
        total_sent=sum(span.sent for span in spans),
        total_failed=sum(span.failed for span in spans),
        total_retried=sum(span.retried for span in spans),
        starts_at=spans[0].starts_at,
        ends_at=min(spans[-1].starts_at + step, until),
        rows=[
            _row(spans[n : n + rows_of], minutes=minutes)
            for n in range(len(spans) - rows_of, -rows_of, -rows_of)
            if n >= 0
        ],
    )


def _rate(number: int, span: Span) -> float:
    """The rate per minute, over the minutes with data."""
    return number / span.recorded if span.recorded else 0.0


def _bars(rates: Iterable[float], *, most: float, height: float) -> str:
    return "".join(
        _box(number, (1 if height > 0 else -1) * max(abs(height) * rate / most, LEAST_HEIGHT))
        for number, rate in enumerate(rates)
        if rate
    )


def _box(number: int, height: float, *, whole: bool = False) -> str:
    """A rectangle from the line: upwards if `height` is negative. A `whole` one leaves no gap next to it."""
    width = STEP_WIDTH if whole else STEP_WIDTH - _GAP_WIDTH
    return f"M{number * STEP_WIDTH:g} {SENT_HEIGHT:g}v{height:.1f}h{width:g}v{-height:.1f}z"


def _row(spans: Sequence[Span], *, minutes: float) -> Row:
    sent = sum(span.sent for span in spans)
    slowest = [span.p99 for span in spans if span.p99 is not None]
    middles = [span.p50 * span.sent for span in spans if span.p50 is not None]
    return Row(
        starts_at=spans[0].starts_at,
        sent=sent,
        retried=sum(span.retried for span in spans),
        failed=sum(span.failed for span in spans),
        p50=sum(middles) / sent if sent and middles else None,
        p99=max(slowest, default=None),
        recorded=sum(span.recorded for span in spans) / (minutes * len(spans)),
    )
