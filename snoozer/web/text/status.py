"""A snooze's status for its owner: a label, an icon, and the answers to "was it sent?" and "why is it not back?"."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from snoozer.db.queries.delivery import DeliveryStatus
from snoozer.domain.reminder import SUPPORTED_SCHEMA
from snoozer.domain.state import State, state_of
from snoozer.web.text.arrival_text import REST_ENDS, arrival_of, arrival_text
from snoozer.web.text.phrase_text import lower_first
from snoozer.web.text.time_format import TimeFormatter, count_in_words, span_in_words

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
    "paused": "Nothing comes until you resume it.",
    "cancelled": "You cancelled it, so no reminder was sent.",
}
# By `delayed_by` of the ledger.
_REASONS = {
    "mail server": "because the mail server was away",
    "recipient": "because the mail server did not take mail for your address at first",
    "worker": "because the program that was sending it was lost",
    "failure": "because earlier tries failed",
    "queue": "because it waited for its turn",
    "mailbox": "because its message was to come back by itself, and did not in time",
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
    """`label` and `icon` mean the same; `at` is the promised time, or the end of a snooze that is over. `lateness` is
    how late its reminder was sent, and why; None where it was on time or was not sent. `asked` is for when it was
    asked, where a rest of its owner defers it."""

    state: str
    label: str
    icon: str
    explanation: str
    at: datetime
    lateness: str | None = None
    asked: str | None = None


def status_of(row: Any, *, times: TimeFormatter, delivery: DeliveryStatus | None = None) -> Status:
    """Returns the status of one row of `queries.snoozes`; `delivery` is whether any can be delivered."""
    state, explanation = _state(row, times, delivery)
    label, icon = _LABELS[state]
    arrival = arrival_of(row, times)
    at = row.finished_at if state in {"sent", "cancelled"} else arrival.at if state == "asleep" else row.promise
    late = _lateness(row.sent_at - due_at(row), row.delayed_by) if state == "sent" and row.sent_at else None
    asked = state == "asleep" and arrival.reason is not None
    return Status(
        state=state,
        label=label,
        icon=icon,
        explanation=arrival_text(row.promise, arrival, times) if asked else explanation,
        at=at,
        lateness=late,
        asked=f"asked for {times.short(row.promise)}" if asked else None,
    )


def due_at(row: Any) -> datetime:
    """Returns when the row was promised, or the end of the rest that deferred it."""
    promise: datetime = row.promise
    return promise if row.deferred_until is None else max(promise, row.deferred_until)


def row_state(row: Any, *, now: datetime) -> State:
    """Returns asleep, due, claimed, sent, cancelled, retired or paused."""
    claimed = row.claimed_at is not None
    return state_of(inactive=row.inactive, outcome=row.outcome, claimed=claimed, due_at=due_at(row), now=now)


def late_because(row: Any, *, now: datetime) -> tuple[timedelta, str] | None:
    """Returns how late the reminder was, or is by now, and why, as a clause; None where it was on time or is not due.
    The ledger knows, and the mail itself does not."""
    if row.sent_at is not None:
        end, reason = row.sent_at, row.delayed_by
    elif row.outcome is None and not row.inactive:
        end, reason = now, _reason_until_now(row)
    else:
        return None
    late = end - due_at(row)
    return (late, _REASONS.get(reason or "", "")) if late > LATE_AFTER else None


def was_it_sent(row: Any, sends: Any, *, times: TimeFormatter) -> str:
    """Answers from the ledger for the row's current promise; while there is no entry for it, also for the one
    before."""
    if not sends and row.outcome == "sent":
        return "No. Its message came back, and you chose to get no reminder beside it."
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
    late = REST_ENDS.get(send.delayed_by or "") or _lateness(send.sent_at - send.scheduled_for, send.delayed_by)
    return f"Yes. The mail server took it {times.inline(send.sent_at)}{f', {late}' if late else ''}."


def _state(row: Any, times: TimeFormatter, delivery: DeliveryStatus | None) -> tuple[str, str]:
    """Returns the key of the label, and the explanation."""
    state = row_state(row, now=times.now)
    if state == "due" and row.send_state == "uncertain" and row.scheduled_for:
        return "uncertain", (
            "The reminder was handed over, but the mail server's answer was lost. Look into your inbox. "
            f"It is looked at again {times.distance(row.remind_at)}."
        )
    if state == "due" and row.remind_at > times.now:
        return "late", f"{_retrying(row, times)}{_where(row)}"
    if state == "due" and times.now - due_at(row) > LATE_AFTER:
        return "late", f"{_waiting(row, times, delivery)}{_where(row)}"
    if state == "claimed" and row.lease_expires_at <= times.now:
        return "late", "The worker that held it stopped answering. Another one takes it over within moments."
    if state == "sent":
        return "sent", _sent(row)
    if state == "retired":
        return "stuck", _stuck(row)
    return state, _EXPLANATIONS[state]


def _reason_until_now(row: Any) -> str | None:
    """Why a reminder that is overdue was not sent yet, as the ledger would say once it is."""
    if row.refusals:
        return "recipient"
    if row.attempts:
        return "failure"
    failed = row.last_error_at is not None and row.last_error_at >= due_at(row)
    return "mail server" if failed else row.delayed_by


def _retrying(row: Any, times: TimeFormatter) -> str:
    if row.refusals:
        tries = (
            f"The mail server does not take the reminder for your address for now, and was asked "
            f"{count_in_words(row.refusals)}"
        )
    elif row.attempts:
        tries = f"It was tried {count_in_words(row.attempts)}"
    elif row.last_error is None:
        return (
            "Its message is on its way back to your mailbox. If it is not there a quarter of an hour after its time, a "
            "reminder is sent."
        )
    else:
        tries = "The mail server could not be reached"
    return f"{tries}. The next try is {times.distance(row.remind_at)}. Nothing is lost, it is kept until it goes out."


def _waiting(row: Any, times: TimeFormatter, delivery: DeliveryStatus | None) -> str:
    due = f"It has been due for {span_in_words(times.now - due_at(row))}"
    if delivery is not None and delivery.away_since is not None:
        return (
            f"{due}, and the mail server has not been taking mail since {times.inline(delivery.away_since)}. "
            "It goes out when the mail server does."
        )
    if row.schema_version > SUPPORTED_SCHEMA:
        return (
            f"{due}. A newer release of Snoozer wrote it, and workers of this one leave it to those of that release; "
            "if this lasts, tell an operator of this Snoozer."
        )
    next_step = "It goes out as soon as one does"
    if row.serialization_key is not None:
        next_step = "Reminders that share its key go out one after the other, and it goes out in its turn"
    return f"{due} and no worker has taken it yet. {next_step}; if this lasts, tell an operator of this Snoozer."


def _where(row: Any) -> str:
    """Returns where the kept message is, which returns whatever becomes of its reminder."""
    return " The message itself is back in your inbox." if row.folder == "inbox" else ""


def _sent(row: Any) -> str:
    if row.sent_at is None or row.scheduled_for is None:
        return "Its message is back in your mailbox. You chose to get no reminder beside it."
    if row.deferred_by is not None:
        late = _lateness(row.sent_at - due_at(row), row.delayed_by)
        return f"The reminder went out {REST_ENDS.get(row.deferred_by, 'later')}{f', {late}' if late else ''}."
    return f"The reminder went out {_lateness(row.sent_at - row.scheduled_for, row.delayed_by) or 'on time'}."


def _lateness(late: timedelta, reason: str | None) -> str | None:
    """Returns "late by 2 minutes, because …", or None for what was on time."""
    because = _REASONS.get(reason or "")
    return f"late by {span_in_words(late)}{f', {because}' if because else ''}" if late > LATE_AFTER else None


def _stuck(row: Any) -> str:
    tried = f"It was tried {count_in_words(row.attempts)} and" if row.attempts else "The reminder"
    return (
        f"{tried} could not be delivered.{_where(row)} The operators of this Snoozer see it as a case. "
        f"You can snooze it again now{', or take the message back' if row.folder == 'snoozed' else ''}."
    )
