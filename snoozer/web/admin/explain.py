"""Answers to an operator's two questions about a row, from the row and its ledger entry: was it sent, and why is it
not running? They hold nothing of the message."""

from collections.abc import Sequence
from datetime import datetime

from snoozer.db.queries import Found
from snoozer.db.queries.cases import MAX_AHEAD
from snoozer.domain.reminder import SUPPORTED_SCHEMA
from snoozer.web.text.redaction import without_addresses
from snoozer.web.text.time_format import TimeFormatter, count_in_words, span_in_words


def was_it_sent(send: Found | None, *, times: TimeFormatter) -> tuple[str, str]:
    """Returns Yes, No or Perhaps, and the sentence that explains it."""
    if send is None:
        return "No", "Nothing was ever handed to the mail server for this promise."
    match send.state:
        case "sent" if send.resolution == "digest":
            which = "" if send.digest_of is None else f" of snooze {send.digest_of}"
            return "Yes", f"It was listed in the digest{which}, which the mail server took {_at(times, send.sent_at)}."
        case "reserved" if send.digest_of is not None:
            return "No", f"It is listed in the digest of snooze {send.digest_of}, whose mail says what became of it."
        case "sent":
            return "Yes", f"The mail server took it {_at(times, send.sent_at)} and answered {_reply(send)}."
        case "uncertain":
            return "Perhaps", (
                f"All of it was handed over {_at(times, send.dot_authorised_at)} and no answer came back. "
                "A second copy would have the same Message-ID, so the server's log can tell."
            )
        case "sending":
            when = _at(times, send.dot_authorised_at)
            return "Perhaps", f"It is being handed over; the end of it was authorised {when}."
        case "failed" if send.resolution == "dismissed":
            return "Perhaps", "It was uncertain when an operator dismissed it; it is not sent again."
        case "failed":
            return "No", f"The mail server refused it: {_reply(send)}."
        case _:
            return "No", f"It was prepared {_at(times, send.reserved_at)} and never handed over in full."


def mail_server(breaker: Found, *, now: datetime) -> tuple[str, str]:
    """Returns how a mail server stands, in some words, and when it last worked and failed. A closed breaker alone says
    nothing about a server that was not tried since."""
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


def why_not_running(row: Found, *, breakers: Sequence[str], workers: int, ahead: int = 0, times: TimeFormatter) -> str:
    """Returns what the row waits for, or why it waits for nothing. `ahead` rows of its serialization key come first."""
    if row.outcome is not None:
        return _finished(row, times=times)
    if row.inactive:
        return "It was paused in the database (inactive without an outcome). It stays until that is taken back."
    if row.claimed_at is not None:
        return _claimed(row, times=times)
    if row.remind_at > times.now:
        return _waiting(row, times=times)
    if row.attempts >= row.max_attempts:
        return f"Its {row.max_attempts} attempts are spent. Housekeeping makes a case of it at its next sweep."
    if row.schema_version > SUPPORTED_SCHEMA:
        return (
            f"It is due, and was written by a newer release of Snoozer (form {row.schema_version}; this release knows "
            f"{SUPPORTED_SCHEMA}). Only workers of that release take it."
        )
    if workers == 0:
        return "It is due, and no worker is alive. Start one with: snoozer worker."
    if breakers:
        return f"It is due, and the mail server {breakers[0]} is left alone until it answers probes again."
    if ahead:
        others = f"{min(ahead, MAX_AHEAD):,}{' or more' if ahead > MAX_AHEAD else ''}"
        return (
            f"It is due, and behind {others} of its serialization key. Rows of one key are sent one after the other, "
            "by their times."
        )
    if row.crash_count:
        crashes = count_in_words(row.crash_count)
        return f"It is due. It lost its worker {crashes}, so it is delivered alone, after the others."
    return f"It is due since {_at(times, row.remind_at)} and next in line."


def _finished(row: Found, *, times: TimeFormatter) -> str:
    when = _at(times, row.finished_at)
    if row.outcome == "sent":
        return f"It is done: it was finished {when}."
    if row.outcome == "cancelled":
        return f"It was cancelled or dismissed {when}, so nothing is sent."
    attempts = f"{row.attempts} of {row.max_attempts} attempts were spent"
    crashed = f" and its worker was lost {count_in_words(row.crash_count)}" if row.crash_count else ""
    return f"It is a case since {when}: {attempts}{crashed}. It waits for your decision."


def _claimed(row: Found, *, times: TimeFormatter) -> str:
    held = f"Worker {row.claimed_by} holds it since {_at(times, row.claimed_at)}"
    if row.worker_state == "dead":
        return f"{held} and is dead; the next sweep takes the claim back."
    if row.lease_expires_at <= times.now:
        return f"{held}, and its lease ran out {_at(times, row.lease_expires_at)}; the next sweep takes it back."
    return f"{held}; its lease runs for another {span_in_words(row.lease_expires_at - times.now)}."


def _waiting(row: Found, *, times: TimeFormatter) -> str:
    if row.scheduled_for is not None and row.scheduled_for < row.remind_at:
        why = f"{row.attempts} of {row.max_attempts} attempts failed" if row.attempts else "It was put off"
        return f"{why}; the next try is {times.distance(row.remind_at)}, {_at(times, row.remind_at)}."
    return f"Its time has not come: it is promised for {_at(times, row.remind_at)}, {times.distance(row.remind_at)}."


def _at(times: TimeFormatter, moment: datetime | None) -> str:
    """Returns "today 08:00" or "Friday 08:00"."""
    return "at an unknown time" if moment is None else times.inline(moment)


def _reply(send: Found) -> str:
    codes = [str(code) for code in (send.smtp_code, send.enhanced_code) if code]
    return " ".join(filter(None, (*codes, without_addresses(send.reply or "")))) or "without a word"
