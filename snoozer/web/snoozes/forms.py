"""The snooze form: a typed phrase is parsed here, and a posted form becomes a reminder time or the form again.

A phrase is saved only after its reading was shown, and a preset only while it still means the time it showed.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import get_args

from sqlalchemy import Connection
from werkzeug.datastructures import MultiDict

from snoozer import telemetry
from snoozer.db import accounts
from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries import snoozes as queries
from snoozer.db.queries.accounts import MAX_PHRASES, SavedTimes
from snoozer.people import quotas
from snoozer.queue.promise import ReminderTime
from snoozer.queue.reminder import ReplyPolicy, ReplyScope
from snoozer.snoozes import acts, input, recurrence
from snoozer.snoozes.acts import By, Wanted
from snoozer.snoozes.input import SnoozeError
from snoozer.snoozes.recurrence import Promised
from snoozer.timephrase.presets import Preset, presets
from snoozer.timephrase.result import ParsedTime, ParseError
from snoozer.web import auth, context
from snoozer.web.context import ROUTE
from snoozer.web.text.time_format import TimeFormatter, parse_instant
from snoozer.web.text.version import CHANGED_MEANWHILE, check_version

# "in 3 hours" moves on while a person thinks; a larger difference is another meaning.
SAME_MEANING = timedelta(minutes=30)
MAX_RECENT = 3
NO_SAVED_TIMES = SavedTimes()


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A posted form that can be saved. `reading` is the source of the reminder time, `typed` the phrase to offer next
    time (None for a preset); `every` is True if a time is for every occurrence of a series, and not only for this one.
    """

    reminder_time: ReminderTime
    reading: ParsedTime | None = None
    typed: str | None = None
    every: bool = False


@dataclass(frozen=True, kw_only=True)
class SnoozeForm:
    """The contents of the form. `recent` are the latest typed phrases; `meaning_changed` is True if the phrase now
    means another time than shown; `series` is the series with a new time for every occurrence; `at_any_hour` if it may
    return even within quiet hours. A posted form without its field for replies does not change the reply policy."""

    presets: tuple[Preset, ...]
    recent: tuple[Preset, ...] = ()
    phrase: str = ""
    note: str = ""
    reply_policy: ReplyPolicy = "keep"
    reply_scope: ReplyScope = "message"
    asks_about_replies: bool = False
    every: bool = False
    reading: ParsedTime | None = None
    series: ReminderTime | None = None
    error: SnoozeError | None = None
    meaning_changed: bool = False
    at_any_hour: bool = False

    @property
    def time_error(self) -> SnoozeError | None:
        return None if self.note_error or self.changed_meanwhile else self.error

    @property
    def note_error(self) -> SnoozeError | None:
        return self.error if self.error and self.error.code == "note_too_long" else None

    @property
    def changed_meanwhile(self) -> SnoozeError | None:
        return self.error if self.error and self.error.code == CHANGED_MEANWHILE else None

    @property
    def status(self) -> int:
        """200 while a reading is shown for confirmation."""
        return status_of(self.error) if self.error else 200


def status_of(error: SnoozeError | ParseError) -> int:
    """The HTTP status of a form that is shown again."""
    return 409 if error.code == CHANGED_MEANWHILE else 422


def snooze_form(
    times: TimeFormatter,
    *,
    saved_times: SavedTimes = NO_SAVED_TIMES,
    phrase: str = "",
    note: str | None = None,
    snooze: Found | None = None,
) -> SnoozeForm:
    """Returns the initial form, with the note of a `snooze` and its reply policy; a phrase is parsed."""
    form = _open(times, saved_times, phrase=phrase, note=(snooze.note if snooze is not None else note) or "")
    if snooze is not None:
        form = replace(form, reply_policy=snooze.reply_policy or "keep", reply_scope=snooze.reply_scope or "message")
    return _parse_phrase(form, times) if phrase else form


