"""The types of the engine: the actor, the act, its decision about a snooze, and its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from snoozer.db.mailbox_store import KeptFolder
from snoozer.queue.changes import Chosen, Terms
from snoozer.queue.promise import DEFAULT_OPTIONS, EnqueueOptions, ReminderTime
from snoozer.snoozes.input import Message, SnoozeError, ended_recurrence
from snoozer.timephrase.result import ParsedTime
from snoozer.translations import N_

MAY_ARRIVE = N_("A reminder was on its way already, so it may still arrive.")


class By(NamedTuple):
    """Who acts, and through which door. Without `user_email`, an operator or a program acts on anybody's snoozes;
    `token_id` is the token of a person's program."""

    user_email: str | None
    door: str
    actor: str = "user"
    token_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The outcome that an act chooses for a snooze: its `terms`, and the `kind` of its event, if any, with `detail`.

    `folder` is where its message goes: to `snoozed` only if it is back, unless it goes `anyway`. With `returns`, it
    comes back to its mailbox now, if it has one. `places` are where messages were before what is undone; with
    `unless_moved`, nothing is done if its owner has moved its message.
    """

    terms: Terms
    kind: str | None
    detail: Mapping[str, object] = field(default_factory=dict)
    folder: KeptFolder | None = None
    anyway: bool = False
    returns: bool = False
    places: Mapping[str, Any] = field(default_factory=dict)
    unless_moved: bool = False


class Act(Protocol):
    """An act, with the facts that it needs."""

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """Returns the decision about a locked snooze. Raises SnoozeError to leave it as it is."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of an act on one snooze, which was `before`, None if it is gone or is new. `left` says why nothing was
    done. `event` undoes it, `terms` is what holds now. `may_arrive` is True if a copy for the former promise may still
    arrive, `by_mail` if its message comes back by a reminder alone."""

    id: int
    before: Chosen | None
    left: SnoozeError | None = None
    event: int | None = None
    terms: Terms | None = None
    may_arrive: bool = False
    by_mail: bool = False

    @property
    def ended(self) -> dict[str, Any] | None:
        """The recurrence that the act ended, as JSON."""
        if self.before is None or self.terms is None or self.terms.outcome is not None:
            return None
        return ended_recurrence(self.before.recurrence, self.terms.recurrence)


class Undoing:
    """Marks the act that may change finished snoozes."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A message to be snoozed, the time, the phrase as it was read, and its options. It is searched for in the
    connected mailboxes `search_in`; in all of its owner's if that is None. If `whole`, older messages of its
    conversation leave with it."""

    message: Message
    time: ReminderTime
    reading: ParsedTime | None = None
    options: EnqueueOptions = DEFAULT_OPTIONS
    search_in: Sequence[int] | None = None
    whole: bool = True
