"""Words for the state of a snooze, as programs and people read them.

The function `snooze_state` of the database decides which state a row has.
"""

from typing import Literal, get_args

State = Literal["asleep", "due", "claimed", "sent", "cancelled", "retired", "paused"]

_PUBLIC: dict[str, State] = {state: state for state in get_args(State)}
_PUBLIC |= {"waiting": "due", "uncertain": "due", "held": "claimed", "leaving": "claimed", "case": "retired"}


def public_state(state: str, why: str | None) -> State:
    """The word of API and pages. An overdue snooze is due, also while it waits for another try; one that a rest of its
    owner defers is asleep."""
    return "asleep" if why == "rest" else _PUBLIC[state]
