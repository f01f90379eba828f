"""A snooze's status for its owner: a label, an icon, and the answers to "was it sent?" and "why is it not back?"."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from snoozer.db.queries.delivery import DeliveryStatus
from snoozer.db.queries.returned import Return
from snoozer.db.state_words import Answer, public_state, was_sent
from snoozer.timephrase.describe import span_in_words
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.text.arrival_text import REST_ENDS, arrival_of, arrival_text
from snoozer.web.text.phrase_text import lower_first
from snoozer.web.text.time_format import TimeFormatter, count_in_words

# A reminder this much later than promised is shown as late; a mail may take as long.
LATE_AFTER = timedelta(seconds=30)

_LABELS = {
    "asleep": (N_("Asleep"), "moon"),
    "due": (N_("Due"), "clock"),
    "claimed": (N_("Being sent"), "plane"),
    "late": (N_("Late"), "late"),
    "uncertain": (N_("Uncertain"), "question"),
    "sent": (N_("Came back"), "sunrise"),
    "stuck": (N_("Stuck"), "stop"),
    "cancelled": (N_("Cancelled"), "slash"),
    "paused": (N_("Paused"), "pause"),
}
_EXPLANATIONS = {
    "asleep": N_("It waits for its time."),
    "due": N_("Its time has come. A worker picks it up within moments."),
    "claimed": N_("A worker holds it and is handing the reminder to the mail server."),
    "paused": N_("Nothing comes until you resume it."),
    "cancelled": N_("You cancelled it, so no reminder was sent."),
}
# By `delayed_by` of the ledger.
_REASONS = {
    "mail server": N_("because the mail server was away"),
    "sign-in": N_("because its mail server refused the sign-in"),
    "recipient": N_("because the mail server did not take mail for your address at first"),
    "worker": N_("because the program that was sending it was lost"),
    "failure": N_("because earlier tries failed"),
    "queue": N_("because it waited for its turn"),
    "mailbox": N_("because its message was to come back by itself, and did not in time"),
}
_ANSWERS: dict[Answer, str] = {
    "perhaps": N_(
        "Perhaps. The mail server was given all of it and its answer was lost. "
        "If it is sent once more, it is the same mail with the same Message-ID."
    ),
    "no": N_("No. The mail server refused it for good."),
    "not yet": N_("Not yet. It is prepared and waits for the mail server."),
}
_LEAVING = N_("It is being handed over at this moment.")


@dataclass(frozen=True, kw_only=True)
class Status:
    """`label` and `icon` mean the same; `at` is the promised time, or the end of a snooze that is over. `lateness` is
    how late its reminder was sent, and why; None if it was on time or was not sent. `asked` is the requested time, if
    its owner's quiet hours postponed it."""

    state: str
    label: str
    icon: str
    explanation: str
    at: datetime
    lateness: str | None = None
    asked: str | None = None


def status_of(row: Any, *, times: TimeFormatter, delivery: DeliveryStatus | None = None) -> Status:
    """Returns the status of one row of `queries.snoozes`; `delivery` is whether any reminder can be delivered."""
    state, explanation = _state(row, times, delivery)
    label, icon = _LABELS[state]
    arrival = arrival_of(row, times)
    at = row.finished_at if state in {"sent", "cancelled"} else arrival.at if state == "asleep" else row.promise
    late = _lateness(row.sent_at - row.due_at, row.delayed_by) if state == "sent" and row.sent_at else None
    asked = state == "asleep" and arrival.reason is not None
    return Status(
        state=state,
        label=_(label),
        icon=icon,
        explanation=arrival_text(row.promise, arrival, times) if asked else explanation,
        at=at,
        lateness=late,
        asked=_("asked for %(when)s", when=times.chip(row.promise)) if asked else None,
    )


def late_because(row: Any, *, now: datetime) -> tuple[timedelta, str] | None:
    """Returns how late the reminder was, or is by now, and why, as a clause; None if it was on time or is not due. Only
    the ledger records it, not the mail itself."""
    if row.sent_at is not None:
        end, reason = row.sent_at, row.delayed_by
    elif public_state(row.state, row.why) in {"due", "claimed"}:
        end, reason = now, _reason_until_now(row)
    else:
        return None
    late = end - row.due_at
    return (late, _because(reason)) if late > LATE_AFTER else None


