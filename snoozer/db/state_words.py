"""Words for the state of a snooze and of its reminder, as programs and people read them.

The function `snooze_state` of the database decides which state a row has.
"""

from typing import Literal, get_args

State = Literal["asleep", "due", "claimed", "sent", "cancelled", "retired", "paused"]
Answer = Literal["yes", "no", "perhaps", "not yet"]

_PUBLIC: dict[str, State] = {state: state for state in get_args(State)}
_PUBLIC |= {"waiting": "due", "uncertain": "due", "held": "claimed", "leaving": "claimed", "case": "retired"}


def public_state(state: str, why: str | None) -> State:
    """The state that API and pages show. An overdue snooze is due, even while it waits for another try; a snooze that a
    rest of its owner defers is asleep."""
    return "asleep" if why == "rest" else _PUBLIC[state]


def was_sent(state: str | None, resolution: str | None) -> Answer:
    """Whether a reminder was sent, by its entry in the ledger; `state` is None without an entry."""
    if state in {"sending", "uncertain"} or (state, resolution) == ("failed", "dismissed"):
        return "perhaps"
    return "yes" if state == "sent" else "not yet" if state == "reserved" else "no"
