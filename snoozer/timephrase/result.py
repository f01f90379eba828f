"""The result of parsing: a ParsedTime, or a ParseError with its reason and phrases that would parse."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from snoozer.timephrase.recurrence import Recurrence

Kind = Literal["instant", "recurring", "condition"]
TimeKind = Literal["elapsed", "wall"]


@dataclass(frozen=True, kw_only=True)
class ParsedTime:
    """The meaning of one phrase.

    `at` is aware, with the offset that the person's zone has then; it is None only for a condition without a due time.
    `wall` is the naive time on the clock in `zone` (the person's, or the zone that the phrase names), as the phrase has
    it even if a clock change skips it. `time_kind` tells which of the two is kept if rules of a zone change: `elapsed`
    keeps the instant, `wall` the clock.
    `flags` are sorted; `alternative` is the other instant an `ambiguous` phrase could mean.
    """

    phrase: str
    kind: Kind
    at: datetime | None = None
    zone: str
    wall: datetime | None = None
    time_kind: TimeKind = "wall"
    flags: tuple[str, ...] = ()
    alternative: datetime | None = None
    recurrence: Recurrence | None = None
    condition: str | None = None
    sentence: str

    def as_json(self) -> dict[str, Any]:
        """The body that `snoozer when --json` and `/api/v1/when` return."""
        return {
            "kind": self.kind,
            "at": self.at.isoformat() if self.at else None,
            "flags": list(self.flags),
            "alternative": self.alternative.isoformat() if self.alternative else None,
            "recurrence": self.recurrence.as_json() if self.recurrence else None,
            "condition": self.condition,
            "reading": self.sentence,
        }


class ParseError(ValueError):
    """The phrase is not a time that can be set. `message` is one sentence; each of at most three suggestions parses.

    Codes: empty, unrecognised, past, too_soon, too_far, negative, invalid_date, invalid_time, no_later_today,
    no_vacation, tz_abbreviation, unknown_zone; for a locale given by hand, unknown_locale.
    """

    def __init__(self, code: str, message: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.suggestions = suggestions

    def as_json(self) -> dict[str, Any]:
        return {"error": self.code, "message": self.message, "suggestions": list(self.suggestions)}
