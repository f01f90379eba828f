"""What people asked for, and what follows from it: which reminders must arrive, which may, and which may not.

Everything follows from when a wish was asked and answered, by the clock of the harness. The database is not consulted.
"""

from dataclasses import dataclass, field
from typing import Literal

# The answer to a wish: it changed what was asleep, it began a new snooze because the last one was over, or it changed
# nothing because that was over.
Answer = Literal["done", "anew", "over"]

# A claim's transaction may begin this long before its time is that of the due row.
ROUNDING = 0.001
# A dot may be authorised this long before its time, if the database is slow (delivery/ahead.py); an edit that was
# answered within it may find the mail leaving.
AHEAD = 0.12
# How long after the answer to a cancellation its reminder may still arrive: the lease of a worker whose dot was
# authorised before, and what a busy machine takes to hand it over.
GRACE = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """A person asked for a reminder at `due`, or (None) for none any more. `answer` is None where none came."""

    number: int
    due: float | None
    asked_at: float
    answered_at: float | None
    answer: Answer | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """All that was wished about one message, in its order: each wish was answered before the next one."""

    user_email: str
    message_id: str
    wishes: tuple[Wish, ...]
    key: str | None = None

    @property
    def acknowledged(self) -> bool:
        """Was the first wish answered: is a snooze owed?"""
        return self.wishes[0].answer is not None

    @property
    def has_one_row(self) -> bool:
        """Was it surely never snoozed anew, in a row without a key?"""
        return all(wish.answer not in (None, "anew") for wish in self.wishes[1:])

    @property
    def is_unchanged(self) -> bool:
        """Did only the first wish take effect?"""
        return all(wish.answer == "over" for wish in self.wishes[1:])


@dataclass(kw_only=True, slots=True)
class Promise:
    """One reminder that was asked for at `due`, and since when; its mail shows the note of one of `wishes`.

    `withdrawn_at` is when it was answered that it will not be sent, `may_arrive` whether it could have been by then.
    """

    due: float
    since: float
    wishes: set[int]
    entered: tuple[float, float]
    may_arrive: bool = True
    withdrawn_at: float = float("inf")

    @property
    def due_since(self) -> float:
        """When it was due and known to be wanted."""
        return max(self.due, self.since)

    @property
    def last_arrival(self) -> float:
        """After this, the end of its mail may not be read."""
        return self.withdrawn_at + GRACE

    def withdraw(self, at: float) -> None:
        self.withdrawn_at = at
        self.may_arrive = at >= self.due - AHEAD

    def could_be_dated(self, date: float) -> bool:
        """Is this the second of the promise, or of its entry if it was due already?"""
        first, last = self.entered
        return abs(date - self.due) <= 1 or (self.due <= date + 1 and first - 1 <= date <= last + 1)


@dataclass(kw_only=True, slots=True)
class Expectation:
    """What may arrive for one message; of each set in `owed` (numbers of promises) at least one must."""

    promises: list[Promise] = field(default_factory=list)
    owed: list[set[int]] = field(default_factory=list)

    def promise_of(self, wish: int | None) -> int | None:
        """The number of the promise whose mail may show this wish's note; None when there is none."""
        shown = 0 if wish is None else wish
        return next((number for number, one in enumerate(self.promises) if shown in one.wishes), None)


def expectation(asked: Asked) -> Expectation:
    """What follows from the wishes about one message."""
    expected = Expectation()
    current: int | None = None
    for wish in asked.wishes:
        if wish.answer == "over":
            continue
        if wish.due is None:
            _cancel(expected, current, wish)
            current = None
        elif current is not None and expected.promises[current].due == wish.due:
            _change_note(expected.promises[current], wish)
        else:
            current = _promise(expected, current, wish)
    return expected


def _cancel(expected: Expectation, current: int | None, wish: Wish) -> None:
    if current is None:
        return
    expected.owed.remove({current})
    if wish.answered_at is not None:
        expected.promises[current].withdraw(wish.answered_at)


def _change_note(promise: Promise, wish: Wish) -> None:
    is_in_time = wish.answered_at is not None and wish.answered_at < promise.due - AHEAD
    promise.wishes = {wish.number} if is_in_time else promise.wishes | {wish.number}


def _promise(expected: Expectation, current: int | None, wish: Wish) -> int:
    """A new time. Where no answer came, the old one is kept or the new one."""
    assert wish.due is not None
    number, answered_at = len(expected.promises), wish.answered_at
    begins = current is None or wish.answer == "anew"
    entered = (wish.asked_at, answered_at or float("inf")) if begins else expected.promises[-1].entered
    since = float("inf") if answered_at is None else answered_at
    expected.promises.append(Promise(due=wish.due, since=since, wishes={wish.number}, entered=entered))
    if wish.answer == "done" and current is not None:
        expected.owed.remove({current})
        expected.promises[current].withdraw(since)
    if wish.answer is not None:
        expected.owed.append({number})
    elif current is not None:
        expected.owed.remove({current})
        expected.owed.append({current, number})
    return number
