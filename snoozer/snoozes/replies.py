"""USE CASE of replies: mail replies to a snoozed message, so its snooze ends, or the message comes back at once.

A reply is mail by another person that names the message in In-Reply-To or References; its subject does not count. Mail
sent by machines and lists is not a reply.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from snoozer.db import replies
from snoozer.db.replies import Answer, Awaiting
from snoozer.mail.message_parser import ReplyHead
from snoozer.snoozes import acts
from snoozer.snoozes.acts import Act, By, Cancel, Replied
from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import wall_time

log = logging.getLogger(__name__)

ACTOR = "reply"


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A message that came in, and when."""

    head: ReplyHead
    arrived_at: datetime


def receive(connection: Connection, *, user_email: str, arrivals: Sequence[Arrival], route: str) -> list[int]:
    """Apply these messages to the snoozes that wait for replies; returns the snoozes that they ended or brought
    forward. The events say when the reply came, and not from whom."""
    answers = _answers(connection, user_email=user_email, arrivals=arrivals)
    if not answers:
        return []
    awaiting = replies.lock_awaiting(connection, user_email=user_email, answers=answers)
    by = By(user_email, route, ACTOR)
    return [one.id for one in awaiting if _answered(connection, one, by)]


def _answers(connection: Connection, *, user_email: str, arrivals: Sequence[Arrival]) -> list[Answer]:
    by_others = [one for one in arrivals if one.head.answers and one.head.sender_email and not one.head.automatic]
    if not by_others:
        return []
    own = replies.list_addresses(connection, user_email=user_email)
    return [
        Answer(named, one.head.message_id, one.arrived_at)
        for one in by_others
        for named in one.head.answers
        if (one.head.sender_email or "").lower() not in own
    ]


def _answered(connection: Connection, snooze: Awaiting, by: By) -> bool:
    detail = {"why": "reply", "came": snooze.arrived_at.isoformat()}
    what: Act = Cancel(promise=snooze.promise, detail=detail)
    if snooze.policy == "until_reply":
        left = rest_of(snooze.recurrence, snooze.promise, zone=snooze.zone, id=snooze.id)
        what = Replied(promise=snooze.promise, left=left, detail=detail)
    (answered,) = acts.act(connection, [snooze.id], what, by)
    return answered.left is None


def rest_of(
    recurrence: dict[str, Any] | None, promise: datetime, *, zone: str | None, id: int
) -> dict[str, Any] | None:
    """The recurrence of the snooze `id` without the promised occurrence, which comes now; None if that is the last."""
    if recurrence is None:
        return None
    try:
        series = Recurrence.from_json(recurrence)
        # Nothing is left of someday: it comes now.
        rest = None if series.kind == "someday" else series.after(wall_time(promise, zone or "UTC").date())
    except (KeyError, ValueError, OverflowError):
        log.warning("the recurrence of snooze %d cannot be read: it stays as it is", id)
        return recurrence
    return None if rest is None else rest.as_json()