def read_submission(
    posted: MultiDict[str, str], *, times: TimeFormatter, saved_times: SavedTimes = NO_SAVED_TIMES
) -> Submitted | SnoozeForm:
    """Returns what to save, or the form again with the reading to confirm or the error."""
    phrase = posted.get("suggestion") or posted.get("phrase", "")
    form = _open(times, saved_times, phrase=phrase, note=posted.get("note", ""))
    form = replace(_with_reply(form, posted), every=posted.get("scope") == "every")
    if posted.get("preset"):
        phrase, _, shown_at = posted["preset"].rpartition("|")
        return _submit(replace(form, phrase=phrase), times, shown_at=shown_at, typed=phrase in saved_times.phrases)
    if posted.get("at"):
        return _submit_instant(form, times, at=posted["at"])
    if posted.get("suggestion") or posted.get("act") != "snooze" or posted.get("seen_phrase") != form.phrase:
        return _parse_phrase(form, times)
    form = replace(form, at_any_hour=posted.get("any_hour") == "on")
    return _submit(form, times, shown_at=posted.get("seen_at", ""))


def with_series(form: SnoozeForm, snooze: Found, times: TimeFormatter) -> SnoozeForm:
    """The form with the new series of a repeating snooze, if its time is for every occurrence; with the error, if the
    series cannot continue with it."""
    reading = form.reading
    if form.error or not form.every or snooze.recurrence is None or snooze.outcome is not None:
        return form
    if reading is None or reading.at is None or reading.recurrence is not None:
        return form
    try:
        promised = Promised(remind_at=snooze.promise, recurrence=snooze.recurrence, zone=snooze.zone)
        series = recurrence.every(promised, input.reminder_time_of(reading, now=times.now))
    except SnoozeError as error:
        return replace(form, error=error)
    return replace(form, series=series)


def refused(posted: MultiDict[str, str], snooze: Found | None, error: SnoozeError) -> SnoozeForm:
    """The form as posted, with the reason why its time is not saved for this snooze."""
    times, saved = auth.time_formatter(), auth.saved_times()
    preset = posted.get("preset", "").rpartition("|")[0]
    phrase = posted.get("suggestion") or preset or posted.get("phrase", "")
    form = _with_reply(snooze_form(times, saved_times=saved, phrase=phrase, snooze=snooze), posted)
    note, at_any_hour = posted.get("note", form.note), posted.get("any_hour") == "on"
    return replace(form, note=note, every=posted.get("scope") == "every", at_any_hour=at_any_hour, error=error)


def check_message(connection: Connection, account: Account, message_id: str, posted: MultiDict[str, str]) -> None:
    """Lock the message's snooze. Raises SnoozeError if people changed it since the form was made."""
    row = queries.alive(connection, user_email=account.email, message_id=message_id)
    row = row and queries.one(connection, id=row.id, user_email=account.email, changing=True)
    if row is not None:
        check_version(posted.get("version", ""), row, auth.time_formatter())


def _with_reply(form: SnoozeForm, posted: MultiDict[str, str]) -> SnoozeForm:
    """The form with the posted fields about replies."""
    policy: ReplyPolicy
    scope: ReplyScope = "thread" if posted.get("reply_scope") == "thread" else "message"
    for policy in get_args(ReplyPolicy):
        if posted.get("reply_policy") == policy:
            return replace(form, reply_policy=policy, reply_scope=scope, asks_about_replies=True)
    return form


def _answered(form: SnoozeForm, reminder_time: ReminderTime) -> ReminderTime:
    """The time with the reply policy; "if no reply" implies one. A form without that field does not change it."""
    if not form.asks_about_replies:
        return reminder_time
    chosen = form.reply_policy if form.reply_policy != "keep" else reminder_time.reply_policy or form.reply_policy
    return replace(reminder_time, reply_policy=chosen, reply_scope=form.reply_scope)


def save_submission(
    connection: Connection, account: Account, message: input.Message, submitted: Submitted
) -> acts.Result:
    """Snoozes the message until the submitted time, and saves the typed phrase for the next form; a series continues as
    chosen. Raises QuotaReached."""
    save_phrase(connection, account, submitted.typed)
    result = _moved(connection, account, message, submitted)
    if result is None:
        wanted = Wanted(message=message, time=submitted.reminder_time, reading=submitted.reading)
        (result,) = acts.snooze(
            connection, [wanted], By(account.email, ROUTE), traceparent=telemetry.traceparent(), is_recorded=True
        )
    spend_snooze(connection, account)
    return result


