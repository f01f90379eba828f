"""The two questions an operator asks of a row, answered from the row and the ledger: was it sent, and why is it not
running? In words only; nothing of the message is in them."""

from collections.abc import Sequence
from datetime import datetime

from snoozer.db.queries import Found
from snoozer.timephrase.describe import span_in_words
from snoozer.web.text.redaction import without_addresses
from snoozer.web.text.time_format import Clock, so_often


def was_it_sent(send: Found | None, *, clock: Clock) -> tuple[str, str]:
    """Yes, No or Perhaps, and the sentence behind it."""
    if send is None:
        return "No", "Nothing was ever handed to the mail server for this promise."
    match send.state:
        case "sent":
            return "Yes", f"The mail server took it {_at(clock, send.sent_at)} and answered {_reply(send)}."
        case "uncertain":
            return "Perhaps", (
                f"All of it was handed over {_at(clock, send.dot_authorised_at)} and no answer came back. "
                "A second copy would have the same Message-ID, so the server's log can tell."
            )
        case "sending":
            return (
                "Perhaps",
                f"It is being handed over; the end of it was authorised {_at(clock, send.dot_authorised_at)}.",
            )
        case "failed" if send.resolution == "dismissed":
            return "Perhaps", "It was uncertain when an operator dismissed it; it is not sent again."
        case "failed":
            return "No", f"The mail server refused it: {_reply(send)}."
        case _:
            return "No", f"It was prepared {_at(clock, send.reserved_at)} and never handed over in full."


def why_not_running(row: Found, *, breakers: Sequence[str], workers: int, clock: Clock) -> str:
    """What the row waits for, or why it waits for nothing."""
    if row.outcome is not None:
        return _over(row, clock=clock)
    if row.inactive:
        return "It was paused in the database (inactive without an outcome). It stays until that is taken back."
    if row.claimed_at is not None:
        return _held(row, clock=clock)
    if row.remind_at > clock.now:
        return _waits(row, clock=clock)
    if row.attempts >= row.max_attempts:
        return f"Its {row.max_attempts} attempts are spent. Housekeeping makes a case of it at its next sweep."
    if workers == 0:
        return "It is due, and no worker is alive. Start one with: snoozer worker."
    if breakers:
        return f"It is due, and the mail server {breakers[0]} is left alone until it answers probes again."
    if row.crash_count:
        return f"It is due. It lost its worker {so_often(row.crash_count)}, so it is delivered alone, after the others."
    return f"It is due since {_at(clock, row.remind_at)} and next in line."


def _over(row: Found, *, clock: Clock) -> str:
    when = _at(clock, row.finished_at)
    if row.outcome == "sent":
        return f"It is done: it was finished {when}."
    if row.outcome == "cancelled":
        return f"It was cancelled or dismissed {when}, so nothing is sent."
    spent = f"{row.attempts} of {row.max_attempts} attempts were spent"
    crashed = f" and its worker was lost {so_often(row.crash_count)}" if row.crash_count else ""
    return f"It is a case since {when}: {spent}{crashed}. It waits for your decision."


def _held(row: Found, *, clock: Clock) -> str:
    held = f"Worker {row.claimed_by} holds it since {_at(clock, row.claimed_at)}"
    if row.worker_state == "dead":
        return f"{held} and is dead; the next sweep takes the claim back."
    if row.lease_expires_at <= clock.now:
        return f"{held}, and its lease ran out {_at(clock, row.lease_expires_at)}; the next sweep takes it back."
    return f"{held}; its lease runs for another {span_in_words(row.lease_expires_at - clock.now)}."


def _waits(row: Found, *, clock: Clock) -> str:
    if row.scheduled_for is not None and row.scheduled_for < row.remind_at:
        why = f"{row.attempts} of {row.max_attempts} attempts failed" if row.attempts else "It was put off"
        return f"{why}; the next try is {clock.distance(row.remind_at)}, {_at(clock, row.remind_at)}."
    return f"Its time has not come: it is promised for {_at(clock, row.remind_at)}, {clock.distance(row.remind_at)}."


def _at(clock: Clock, moment: datetime | None) -> str:
    """The moment inside a sentence: today 08:00, Friday 08:00."""
    return "at an unknown time" if moment is None else clock.inline(moment)


def _reply(send: Found) -> str:
    said = " ".join(str(part) for part in (send.smtp_code, send.enhanced_code) if part)
    return " ".join(filter(None, (said, without_addresses(send.reply or "")))) or "without a word"
