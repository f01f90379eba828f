"""Acts on single snoozes, as tests say them: `snooze(connection, …)`, `cancel(connection, id)`."""

from sqlalchemy import Connection

from snoozer.queue.promise import DEFAULT_OPTIONS, EnqueueOptions, ReminderTime
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By, Cancel, Result, Snooze, Wanted
from snoozer.snoozes.input import Message
from tests.factories import ANN


def act(connection: Connection, id: int, what: acts.Act, *, email: str = ANN, door: str = "web") -> Result:
    """One act on one snooze, by its owner."""
    [result] = acts.act(connection, [id], what, By(email, door))
    return result


def done(connection: Connection, id: int, what: acts.Act, *, email: str = ANN, door: str = "web") -> bool:
    """Whether the act was done; False if the snooze was left as it is."""
    return act(connection, id, what, email=email, door=door).left is None


def cancel(connection: Connection, id: int, *, email: str = ANN) -> bool:
    return done(connection, id, Cancel(), email=email)


def reschedule(connection: Connection, id: int, reminder_time: ReminderTime, *, email: str = ANN) -> bool:
    """Another time; what repeats ends unless the time has it."""
    return done(connection, id, Snooze(time=reminder_time), email=email)


def undo(connection: Connection, id: int, event: int | None = None, *, email: str = ANN) -> bool:
    """Undo the newest act on a snooze, or that of an event."""
    [result] = acts.undo(connection, [id], By(email, "web"), done=None if event is None else [event])
    return result.left is None


def snooze(
    connection: Connection,
    *,
    user_email: str = ANN,
    message_id: str,
    reminder_time: ReminderTime,
    options: EnqueueOptions = DEFAULT_OPTIONS,
    subject: str | None = None,
    sender_email: str | None = None,
    traceparent: str | None = None,
) -> tuple[int, bool]:
    """Snooze a message; returns the id of its snooze, and whether that is new."""
    message = Message(message_id=message_id, subject=subject, sender_email=sender_email)
    wanted = Wanted(message=message, time=reminder_time, options=options)
    [result] = acts.snooze(connection, [wanted], By(user_email, "api"), traceparent=traceparent)
    return result.id, result.before is None
