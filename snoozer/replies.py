"""USE CASE of replies: what came in answers a snoozed message, so its snooze ends, or the message comes back at once.

A reply is mail by another person that names the message in In-Reply-To or References; its subject says nothing. What
machines and lists send is none.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from snoozer.db import events, mailbox_store, queue, replies
from snoozer.db.replies import Answer, Awaiting
from snoozer.mime.message_parser import ReplyHead
from snoozer.timephrase import Recurrence
from snoozer.timephrase.zones import wall_time

log = logging.getLogger(__name__)

ACTOR = "reply"


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A message that came in, and when."""

    head: ReplyHead
    arrived_at: datetime


def receive(connection: Connection, *, user_email: str, arrivals: Sequence[Arrival], route: str) -> list[int]:
    """Do what these messages mean for the snoozes that wait for replies; returns the snoozes that they ended or brought
    forward. The events say when the reply came, and not from whom."""
    answers = _answers(connection, user_email=user_email, arrivals=arrivals)
    if not answers:
        return []
    awaiting = replies.lock_awaiting(connection, user_email=user_email, answers=answers)
    return [one.id for one in awaiting if _answered(connection, one, user_email=user_email, route=route)]


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


def _answered(connection: Connection, snooze: Awaiting, *, user_email: str, route: str) -> bool:
    id, promise = snooze.id, snooze.promise
    if snooze.policy == "cancel_on_reply":
        kind, done = "cancelled", queue.cancel(connection, id=id, user_email=user_email, scheduled_for=promise)
        mailbox_store.move_to_inbox(connection, user_email=user_email, message_id=snooze.message_id)
    else:
        kind = "replied"
        rest = rest_of(snooze.recurrence, promise, zone=snooze.zone, id=id)
        done = queue.bring_forward(connection, id=id, user_email=user_email, scheduled_for=promise, recurrence=rest)
    if done:
        came = snooze.arrived_at.isoformat()
        events.append(connection, snooze_id=id, kind=kind, actor=ACTOR, route=route, why="reply", came=came)
    return done


def rest_of(
    recurrence: dict[str, Any] | None, promise: datetime, *, zone: str | None, id: int
) -> dict[str, Any] | None:
    """What the snooze `id` repeats, without the occurrence that was promised and comes now; None where that is the
    last."""
    if recurrence is None:
        return None
    try:
        day = wall_time(promise, zone or "UTC").date()
        rest = Recurrence.from_json(recurrence).after(day)
    except (KeyError, ValueError, OverflowError):
        log.warning("the recurrence of snooze %d cannot be read: it stays as it is", id)
        return recurrence
    return None if rest is None else rest.as_json()
