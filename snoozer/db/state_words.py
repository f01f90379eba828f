"""Words for the state of a snooze and of its reminder, as programs and people read them.

The function `snooze_state` of the database decides which state a row has.
"""

from typing import Literal, get_args

State = Literal["asleep", "due", "claimed", "sent", "cancelled", "retired", "paused"]
Answer = Literal["yes", "no", "perhaps", "not yet"]

_REFUSED_FOR_GOOD = 500

_PUBLIC: dict[str, State] = {state: state for state in get_args(State)}
_PUBLIC |= {"waiting": "due", "uncertain": "due", "held": "claimed", "leaving": "claimed", "case": "retired"}


def public_state(state: str, why: str | None) -> State:
    """The state that API and pages show. An overdue snooze is due, even while it waits for another try; a snooze that a
    rest of its owner defers is asleep."""
    return "asleep" if why == "rest" else _PUBLIC[state]


def was_sent(state: str | None, resolution: str | None, smtp_code: int | None) -> Answer:
    """Whether a reminder was sent, by its entry in the ledger; `state` is None without an entry. A failed reminder
    may still be sent, unless the server refused it for good or a person gave it up."""
    if state in {"sending", "uncertain"} or (state, resolution) == ("failed", "dismissed"):
        return "perhaps"
    if state == "sent":
        return "yes"
    is_over = (smtp_code or 0) >= _REFUSED_FOR_GOOD or resolution in {"dropped", "no longer wanted"}
    return "no" if state is None or is_over else "not yet"
