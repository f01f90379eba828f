"""A DOOR to acts: the answer to a reminder, or to the mail that answered the last one.

The address is signed and bound to one occurrence, as a link in a reminder is, and obeys its rules (`occurrences`).
Until that occurrence leaves, an answer acts on the snooze while it promises that.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from sqlalchemy import Connection, select

from snoozer.db.mail_acts import Heard
from snoozer.db.models import Event, Snooze
from snoozer.mail import answer_text, links
from snoozer.mail.links import InvalidLink, Link
from snoozer.mailboxes import inbox
from snoozer.mailboxes.inbound import doors
from snoozer.mailboxes.inbound.doors import Mail, Site
from snoozer.mailboxes.inbox import Person
from snoozer.queue import changes
from snoozer.snoozes import acts, input, reminder_links
from snoozer.snoozes.acts import Act, By, Cancel, Move, Pause
from snoozer.snoozes.decision import MAY_ARRIVE
from snoozer.snoozes.input import SnoozeError
from snoozer.snoozes.reminder_links import Occurrence
from snoozer.timephrase.result import ParsedTime
from snoozer.translations import N_
from snoozer.translations import gettext as _

ROUTE = "answer"
NO_LINE = N_("Write one line above the quoted mail: a time or a word.")
NO_SECOND = N_("If another one within an hour is not understood, it gets no answer.")

WORDS = {
    **dict.fromkeys(("done", "erledigt", "fertig"), "done"),
    **dict.fromkeys(("cancel", "abbrechen", "stornieren"), "cancel"),
    **dict.fromkeys(("pause", "pausieren"), "pause"),
    **dict.fromkeys(("undo", "rückgängig", "rückgängig machen"), "undo"),
}


@dataclass(frozen=True, kw_only=True)
class AnswerDoor:
    """The address to which one reminder is answered."""

    takes_replies: ClassVar[bool] = True
    person: Person
    link: Link

    def owner(self, connection: Connection, *, original: bytes) -> Person | None:
        """The person to whom the reminder went: the address is the proof."""
        return self.person

    def act(self, connection: Connection, mail: Mail) -> Heard:
        """Perform what the answer says; the answer to it is bound to the same occurrence."""
        bound = Heard(snooze_id=self.link.snooze_id, scheduled_for=self.link.scheduled_for)
        try:
            word, time = _read(mail)
        except SnoozeError as error:
            unread = doors.unread(error)
            text = f"{unread.words['text']} {_(NO_SECOND)}"
            return replace(bound, understood=False, words={**unread.words, "text": text})
        mail.spend(1)
        try:
            text = _perform(connection, self.link, mail, word=word, time=time)
        except SnoozeError as left:
            text = left.message
        subject = connection.execute(
            select(Snooze.subject).where(Snooze.id == self.link.snooze_id)
        ).scalar_one_or_none()
        words = {"text": text} | ({"about": subject} if subject else {})
        return replace(bound, words=words)


def find(connection: Connection, *, local_part: str, site: Site) -> AnswerDoor | None:
    """The door of an address; None if it was not made here, or its snooze or account is gone."""
    try:
        link = links.verify_address(local_part, keys=site.keys)
    except InvalidLink:
        return None
    if link.action != "answer":
        return None
    email = connection.execute(select(Snooze.user_email).where(Snooze.id == link.snooze_id)).scalar_one_or_none()
    person = None if email is None else inbox.person_of(connection, email=email)
    return None if person is None else AnswerDoor(person=person, link=replace(link, action="see"))


def _read(mail: Mail) -> tuple[str, ParsedTime | None]:
    """The word of the answer, or "time" and the time that it names. Raises SnoozeError if it is neither."""
    phrase = answer_text.command(mail.original)
    if phrase is None or phrase.isdigit():
        raise SnoozeError("unrecognised", _(NO_LINE), ("3d", "tomorrow 8am", "done", "cancel", "pause", "undo"))
    word = WORDS.get(phrase.casefold())
    return (word, None) if word else ("time", doors.read_time(phrase, mail))


def _perform(connection: Connection, link: Link, mail: Mail, *, word: str, time: ParsedTime | None) -> str:
    """Returns a sentence about what was done. Raises SnoozeError if nothing was."""
    occurrence = reminder_links.find(connection, link=link, acting=True)
    if word == "undo":
        return _undo(connection, link, mail, occurrence)
    if occurrence is None:
        return _before_it_comes(connection, link, mail, word=word, time=time)
    if links.is_old(occurrence.mailed_at, mail.now):
        raise SnoozeError("old", _("This reminder is more than 30 days old, so an answer to it changes nothing."))
    if word == "time" and time is not None:
        return _snooze_again(connection, mail, occurrence, time)
    # A single reminder that came is over: to cancel it is to be done with it.
    is_series = occurrence.repeats or occurrence.next_at is not None
    if word == "done" or (word == "cancel" and not is_series and occurrence.asleep_id is None):
        if not reminder_links.done(connection, occurrence=occurrence, route=ROUTE):
            raise _left(occurrence)
        return _("Done.")
    if (
        occurrence.asleep_id is not None
        and not occurrence.by_link
        and (occurrence.superseded or not occurrence.repeats)
    ):
        raise _left(occurrence)
    if occurrence.asleep_id is None and not is_series:
        raise SnoozeError("over", _("Its reminder has come already, so there is nothing to pause."))
    promise = occurrence.scheduled_for if occurrence.asleep_id is None else None
    return _act(connection, occurrence.asleep_id or link.snooze_id, mail, _stop(word, promise), arrived=True)


def _snooze_again(connection: Connection, mail: Mail, occurrence: Occurrence, time: ParsedTime) -> str:
    reminder_time = input.reminder_time_of(time, now=mail.now, note=occurrence.note)
    if reminder_links.snooze_again(connection, occurrence=occurrence, reminder_time=reminder_time, route=ROUTE):
        return doors.understood(time)
    # An answer corrects the one before, and a new series takes the place of the former one.
    is_series = occurrence.repeats and not occurrence.superseded and time.recurrence is not None
    if occurrence.asleep_id is not None and (occurrence.by_link or is_series):
        return _act(connection, occurrence.asleep_id, mail, Move(time=reminder_time, reading=time), arrived=True)
    raise _left(occurrence)


def _before_it_comes(connection: Connection, link: Link, mail: Mail, *, word: str, time: ParsedTime | None) -> str:
    """The reminder of this occurrence has not left: the answer is to the mail that confirmed the snooze."""
    row = next(iter(changes.lock_chosen(connection, user_email=mail.person.email, ids=[link.snooze_id])), None)
    if row is not None and row.outcome is None:
        if row.remind_at != link.scheduled_for:
            raise SnoozeError("changed", _("It was changed since, so nothing was changed now."))
        if word == "done":
            raise SnoozeError("not_back", _("It has not come back yet, so nothing was changed. Cancel it instead."))
    if time is None:
        return _act(connection, link.snooze_id, mail, _stop(word, link.scheduled_for))
    reminder_time = input.reminder_time_of(time, now=mail.now)
    return _act(connection, link.snooze_id, mail, Move(time=reminder_time, reading=time))


def _stop(word: str, promise: datetime | None) -> Act:
    return Cancel(promise=promise) if word == "cancel" else Pause()


def _act(connection: Connection, id: int, mail: Mail, what: Act, *, arrived: bool = False) -> str:
    """Act; if the reminder has `arrived`, its copy is not announced."""
    (result,) = acts.act(connection, [id], what, By(mail.person.email, ROUTE))
    if result.left is not None:
        raise result.left
    if isinstance(what, Move) and what.reading is not None:
        text = doors.understood(what.reading)
    elif isinstance(what, Pause):
        text = _("Paused: nothing comes of it until you resume it on its page.")
    else:
        text = _("Cancelled: nothing comes of it any more.")
    return f"{text} {_(MAY_ARRIVE)}" if result.may_arrive and not arrived else text


def _undo(connection: Connection, link: Link, mail: Mail, occurrence: Occurrence | None) -> str:
    """Undo what the last answer or link did. An act by a page is undone there."""
    if occurrence is not None and reminder_links.undo(connection, occurrence=occurrence, route=ROUTE):
        return _("Undone.")
    newest = select(Event.id, Event.route).where(Event.snooze_id == link.snooze_id, Event.actor == "user")
    event = connection.execute(newest.order_by(Event.id.desc()).limit(1)).first()
    if event is None or event.route not in {ROUTE, doors.ADDRESS_ROUTE}:
        raise SnoozeError("nothing_to_undo", _("There is nothing to undo."))
    (undone,) = acts.undo(connection, [link.snooze_id], By(mail.person.email, ROUTE), done=[event.id])
    if undone.left is not None:
        raise undone.left
    return _("Undone.")


def _left(occurrence: Occurrence) -> SnoozeError:
    if occurrence.status == "done":
        return SnoozeError("done", _("It was done already."))
    return SnoozeError("snoozed", _("It is snoozed already, so nothing was changed."))
