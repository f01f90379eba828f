"""The later times of a ladder: then in 3 more days, dann noch einmal nach 3 Tagen.

Each is counted from the time before it. A length that could as well be counted from now is not guessed at.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.duration_expr import Duration, durations, figures, of_unit
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.result import ParseError
from snoozer.translations import gettext


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """The lengths from each time to the next; with `unclear` a length may be counted from now."""

    steps: tuple[Duration, ...]
    unclear: bool = False

    def recurrence(self, first: datetime, context: ParseContext) -> Recurrence:
        """The times after the first one, which is on the clock. Raises ParseError if no recurrence has them."""
        if self.unclear:
            raise ParseError(
                "unrecognised",
                gettext("Is that counted from now, or from the time before it? Write 3 more days, or 3 days later."),
            )
        step = self.steps[0]
        if not all(one.whole_days for one in self.steps) or step.is_zero:
            raise ParseError("unrecognised", gettext("It comes again after days, weeks or months. After how many?"))
        lengths = {(one.months, one.days, one.workdays) for one in self.steps}
        if len(self.steps) > 1 and (len(lengths) > 1 or step.workdays or (step.months and step.days)):
            raise ParseError("unrecognised", gettext("After the second time it repeats by one length. Which one?"))
        start = step.add_to(first.date(), context.hours.workdays).day
        by_month = len(self.steps) > 1 and step.months > 0
        return Recurrence(
            unit="month" if by_month else "day",
            interval=step.months if by_month else step.days or 1,
            start=start,
            at=first.time(),
            day=first.day if by_month else None,
            times=len(self.steps),
            kind="ladder",
        )


def rungs(tokens: Tokens, at: int, *, first: object) -> Iterator[tuple[Ladder, int]]:
    """The later times that start here, one or several; a number without a unit has that of the length before it."""
    before = first if isinstance(first, Duration) else None
    yield from _more(tokens, at, before, Ladder(steps=()))


def _more(tokens: Tokens, at: int, before: Duration | None, ladder: Ladder) -> Iterator[tuple[Ladder, int]]:
    for _, start in tokens.match(at, "then"):
        for step, is_clear, end in _step(tokens, start, before):
            longer = Ladder(steps=(*ladder.steps, step), unclear=ladder.unclear or not is_clear)
            yield from _more(tokens, end, step, longer)
            yield longer, end


def _step(tokens: Tokens, at: int, before: Duration | None) -> Iterator[tuple[Duration, bool, int]]:
    """The length, whether it says that it is counted from the time before, and its end."""
    for lead in tokens.optional(at, "lead"):
        for start in {lead, *tokens.optional(lead, "more")}:
            for step, end in durations(tokens, start):
                for last in tokens.optional(end, "more"):
                    yield step, start > lead or last > end, last
            for number, middle in figures(tokens, start):
                for after in tokens.optional(middle, "more"):
                    is_clear = start > lead or after > middle
                    for unit, end in tokens.match(after, "unit") if after > middle else ():
                        if (length := of_unit(number, unit)) is not None:
                            yield length, True, end
                    for _, end in tokens.match(after, "workday") if after > middle else ():
                        yield Duration(workdays=int(number), units=frozenset({"workday"})), True, end
                    if before is not None and len(before.units) == 1 and is_clear:
                        (same,) = before.units
                        if (length := of_unit(number, same)) is not None:
                            yield length, True, after
