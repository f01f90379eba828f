"""Answers an operator's two questions about a row, from the row and its ledger entry: was it sent, and why is it not
running? The answers contain nothing from the message."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from snoozer.db.queries import Found
from snoozer.db.queries.cases import MAX_AHEAD
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.db.state_words import Answer, was_sent
from snoozer.timephrase.describe import span_in_words
from snoozer.web.operators.audit_texts import actor_text
from snoozer.web.text.redaction import without_addresses
from snoozer.web.text.status import report_text
from snoozer.web.text.time_format import TimeFormatter, count_in_words

_ANSWERS: dict[Answer, str] = {"yes": "Yes", "no": "No", "perhaps": "Perhaps", "not yet": "No"}


def was_it_sent(send: Found | None, *, times: TimeFormatter) -> tuple[str, str]:
    """Returns Yes, No or Perhaps, and the sentence that explains it."""
    if send is None:
        return "No", "Nothing was ever handed to the mail server for this promise."
    answer, text = _ANSWERS[was_sent(send.state, send.resolution, send.smtp_code)], _what_became_of(send, times)
    if send.bounce is None:
        return answer, text
    return (
        answer,
        f"{text} It bounced: a mail system returned it. {without_addresses(report_text(send.bounce))}".rstrip(),
    )


def _what_became_of(send: Found, times: TimeFormatter) -> str:
    match send.state:
        case "sent" if send.resolution == "digest":
            which = "" if send.digest_of is None else f" of snooze {send.digest_of}"
            return f"It was listed in the digest{which}, which the mail server took {_at(times, send.sent_at)}."
        case "failed" if send.digest_of is not None:
            return f"It is listed in the digest of snooze {send.digest_of}, whose mail says what became of it."
        case "sent":
            return f"The mail server took it {_at(times, send.sent_at)} and answered {_reply(send)}."
        case "uncertain":
            return (
                f"All of it was handed over {_at(times, send.dot_authorised_at)} and no answer came back. "
                "A second copy would have the same Message-ID, so the server's log can tell."
            )
        case "sending":
            return f"It is being handed over; the end of it was authorised {_at(times, send.dot_authorised_at)}."
        case "failed" if send.resolution == "dismissed":
            return "It was uncertain when an operator dismissed it; it is not sent again."
        case "failed" if send.smtp_code is not None:
            return f"The mail server refused it: {_reply(send)}."
        case _:
            return f"It was prepared {_at(times, send.reserved_at)} and never handed over in full."


def mail_server(breaker: Found, *, now: datetime) -> tuple[str, str]:
    """Returns the state of a mail server in some words, and when it last worked and failed. A closed breaker alone does
    not show the state of a server that was not tried since."""
    worked, failed = breaker.last_success_at, breaker.last_failure_at
    if breaker.state != "closed":
        words = "left alone" if breaker.state == "open" else "being probed"
    elif failed is not None and (worked is None or failed > worked):
        words = "failed when last tried"
    else:
        words = "not tried yet" if worked is None else "worked when last tried"
    known = [
        f"it last {what} {span_in_words(now - at)} ago"
        for what, at in (("worked", worked), ("failed", failed))
        if at is not None
    ]
    return words, "; ".join(known) or "when it last worked is not known"


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Other conditions for a row's reason: live workers, mail servers with open breakers, how many rows of its
    serialization key come first, how the database changed since it was accepted, the snooze whose digest lists this
    one, and the time."""

    times: TimeFormatter
    workers: int
    breakers: Sequence[Found] = ()
    ahead: int = 0
    change: str | None = None
    digest_of: int | None = None


def why_not_running(row: Found, conditions: Conditions) -> str:
    """Returns the sentence that explains why the row waits, or why it does not."""
    return REASONS[reason_of(row, conditions)](row, conditions)


def reason_of(row: Found, conditions: Conditions) -> str:
    """Returns the key in REASONS: the reason of the row's state, or the condition that stops all rows. A claim takes a
    row if its reason is in TAKEN."""
    match row.state:
        case "held" | "leaving" if row.worker_state == "dead":
            return "claimed_by_the_dead"
        case "held" | "leaving" if row.lease_expires_at <= conditions.times.now:
            return "claim_lapsed"
        case "held" | "leaving":
            return "claimed"
        case "waiting" if row.why == "key" and not conditions.ahead:
            return "key_freed"
        case state if row.is_due and (state in {"due", "uncertain"} or row.why == "digest"):
            if conditions.change:
                return "other_database"
            if conditions.workers == 0:
                return "no_worker"
            if conditions.breakers:
                return "mail_server" if conditions.breakers[0].tripped_at is None else "mail_server_stopped"
            if state == "due":
                return "next_alone" if row.crash_count > 1 else "next"
            return f"next_{row.why or state}"
        case "uncertain":
            return "uncertain"
        case state:
            return str(row.why or state)


def _retired(row: Found, now: Conditions) -> str:
    attempts = f"{row.attempts} of {row.max_attempts} attempts were spent"
    crashed = f" and its worker was lost {count_in_words(row.crash_count)}" if row.crash_count else ""
    return f"It is a case since {_at(now.times, row.finished_at)}: {attempts}{crashed}. It waits for your decision."