def _moved(
    connection: Connection, account: Account, message: input.Message, submitted: Submitted
) -> acts.Result | None:
    """The time for the message's snooze, if that repeats or is paused; None if it has none, or its series does not
    continue with this time."""
    row = queries.alive(connection, user_email=account.email, message_id=message.message_id)
    if row is None or not (row.state == "paused" or row.recurrence):
        return None
    what = acts.Move(time=submitted.reminder_time, every=submitted.every, reading=submitted.reading, from_inbox=True)
    (result,) = acts.act(connection, [row.id], what, By(account.email, ROUTE))
    return result if result.left is None else None


def spend_snooze(connection: Connection, account: Account) -> None:
    """Counts a snooze, or a new time for one, whose row is locked: locks are always taken in this order. Raises
    QuotaReached."""
    quotas.spend_snooze(connection, context.settings().limits, user_email=account.email)


def save_phrase(connection: Connection, account: Account, phrase: str | None) -> None:
    if phrase:
        accounts.save_phrase(connection, account_id=account.id, phrase=phrase, max_phrases=MAX_PHRASES)


def _open(times: TimeFormatter, saved_times: SavedTimes, *, phrase: str, note: str) -> SnoozeForm:
    presets = _parse_presets(times, saved_times.presets)
    offered = {(preset.reading.kind, preset.reading.at) for preset in presets if preset.reading}
    typed = _parse_presets(times, tuple((phrase, phrase) for phrase in saved_times.phrases))
    recent = [one for one in typed if one.reading and (one.reading.kind, one.reading.at) not in offered]
    return SnoozeForm(presets=presets, recent=tuple(recent[:MAX_RECENT]), phrase=phrase, note=note)


def _parse_presets(times: TimeFormatter, choices: tuple[tuple[str, str], ...] | None) -> tuple[Preset, ...]:
    return presets(now=times.now, zone=times.zone, locale=times.locale, choices=choices, own=times.own)


def _parse_phrase(form: SnoozeForm, times: TimeFormatter) -> SnoozeForm:
    try:
        reading = input.parse_phrase(form.phrase, now=times.now, zone=times.zone, locale=times.locale, own=times.own)
    except SnoozeError as error:
        return replace(form, error=error)
    return replace(form, reading=reading)


def _submit(form: SnoozeForm, times: TimeFormatter, *, shown_at: str, typed: bool = True) -> Submitted | SnoozeForm:
    form = _parse_phrase(form, times)
    if form.reading is None or form.reading.at is None:
        return form
    shown = parse_instant(shown_at)
    if shown is None or abs(form.reading.at - shown) > SAME_MEANING:
        return replace(form, meaning_changed=shown is not None)
    try:
        reminder_time = input.reminder_time_of(form.reading, now=times.now, note=form.note)
    except SnoozeError as error:
        return replace(form, error=error)
    phrase = input.clean_phrase(form.phrase) if typed else None
    reminder_time = replace(reminder_time, at_any_hour=form.at_any_hour)
    return Submitted(reminder_time=_answered(form, reminder_time), reading=form.reading, typed=phrase, every=form.every)


def _with_alternative(reading: ParsedTime | None, shown: datetime) -> ParsedTime | None:
    """The reading with its alternative as shown; None if that is not an alternative of it. The alternative of "in a few
    hours" has moved on since then."""
    if reading is None or reading.alternative is None or abs(reading.alternative - shown) > SAME_MEANING:
        return None
    return replace(reading, alternative=shown)


def _submit_instant(form: SnoozeForm, times: TimeFormatter, *, at: str) -> Submitted | SnoozeForm:
    """The alternative of the phrase keeps the phrase's time kind (wall clock or elapsed); any other time is a bare
    instant."""
    instant = parse_instant(at)
    form = _parse_phrase(form, times)
    if instant is None:
        return form
    reading = _with_alternative(form.reading, instant)
    try:
        if reading is not None:
            reminder_time = input.reminder_time_of(reading, now=times.now, note=form.note, alternative=True)
        else:
            reminder_time = input.reminder_time_at(instant, now=times.now, zone=times.zone, note=form.note)
    except SnoozeError as error:
        return replace(form, error=error)
    return Submitted(reminder_time=_answered(form, reminder_time), reading=reading, every=form.every)
