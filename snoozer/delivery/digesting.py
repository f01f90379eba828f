"""Digests in a delivery: how a worker looks them up for claims that were not reserved, and adds their members."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from snoozer.db.errors import is_row_error, is_timeout, sqlstate
from snoozer.queue import digests
from snoozer.queue.ledger import KnownSend
from snoozer.queue.reminder import Claim, Send, UncertainPolicy

log = logging.getLogger(__name__)


def look_up(
    connection: Connection,
    claims: Sequence[Claim],
    *,
    shaped: Collection[int],
    domain: str,
    uncertainty: UncertainPolicy,
) -> dict[int, KnownSend]:
    """By snooze, the state of the digests of these claims, after dissolving digests that must not be sent and gathering
    promises not looked at yet. `shaped` are the snoozes of people whose day has a shape."""
    if unclaimed := digests.lock(connection, people=_people(claims)):
        digests.dissolve(connection, ids=unclaimed)
    if people := _people([claim for claim in claims if claim.id in shaped]):
        _gather(connection, people=people, domain=domain)
    return digests.lookup(connection, ids=[claim.id for claim in claims], uncertainty=uncertainty)


def _people(claims: Sequence[Claim]) -> list[str]:
    return sorted({claim.user_email.lower() for claim in claims})


def _gather(connection: Connection, *, people: Sequence[str], domain: str) -> None:
    """Gather; if the ledger refuses a row, send the promises singly, so that it holds no reminder back."""
    try:
        with connection.begin_nested():
            digests.gather(connection, people=people, domain=domain)
    except DBAPIError as error:
        if not (is_row_error(error) or is_timeout(error)):
            raise
        log.warning("no digest was made (SQLSTATE %s): these reminders come singly", sqlstate(error))
        digests.pass_over(connection, people=people)


def add_members(connection: Connection, sends: Sequence[Send]) -> dict[int, Send]:
    """These sends of digests with their members; members that are over by now leave, unless the bytes are fixed."""
    ids = {send.snooze_id: send.digest_id for send in sends if send.digest_id is not None}
    digests.leave(connection, ids=[ids[send.snooze_id] for send in sends if send.bytes_sha256 is None])
    members = digests.list_members(connection, ids=list(ids.values()))
    return {send.snooze_id: replace(send, members=members.get(ids[send.snooze_id], ())) for send in sends}