def _held_by(row: Found, now: Conditions) -> str:
    return f"Worker {row.claimed_by} holds it since {_at(now.times, row.claimed_at)}"


def _behind(row: Found, now: Conditions) -> str:
    others = f"{min(now.ahead, MAX_AHEAD):,}{' or more' if now.ahead > MAX_AHEAD else ''}"
    return (
        f"It is due, and behind {others} of its serialization key. Rows of one key are sent one after the other, "
        "by their times."
    )


def _until(row: Found, now: Conditions) -> str:
    return f"{now.times.distance(row.remind_at)}, {_at(now.times, row.remind_at)}"


def _tries(row: Found) -> str:
    return f"{row.attempts} of {row.max_attempts} attempts failed" if row.attempts else "It could not be delivered"


# The reasons of rows that the next claim may take.
TAKEN = frozenset({"next", "next_alone", "next_uncertain", "next_digest"})
REASONS: dict[str, Callable[[Found, Conditions], str]] = {
    "sent": lambda row, now: f"It is done: it was finished {_at(now.times, row.finished_at)}.",
    "cancelled": lambda row, now: (
        f"It was cancelled or dismissed {_at(now.times, row.finished_at)}, so nothing is sent."
    ),
    "case": _retired,
    "owner_pause": lambda row, now: "Its person paused it. It stays until they resume it.",
    "operator_pause": lambda row, now: (
        "An operator paused it, or its address takes no mail. It stays until that ends; the page of pauses says why."
    ),
    "database_pause": lambda row, now: (
        "It was paused in the database (inactive without an outcome). It stays until that is taken back."
    ),
    "claimed": lambda row, now: (
        f"{_held_by(row, now)}; its lease runs for another {span_in_words(row.lease_expires_at - now.times.now)}."
    ),
    "claimed_by_the_dead": lambda row, now: f"{_held_by(row, now)} and is dead; the next sweep takes the claim back.",
    "claim_lapsed": lambda row, now: (
        f"{_held_by(row, now)}, and its lease ran out {_at(now.times, row.lease_expires_at)}; "
        "the next sweep takes it back."
    ),
    "spent": lambda row, now: (
        f"Its {row.max_attempts} attempts are spent. Housekeeping makes a case of it at its next sweep."
    ),
    "newer": lambda row, now: (
        f"It is due, and was written by a newer release of Snoozer (form {row.schema_version}; this release knows "
        f"{SUPPORTED_SCHEMA}). Only workers of that release take it."
    ),
    "key": _behind,
    "key_freed": lambda row, now: (
        "It is due, and was behind others of its serialization key, which are gone. A worker looks for such rows every "
        "two seconds."
    ),
    "uncertain": lambda row, now: (
        f"Its reminder may have been sent; whether it is sent again is decided {_until(row, now)}."
    ),
    "digest": lambda row, now: (
        f"It is listed in the digest{_of_digest(now)}, and ends when that is sent; looked at again {_until(row, now)}."
    ),
    "rest": lambda row, now: (
        f"Its person's day lets nothing through ({row.deferred_by}). That ends {_until(row, now)}."
    ),
    "retry": lambda row, now: f"{_tries(row)}; the next try is {_until(row, now)}.",
    "message": lambda row, now: (
        f"It was put off: its message is to be back first. It is looked at again {_until(row, now)}."
    ),
    "asleep": lambda row, now: (
        f"Its time has not come: it is promised for {_at(now.times, row.remind_at)}, "
        f"{now.times.distance(row.remind_at)}."
    ),
    "other_database": lambda row, now: (
        f"It is due, and {now.change}. Workers claim nothing until that is accepted: snoozer restored."
    ),
    "no_worker": lambda row, now: "It is due, and no worker is alive. Start one with: snoozer worker.",
    "mail_server": lambda row, now: (
        f"It is due, and the mail server {now.breakers[0].server} is left alone until it answers probes again."
    ),
    "mail_server_stopped": lambda row, now: (
        f"It is due, and {actor_text(now.breakers[0].tripped_by)} stopped sending by the mail server "
        f"{now.breakers[0].server} {_at(now.times, now.breakers[0].tripped_at)}. It goes out once that is taken "
        "back, on the overview."
    ),
    "next": lambda row, now: f"It is due since {_at(now.times, row.remind_at)} and next in line.",
    "next_alone": lambda row, now: (
        f"It is due and next in line. It lost its worker {count_in_words(row.crash_count)}, so it is delivered alone, "
        "after the others."
    ),
    "next_uncertain": lambda row, now: (
        "Its reminder may have been sent. It is next in line, and its worker decides whether to send it again."
    ),
    "next_digest": lambda row, now: (
        f"It is listed in the digest{_of_digest(now)}. It is next in line, and its worker looks whether that was sent."
    ),
}


def _of_digest(now: Conditions) -> str:
    return "" if now.digest_of is None else f" of snooze {now.digest_of}"


def _at(times: TimeFormatter, moment: datetime | None) -> str:
    """Returns "today 08:00" or "Friday 08:00"."""
    return "at an unknown time" if moment is None else times.inline(moment)


def _reply(send: Found) -> str:
    codes = [str(code) for code in (send.smtp_code, send.enhanced_code) if code]
    return " ".join(filter(None, (*codes, without_addresses(send.reply or "")))) or "without a word"
