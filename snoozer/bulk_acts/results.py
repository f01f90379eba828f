"""What acts on many messages come to: how many were changed, why the others were left, and what all were before."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from snoozer.db.queue_many import Chosen

# The most messages of one act.
MAX_CHOSEN = 500

Act = Literal["snooze", "wake", "cancel", "done", "to_inbox", "bring_home", "give_back"]
# Why a message was left as it is.
Reason = Literal["came_back", "being_sent", "due", "cancelled", "stuck", "paused", "snoozed", "changed", "gone"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """How many were changed, how many were left for each reason, and how many repetitions a new time ended. `until` is
    that time; `more` is True where only the first of those that were chosen were taken."""

    act: Act
    done: int
    left: dict[Reason, int] = field(default_factory=dict)
    ended: int = 0
    until: datetime | None = None
    more: bool = False

    def as_json(self) -> dict[str, Any]:
        """The inverse of `from_json`."""
        return {**vars(self), "until": None if self.until is None else self.until.isoformat()}

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> "Result":
        """What an act came to, as `bulk_acts` keeps it."""
        until = json.get("until")
        return cls(**{**json, "until": None if until is None else datetime.fromisoformat(until)})


@dataclass(frozen=True, kw_only=True)
class Undone:
    """How many are as they were before, and how many could not be put back, for each reason."""

    done: int
    left: dict[Reason, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Before:
    """What an act changed, as it was: snoozes, messages that Snoozer keeps, and where those of connected mailboxes were
    wanted. `created` are snoozes that there were none of; `moves` are messages of connected mailboxes that were put
    elsewhere: the entry of each, its place then, and where it was wanted."""

    snoozes: list[dict[str, Any]] = field(default_factory=list)
    created: list[int] = field(default_factory=list)
    kept: list[dict[str, Any]] = field(default_factory=list)
    wanted: list[tuple[int, str, str]] = field(default_factory=list)
    moves: Sequence[tuple[int, str, str]] = ()


class Done(NamedTuple):
    """What an act came to, and what it changed as it was."""

    result: Result
    before: Before


def reason_to_leave(row: Chosen, *, paused: Reason | None = "paused") -> Reason | None:
    """Why nothing is done with a snooze; None where something is."""
    if row.outcome is not None:
        over: dict[str, Reason] = {"sent": "came_back", "cancelled": "cancelled", "retired": "stuck"}
        return over[row.outcome]
    if row.claimed:
        return "being_sent"
    return paused if row.inactive else None


def left_as(*, gone: int) -> Counter[Reason]:
    left: Counter[Reason] = Counter()
    left["gone"] = gone
    return left


def counted(left: Counter[Reason]) -> dict[Reason, int]:
    return {reason: count for reason, count in left.items() if count > 0}