def late_return(found: Return) -> str | None:
    """Returns "late by 2 minutes, because …" for a message that came back late. A kept message needs no mail server to
    return: the database was away, or no process ran. For a connected one the ledger has the reason."""
    if found.late <= LATE_AFTER:
        return None
    span = span_in_words(found.late)
    if found.database_was_away:
        return _("late by %(span)s, because the database was away", span=span)
    if found.is_kept:
        return _("late by %(span)s, because nothing ran to bring it back", span=span)
    return _lateness(found.late, found.delayed_by)


def was_it_sent(row: Any, sends: Any, *, times: TimeFormatter) -> str:
    """Answers from the ledger for the row's current promise; until it has an entry, also for the previous promise."""
    if not sends and row.state == "sent":
        return _("No. Its message came back, and you chose to get no reminder with it.")
    if not sends:
        return _("No. Nothing has been handed to the mail server for it.")
    current = next((send for send in sends if send.scheduled_for == row.promise), None)
    if current is not None:
        return _sent_answer(current, times)
    now = times.inline(row.promise)
    answer = _("Not yet, for %(when)s.", when=now) if row.outcome is None else _("No, for %(when)s.", when=now)
    before, its_answer = times.inline(sends[0].scheduled_for), lower_first(_sent_answer(sends[0], times))
    return answer + " " + _("For the time before, %(when)s: %(answer)s", when=before, answer=its_answer)


def digest_text(size: int | None) -> str:
    """Returns a sentence to append about a reminder that shares its mail with others; "" for other reminders."""
    return " " + _("It is one of %(count)s reminders in one mail.", count=size) if size else ""


def report_text(detail: Mapping[str, Any]) -> str:
    """Returns the words of a mail system in its report, and its code if they lack it."""
    code, text = detail.get("code") or "", detail.get("text") or ""
    return text if code in text else f"{code} {text}".strip()


def _sent_answer(send: Any, times: TimeFormatter) -> str:
    return f"{_own_answer(send, times)}{digest_text(send.digest_size)} {returned_text(send)}".rstrip()


def returned_text(send: Any) -> str:
    """Returns the words of the mail system that returned this reminder, if one did."""
    if send.bounce is None:
        return ""
    returned = _("It did not arrive: a mail system returned it.")
    return f"{returned} {report_text(send.bounce)}".rstrip()


def _own_answer(send: Any, times: TimeFormatter) -> str:
    answer = was_sent(send.state, send.resolution, send.smtp_code)
    if answer != "yes":
        text = _LEAVING if send.state == "sending" else _ANSWERS[answer]
        return _(text)
    rest = REST_ENDS.get(send.delayed_by or "")
    late = _(rest) if rest else _lateness(send.sent_at - (send.late_from or send.scheduled_for), send.delayed_by)
    at = times.inline(send.sent_at)
    if late:
        return _("Yes. The mail server took it %(when)s, %(late)s.", when=at, late=late)
    return _("Yes. The mail server took it %(when)s.", when=at)


def _state(row: Any, times: TimeFormatter, delivery: DeliveryStatus | None) -> tuple[str, str]:
    """Returns the key of the label, and the explanation."""
    state = public_state(row.state, row.why)
    if row.state == "uncertain" and state == "due":
        return "uncertain", _(
            "The reminder was handed over, but the mail server's answer was lost. Look into your inbox. "
            "It is looked at again %(distance)s.",
            distance=times.distance(row.remind_at),
        )
    if state == "due" and row.deferred_by and row.last_error is None:
        waited = _after_rest(row, times)
        if waited is not None:
            return waited
    if state == "due" and row.remind_at > times.now:
        return "late", f"{_retrying(row, times)}{_where(row)}"
    if state == "due" and times.now - row.due_at > LATE_AFTER:
        return "late", f"{_waiting(row, times, delivery)}{_where(row)}"
    if state == "claimed" and row.lease_expires_at <= times.now:
        return "late", _("The worker that held it stopped answering. Another one takes it over within moments.")
    if state == "paused" and row.paused_since is not None:
        return "paused", _(
            "Paused by an operator of this Snoozer since %(when)s, or because your address takes no mail. It keeps its "
            "time, and comes when that ends.",
            when=times.inline(row.paused_since),
        )
    if state == "sent":
        return "sent", _sent(row)
    if state == "retired":
        return "stuck", _stuck(row)
    return state, _(_EXPLANATIONS[state])


def _after_rest(row: Any, times: TimeFormatter) -> tuple[str, str] | None:
    """Status of a deferred snooze, including its digest if it has one."""
    if times.now - row.due_at <= LATE_AFTER:
        explanation = _EXPLANATIONS["due"]
        return "due", _(explanation) + digest_text(row.digest_size)
    if row.digest_size:
        return "late", _(
            "It has been due for %(span)s. It is one of %(count)s reminders in one mail, which the mail server has not "
            "confirmed yet.",
            span=span_in_words(times.now - row.due_at, after=True),
            count=row.digest_size,
        )
    return None


