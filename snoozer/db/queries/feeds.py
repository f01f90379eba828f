"""A person's feeds, and their entries."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, func, select

from snoozer.db.models import EMAIL, Send, Snooze, StoredFeed, promised_time
from snoozer.db.queries import Found, columns

# Feeds omit returns older than this; the archive takes only older rows.
RETURNED_WITHIN = timedelta(days=30)


def of_account(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """All feeds of a person, oldest first, without the hashes of their secrets."""
    shown = select(*columns(StoredFeed, "id kind name shows_subject created_at used_at"))
    return connection.execute(shown.where(StoredFeed.account_id == account_id).order_by(StoredFeed.id)).all()


def waiting(connection: Connection, *, user_email: str, size: int) -> Sequence[Found]:
    """The snoozes that come back next, except paused ones."""
    parts = "id message_id subject note sender_email recurrence zone time_kind created_at updated_at"
    rows = select(*columns(Snooze, parts), promised_time().label("promise")).where(
        Snooze.user_email == user_email, Snooze.outcome.is_(None), ~Snooze.inactive
    )
    return connection.execute(rows.order_by(Snooze.remind_at, Snooze.id).limit(size)).all()


def returned(connection: Connection, *, user_email: str, size: int) -> Sequence[Found]:
    """The latest returns, newest first: one for each promise, at the time of the earlier of message and reminder."""
    sent_at = func.min(Send.sent_at).label("sent_at")
    rows = (
        select(*columns(Send, "snooze_id message_id scheduled_for"), sent_at)
        .add_columns(*columns(Snooze, "subject note created_at"))
        .join(Snooze, Snooze.id == Send.snooze_id)
        .where(
            Send.user_email == user_email,
            Send.channel.in_((EMAIL, "mailbox")),
            Send.state == "sent",
            Send.sent_at > func.now() - RETURNED_WITHIN,
        )
        .group_by(Send.snooze_id, Send.message_id, Send.scheduled_for, Snooze.id)
    )
    return connection.execute(rows.order_by(sent_at.desc(), Send.snooze_id.desc()).limit(size)).all()
