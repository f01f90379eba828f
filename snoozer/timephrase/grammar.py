"""What a whole phrase may be. Every token must find its place, or the phrase is none of these."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from snoozer.timephrase.datetime_expr import Moment, moments
from snoozer.timephrase.duration_expr import Span, spans
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.recurrence_expr import Repeat, repeats


@dataclass(frozen=True, kw_only=True)
class Instant:
    """One time, perhaps only in case nobody replies by then."""

    what: Span | Moment | Literal["later today"]
    if_no_reply: bool = False


@dataclass(frozen=True, kw_only=True)
class Void:
    """A phrase that is understood and can never be taken: the code says why."""

    code: Literal["past", "too_soon", "negative"]


class UntilReply:
    """No due time: it comes back when somebody replies."""


Phrase = Instant | Repeat | Void | UntilReply


def phrases(tokens: Tokens) -> Iterator[Phrase]:
    """Every way to read the whole row, the most likely first. Leading prepositions carry no meaning."""
    for start in _starts(tokens):
        for what, end in _times(tokens, start):
            if end == len(tokens):
                yield Instant(what=what)
            if any(after == len(tokens) for _, after in tokens.read(end, "no_reply")):
                yield Instant(what=what, if_no_reply=True)
        for repeat, end in repeats(tokens, start):
            if end == len(tokens):
                yield repeat
        if any(end == len(tokens) for _, end in tokens.read(start, "until_reply")):
            yield UntilReply()
        yield from _condition_first(tokens, start)
        yield from _voids(tokens, start)


def says_nothing(tokens: Tokens) -> bool:
    """Whether there is nothing but prepositions."""
    return len(tokens) in _starts(tokens)


def _starts(tokens: Tokens) -> list[int]:
    starts = [0]
    for start in starts:
        starts.extend(end for _, end in tokens.read(start, "lead") if end not in starts)
    return starts


def _times(tokens: Tokens, at: int) -> Iterator[tuple[Span | Moment | Literal["later today"], int]]:
    for _, end in tokens.read(at, "later"):
        yield "later today", end
    for span, end in spans(tokens, at + 1 if tokens.text(at) == "+" else at):
        for after in tokens.maybe(end, "from_now"):
            yield span, after
    yield from moments(tokens, at)


def _condition_first(tokens: Tokens, at: int) -> Iterator[Phrase]:
    for _, end in tokens.read(at, "no_reply"):
        for start in tokens.maybe(end, "within"):
            for what, after in _times(tokens, start):
                if after == len(tokens):
                    yield Instant(what=what, if_no_reply=True)


def _voids(tokens: Tokens, at: int) -> Iterator[Phrase]:
    if tokens.text(at) == "-" and any(end == len(tokens) for _, end in spans(tokens, at + 1)):
        yield Void(code="negative")
    if any(end == len(tokens) for _, end in tokens.read(at, "now")):
        yield Void(code="too_soon")
    if any(end == len(tokens) for end in _gone(tokens, at)):
        yield Void(code="past")


def _gone(tokens: Tokens, at: int) -> Iterator[int]:
    """2 hours ago, vor 2 Stunden, last week."""
    for _, end in spans(tokens, at):
        yield from (after for _, after in tokens.read(end, "ago"))
    for _, start in tokens.read(at, "ago_lead"):
        yield from (end for _, end in spans(tokens, start))
    for _, start in tokens.read(at, "last"):
        for role in ("period", "weekend"):
            yield from (end for _, end in tokens.read(start, role))