def _reason_until_now(row: Any) -> str | None:
    """The reason why an overdue reminder was not sent yet, in the ledger's terms."""
    if row.refusals:
        return "recipient"
    if row.attempts:
        return "failure"
    failed = row.last_error_at is not None and row.last_error_at >= row.due_at
    return "mail server" if failed else row.delayed_by


def _retrying(row: Any, times: TimeFormatter) -> str:
    if row.refusals:
        tries = _(
            "The mail server does not take the reminder for your address for now, and was asked %(times)s.",
            times=count_in_words(row.refusals),
        )
    elif row.attempts:
        tries = _("It was tried %(times)s.", times=count_in_words(row.attempts))
    elif row.last_error is None:
        return _(
            "Its message is on its way back to your mailbox. If it is not there a quarter of an hour after its time, a "
            "reminder is sent."
        )
    else:
        tries = _("The mail server could not be reached.")
    following = _(
        "The next try is %(distance)s. Nothing is lost, it is kept until it goes out.",
        distance=times.distance(row.remind_at),
    )
    return f"{tries} {following}"


def _waiting(row: Any, times: TimeFormatter, delivery: DeliveryStatus | None) -> str:
    due = span_in_words(times.now - row.due_at, after=True)
    if delivery is not None and delivery.paused_since is not None:
        return _(
            "It has been due for %(span)s. Paused by an operator of this Snoozer since %(when)s: it is kept, and comes "
            "when that ends.",
            span=due,
            when=times.inline(delivery.paused_since),
        )
    if delivery is not None and delivery.away_since is not None:
        return _(
            "It has been due for %(span)s, and the mail server has not been taking mail since %(when)s. "
            "It goes out when the mail server does.",
            span=due,
            when=times.inline(delivery.away_since),
        )
    if row.why == "newer":
        return _(
            "It has been due for %(span)s. A newer release of Snoozer wrote it, and workers of this one leave it to "
            "those of that release; if this lasts, tell an operator of this Snoozer.",
            span=due,
        )
    if row.serialization_key is not None:
        return _(
            "It has been due for %(span)s and no worker has taken it yet. Reminders that share its key go out one "
            "after the other, and it goes out in its turn; if this lasts, tell an operator of this Snoozer.",
            span=due,
        )
    return _(
        "It has been due for %(span)s and no worker has taken it yet. It goes out as soon as one does; if this lasts, "
        "tell an operator of this Snoozer.",
        span=due,
    )


def _where(row: Any) -> str:
    """Returns the place of the kept message, which returns even if its reminder fails."""
    return " " + _("The message itself is back in your inbox.") if row.folder == "inbox" else ""


def _sent(row: Any) -> str:
    if row.sent_at is None or row.scheduled_for is None:
        return _("Its message is back in your mailbox. You chose to get no reminder with it.")
    if row.deferred_by is not None:
        rest, late = REST_ENDS.get(row.deferred_by), _lateness(row.sent_at - row.due_at, row.delayed_by)
        words = [_(rest) if rest else _("later"), *([late] if late else [])]
        return _("The reminder went out %(late)s.", late=", ".join(words)) + digest_text(row.digest_size)
    late = _lateness(row.sent_at - row.scheduled_for, row.delayed_by)
    return _("The reminder went out %(late)s.", late=late) if late else _("The reminder went out on time.")


def _because(reason: str | None) -> str:
    because = _REASONS.get(reason or "")
    return _(because) if because else ""


def _lateness(late: timedelta, reason: str | None) -> str | None:
    """Returns "late by 2 minutes, because …", or None for a reminder that was on time."""
    if late <= LATE_AFTER:
        return None
    words = _("late by %(span)s", span=span_in_words(late))
    because = _because(reason)
    return f"{words}, {because}" if because else words


def _stuck(row: Any) -> str:
    if row.attempts:
        tried = _("It was tried %(times)s and could not be delivered.", times=count_in_words(row.attempts))
    else:
        tried = _("The reminder could not be delivered.")
    cases = _("The operators of this Snoozer see it as a case.")
    if row.folder == "snoozed":
        again = _("You can snooze it again now, or take the message back.")
    else:
        again = _("You can snooze it again now.")
    return f"{tried}{_where(row)} {cases} {again}"
