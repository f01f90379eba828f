"""A snooze's status for its owner: a label, an icon, and the answers to "was it sent?" and "why is it not back?"."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from snoozer.domain.state import State, state_of
from snoozer.timephrase.describe import span_in_words
from snoozer.web.text.phrase_text import lower_first
from snoozer.web.text.time_format import TimeFormatter, count_in_words

# A reminder this much later than promised is shown as late; a mail may take as long.
LATE_AFTER = timedelta(seconds=30)

_LABELS = {
    "asleep": ("Asleep", "moon"),
    "due": ("Due", "clock"),
    "claimed": ("Being sent", "plane"),
    "late": ("Late", "late"),
    "uncertain": ("Uncertain", "question"),
    "sent": ("Came back", "sunrise"),
    "stuck": ("Stuck", "stop"),
    "cancelled": ("Cancelled", "slash"),
    "paused": ("Paused", "pause"),
}
_EXPLANATIONS = {
    "asleep": "It waits for its time.",
    "due": "Its time has come. A worker picks it up within moments.",
    "claimed": "A worker holds it and is handing the reminder to the mail server.",
    "paused": "It was switched off in the database. It stays where it is until it is switched on again.",
    "cancelled": "You cancelled it, so no reminder was sent.",
}
_SEND_STATES = {
    "uncertain": "Perhaps. The mail server was given all of it and its answer was lost. "
    "If it is sent once more, it is the same mail with the same Message-ID.",
    "failed": "No. The mail server refused it for good.",
    "sending": "It is being handed over at this moment.",
    "reserved": "Not yet. It is prepared and waits for the mail server.",
}


@dataclass(frozen=True, kw_only=True)
class Status:
    """`label` and `icon` mean the same; `at` is the promised time, or the end of a snooze that is over."""

    state: str
    label: str
    icon: str
    explanation: str
    at: datetime


def status_of(row: Any, *, times: TimeFormatter) -> Status:
    """Returns the status of one row of `queries.snoozes`."""
    state, explanation = _state(row, times)
    label, icon = _LABELS[state]
    at = row.finished_at if state in {"sent", "cancelled"} else row.scheduled_for or row.remind_at
    return Status(state=state, label=label, icon=icon, explanation=explanation, at=at)


def row_state(row: Any, *, now: datetime) -> State:
    """Returns asleep, due, claimed, sent, cancelled, retired or paused."""
    claimed = row.claimed_at is not None
    return state_of(inactive=row.inactive, outcome=row.outcome, claimed=claimed, remind_at=row.remind_at, now=now)


def was_it_sent(row: Any, sends: Any, *, times: TimeFormatter) -> str:
    """Answers from the ledger for the row's current promise; while there is no entry for it, also for the one
    before."""
    if not sends:
        return "No. Nothing has been handed to the mail server for it."
    promise = row.scheduled_for or row.remind_at
    current = next((send for send in sends if send.scheduled_for == promise), None)
    if current is not None:
        return _sent_answer(current, times)
    return (
        f"{'Not yet' if row.outcome is None else 'No'}, for {times.inline(promise)}. "
        f"For the time before, {times.inline(sends[0].scheduled_for)}: {lower_first(_sent_answer(sends[0], times))}"
    )


def _sent_answer(send: Any, times: TimeFormatter) -> str:
    if send.state != "sent":
        return _SEND_STATES[send.state]
    late = _lateness(send)
    return f"Yes. The mail server took it {times.inline(send.sent_at)}{f', {late}' if late else ''}."


def _state(row: Any, times: TimeFormatter) -> tuple[str, str]:
    """Returns the key of the label, and the explanation."""
    state = row_state(row, now=times.now)
    promise = row.scheduled_for or row.remind_at
    if state in {"asleep", "due"} and row.send_state == "uncertain" and row.scheduled_for:
        return "uncertain", (
            "The reminder was handed over, but the mail server's answer was lost. Look into your inbox. "
            f"It is looked at again {times.distance(row.remind_at)}."
        )
    if state == "asleep" and promise <= times.now:
        return "late", _retrying(row, times)
    if state == "due" and times.now - promise > LATE_AFTER:
        return "late", (
            f"It has been due for {span_in_words(times.now - promise)} and no worker has taken it yet. "
            "It goes out as soon as one does; if this lasts, tell an operator of this Snoozer."
        )
    if state == "claimed" and row.lease_expires_at <= times.now:
        return "late", "The worker that held it stopped answering. Another one takes it over within moments."
    if state == "sent":
        return "sent", _sent(row)
    if state == "retired":
        return "stuck", _stuck(row)
    return state, _EXPLANATIONS[state]


def _retrying(row: Any, times: TimeFormatter) -> str:
    tries = f"It was tried {count_in_words(row.attempts)}" if row.attempts else "The mail server could not be reached"
    return f"{tries}. The next try is {times.distance(row.remind_at)}. Nothing is lost, it is kept until it goes out."


def _sent(row: Any) -> str:
    if row.sent_at is None or row.scheduled_for is None:
        return "The reminder is out."
    return f"The reminder went out {_lateness(row) or 'on time'}."


def _lateness(send: Any) -> str | None:
    """Returns "late by 2 minutes", or None for what was on time. The ledger knows, and the mail itself does not."""
    late = send.sent_at - send.scheduled_for
    return f"late by {span_in_words(late)}" if late > LATE_AFTER else None


def _stuck(row: Any) -> str:
    tried = f"It was tried {count_in_words(row.attempts)} and" if row.attempts else "It"
    return (
        f"{tried} could not be delivered. The operators of this Snoozer see it as a case. "
        f"You can snooze it again now{', or take the message back' if row.folder == 'snoozed' else ''}."
    )
