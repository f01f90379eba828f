"""Where a snooze stands, in a person's words: one word, one shape, and the answers to "was it sent?" and "why not?"."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from snoozer.domain.state import state_of
from snoozer.timephrase.describe import span_in_words
from snoozer.web.text.time_format import Clock, so_often

# A reminder this much later than promised is called late; less is the time a mail takes.
PATIENCE = timedelta(seconds=30)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """`word` and `shape` (an icon) say the same thing; `why` is the sentence behind them; `when` is the promise."""

    state: str
    word: str
    shape: str
    why: str
    when: datetime


def standing(row: Any, *, clock: Clock) -> Standing:
    """The standing of one row of `pages.snoozes`."""
    state = state_of(
        inactive=row.inactive,
        outcome=row.outcome,
        claimed=row.claimed_at is not None,
        remind_at=row.remind_at,
        now=clock.now,
    )
    promised = row.scheduled_for or row.remind_at
    if state in {"asleep", "due"} and row.send_state == "uncertain" and row.scheduled_for:
        return _said("uncertain", promised, _uncertain(row, clock))
    if state == "asleep" and promised <= clock.now:
        return _said("late", promised, _late(row, clock))
    if state == "due" and clock.now - promised > PATIENCE:
        return _said("late", promised, _due_and_waiting(row, clock))
    if state == "claimed" and row.lease_expires_at <= clock.now:
        return _said("late", promised, _ABANDONED)
    if state == "sent":
        return _said("sent", row.finished_at, _sent(row, clock))
    if state == "retired":
        return _said("stuck", promised, _stuck(row))
    if state == "cancelled":
        return _said("cancelled", row.finished_at, "You cancelled it, so no reminder was sent.")
    return _said(state, promised, _PLAIN[state])


def was_it_sent(row: Any, sends: Any, *, clock: Clock) -> str:
    """The ledger's answer for the promise of one row of `pages.snoozes`, and where there is none yet, for the one
    before it as well."""
    if not sends:
        return "No. Nothing has been handed to the mail server for it."
    promise = row.scheduled_for or row.remind_at
    asked = next((send for send in sends if send.scheduled_for == promise), None)
    if asked is not None:
        return _sent_of(asked, clock)
    before = _sent_of(sends[0], clock)
    return (
        f"{'Not yet' if row.outcome is None else 'No'}, for {clock.inline(promise)}. "
        f"For the time before, {clock.inline(sends[0].scheduled_for)}: {before[:1].lower()}{before[1:]}"
    )


def _sent_of(send: Any, clock: Clock) -> str:
    if send.state == "sent":
        return f"Yes. The mail server took it {clock.inline(send.sent_at)}."
    if send.state == "uncertain":
        return (
            "Perhaps. The mail server was given all of it and its answer was lost. "
            "If it is sent once more, it is the same mail with the same Message-ID."
        )
    if send.state == "failed":
        return "No. The mail server refused it for good."
    if send.state == "sending":
        return "It is being handed over at this moment."
    return "Not yet. It is prepared and waits for the mail server."


_WORDS = {
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

_PLAIN = {
    "asleep": "It waits for its time.",
    "due": "Its time has come. A worker picks it up within moments.",
    "claimed": "A worker holds it and is handing the reminder to the mail server.",
    "paused": "It was switched off in the database. It stays where it is until it is switched on again.",
}


_ABANDONED = "The worker that held it stopped answering. Another one takes it over within moments."


def _said(state: str, when: datetime, why: str) -> Standing:
    word, shape = _WORDS[state]
    return Standing(state=state, word=word, shape=shape, why=why, when=when)


def _late(row: Any, clock: Clock) -> str:
    tries = f"It was tried {so_often(row.attempts)}" if row.attempts else "The mail server could not be reached"
    return f"{tries}. The next try is {clock.distance(row.remind_at)}. Nothing is lost, it is kept until it goes out."


def _due_and_waiting(row: Any, clock: Clock) -> str:
    overdue = span_in_words(clock.now - (row.scheduled_for or row.remind_at))
    return (
        f"It has been due for {overdue} and no worker has taken it yet. "
        "It goes out as soon as one does; if this lasts, tell whoever runs this Snoozer."
    )


def _uncertain(row: Any, clock: Clock) -> str:
    return (
        "The reminder was handed over, but the mail server's answer was lost. Look into your inbox. "
        f"It is looked at again {clock.distance(row.remind_at)}."
    )


def _sent(row: Any, clock: Clock) -> str:
    if row.sent_at is None or row.scheduled_for is None:
        return "The reminder is out."
    late = row.sent_at - row.scheduled_for
    if late <= PATIENCE:
        return "The reminder went out on time."
    return f"The reminder went out {span_in_words(late)} late."


def _stuck(row: Any) -> str:
    tried = f"It was tried {so_often(row.attempts)} and" if row.attempts else "It"
    return (
        f"{tried} could not be delivered. Whoever runs this Snoozer sees it as a case. "
        f"You can snooze it again now{', or take the message back' if row.folder == 'snoozed' else ''}."
    )
