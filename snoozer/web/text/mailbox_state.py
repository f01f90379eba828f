"""A connected mailbox's state for its owner: a label, an icon, an explanation, and a remedy."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from snoozer.mailboxes.problems import Problem, explain
from snoozer.translations import gettext as _

# If a process watches mailboxes, a new one is read within seconds.
UNREAD_FOR = timedelta(minutes=3)


@dataclass(frozen=True, kw_only=True)
class MailboxState:
    """`kind` is the class of label and icon. `problem` is None while the mailbox works."""

    label: str
    icon: str
    kind: str
    explanation: str
    problem: Problem | None = None


def mailbox_state(row: Any, now: datetime) -> MailboxState:
    """The state of a row of `db.queries.mailboxes` at this time."""
    problem = None if row.problem is None else explain(row.problem, host=row.host, port=row.port, is_connected=True)
    if row.state == "leaving":
        return MailboxState(
            label=_("Being disconnected"),
            icon="undo",
            kind="paused",
            explanation=_("What is snoozed in it goes back to where it was; then it is gone from this list."),
            problem=problem,
        )
    if row.state == "paused":
        return MailboxState(
            label=_("Paused"),
            icon="pause",
            kind="stuck",
            explanation=_(
                "Snoozer now tries only rarely, so that the server does not lock the account. What is "
                "snoozed in it is kept, and comes back once it can be reached."
            ),
            problem=problem,
        )
    if problem is not None:
        return MailboxState(
            label=_("Cannot be reached"),
            icon="late",
            kind="late",
            explanation=_(
                "Snoozer keeps trying. What is snoozed in it is kept, and comes back once it can be reached."
            ),
            problem=problem,
        )
    if row.synced_at is None:
        return _unread(row.created_at, now)
    return MailboxState(
        label=_("Works"), icon="check", kind="sent", explanation=_("Messages that you move into Snooze are noticed.")
    )


def _unread(created_at: datetime, now: datetime) -> MailboxState:
    waits_long = now - created_at > UNREAD_FOR
    return MailboxState(
        label=_("Waits for its first look"),
        icon="late" if waits_long else "clock",
        kind="late" if waits_long else "asleep",
        explanation=_("No process of this Snoozer has looked at it yet. Tell an operator to start `snoozer mailbox`.")
        if waits_long
        else _("It is looked at within a minute."),
    )
