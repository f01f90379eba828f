"""The grammar of whole phrases. A phrase that leaves a token over does not match."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from snoozer.timephrase.datetime_expr import LENGTHLESS, DateTimeExpr, datetimes
from snoozer.timephrase.duration_expr import Duration, RoughDuration, durations, rough_durations
from snoozer.timephrase.ladder_expr import Ladder, rungs
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.recurrence_expr import RecurrenceExpr, recurrences

Condition = Literal["no_reply", "until_reply"]
When = Duration | RoughDuration | DateTimeExpr | Literal["later today"]


@dataclass(frozen=True, kw_only=True)
class SingleTime:
    """One time. With the condition `no_reply` a reply before it cancels it; with `until_reply` a reply comes first."""

    when: When
    condition: Condition | None = None


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """A phrase of the grammar that can never be a reminder; `reason` selects the error."""

    reason: Literal["past", "too_soon", "negative", "no_unit"]


class UntilReply:
    """A reminder without a due time: it comes back with a reply."""


class Someday:
    """A snooze without a date, on the list that its person reviews."""


@dataclass(frozen=True, kw_only=True)
class LadderExpr:
    """A first time, and times counted from it at which it comes again; a reply ends it if there is a condition."""

    first: SingleTime
    ladder: Ladder


Interpretation = SingleTime | RecurrenceExpr | Rejected | UntilReply | Someday | LadderExpr


def interpretations(tokens: Tokens) -> Iterator[Interpretation]:
    """Every interpretation of the whole row, the most likely first. Leading prepositions are ignored."""
    for start in _starts(tokens):
        for when, end in _times(tokens, start):
            if end == len(tokens):
                yield SingleTime(when=when)
            if any(after == len(tokens) for _, after in tokens.match(end, "no_reply")):
                yield SingleTime(when=when, condition="no_reply")
            if any(after == len(tokens) for after in _or_a_reply(tokens, end)):
                yield SingleTime(when=when, condition="until_reply")
            yield from _ladders(tokens, when, end)
        for recurrence, end in recurrences(tokens, start):
            if end == len(tokens):
                yield recurrence
        if any(end == len(tokens) for _, end in tokens.match(start, "until_reply")):
            yield UntilReply()
        if any(end == len(tokens) for _, end in tokens.match(start, "someday")):
            yield Someday()
        yield from _condition_first(tokens, start)
        yield from _rejected(tokens, start)


def is_blank(tokens: Tokens) -> bool:
    """Whether there are no tokens except prepositions."""
    return len(tokens) in _starts(tokens)


def _starts(tokens: Tokens) -> list[int]:
    starts = [0]
    for start in starts:
        starts.extend(end for _, end in tokens.match(start, "lead") if end not in starts)
    return starts


def _times(tokens: Tokens, at: int) -> Iterator[tuple[When, int]]:
    for _, end in tokens.match(at, "later"):
        yield "later today", end
    for duration, end in durations(tokens, at + 1 if tokens.text(at) == "+" else at):
        for after in tokens.optional(end, "from_now"):
            if after > end or tokens.says(at) not in LENGTHLESS:
                yield duration, after
    for rough, end in rough_durations(tokens, at):
        for after in tokens.optional(end, "from_now"):
            yield rough, after
    yield from datetimes(tokens, at)


def _or_a_reply(tokens: Tokens, at: int) -> Iterator[int]:
    """friday, or until they reply."""
    for _, middle in tokens.match(at, "or"):
        for start in tokens.optional(middle, "lead"):
            yield from (end for _, end in tokens.match(start, "until_reply"))


def _condition_first(tokens: Tokens, at: int) -> Iterator[Interpretation]:
    ends: list[tuple[Condition, int]] = [("no_reply", end) for _, end in tokens.match(at, "no_reply")]
    for _, end in tokens.match(at, "until_reply"):
        ends.extend(("until_reply", after) for _, after in tokens.match(end, "or"))
    for condition, end in ends:
        for start in tokens.optional(end, "within"):
            for when, after in _times(tokens, start):
                if after == len(tokens):
                    yield SingleTime(when=when, condition=condition)
                if condition == "no_reply":
                    for ladder, last in rungs(tokens, after, first=when):
                        if last == len(tokens):
                            yield LadderExpr(first=SingleTime(when=when, condition=condition), ladder=ladder)


def _ladders(tokens: Tokens, when: When, end: int) -> Iterator[Interpretation]:
    """in 2 days, then in 3 more, if no reply; the condition may stand before "then", or be missing."""
    for start in tokens.optional(end, "no_reply"):
        for ladder, after in rungs(tokens, start, first=when):
            for last in tokens.optional(after, "no_reply") if start == end else (after,):
                if last == len(tokens):
                    condition: Condition | None = "no_reply" if (start, last) != (end, after) else None
                    yield LadderExpr(first=SingleTime(when=when, condition=condition), ladder=ladder)


def _rejected(tokens: Tokens, at: int) -> Iterator[Interpretation]:
    if tokens.text(at) == "-" and any(end == len(tokens) for _, end in durations(tokens, at + 1)):
        yield Rejected(reason="negative")
    if any(end == len(tokens) for _, end in tokens.match(at, "now")):
        yield Rejected(reason="too_soon")
    if any(end == len(tokens) for end in _past(tokens, at)):
        yield Rejected(reason="past")
    if tokens.says(at) == "length" and any(end == len(tokens) for end in _numbers(tokens, at)):
        yield Rejected(reason="no_unit")


def _numbers(tokens: Tokens, at: int) -> Iterator[int]:
    if tokens.shape(at) in ("integer", "decimal", "dotted", "clock"):
        yield at + 1
    yield from (end for _, end in tokens.numbers(at, "number"))


def _past(tokens: Tokens, at: int) -> Iterator[int]:
    """2 hours ago, vor 2 Stunden, last week."""
    for _, end in durations(tokens, at):
        yield from (after for _, after in tokens.match(end, "ago"))
    for _, start in tokens.match(at, "ago_lead"):
        yield from (end for _, end in durations(tokens, start))
    for _, start in tokens.match(at, "last"):
        for role in ("period", "weekend"):
            yield from (end for _, end in tokens.match(start, role))
