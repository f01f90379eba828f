"""Digests in a delivery: what a worker learns of them for claims that were not reserved, and what it writes in one."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from snoozer.db import digests
from snoozer.db.ledger import KnownSend, UncertainPolicy
from snoozer.domain.reminder import Claim, Send


def look_up(
    connection: Connection, claims: Sequence[Claim], *, domain: str, uncertainty: UncertainPolicy
) -> dict[int, KnownSend]:
    """By snooze, what is known of the digests of these claims: those that are not to be sent are dissolved before, and
    what was not looked at is gathered."""
    people = sorted({claim.user_email.lower() for claim in claims})
    if unclaimed := digests.lock(connection, people=people):
        digests.dissolve(connection, ids=unclaimed)
    digests.gather(connection, people=people, domain=domain)
    return digests.lookup(connection, ids=[claim.id for claim in claims], uncertainty=uncertainty)


def add_members(connection: Connection, sends: Sequence[Send]) -> dict[int, Send]:
    """These sends of digests with their members; those that are over by now leave, unless the bytes are fixed."""
    ids = {send.snooze_id: send.digest_id for send in sends if send.digest_id is not None}
    digests.leave(connection, ids=[ids[send.snooze_id] for send in sends if send.bytes_sha256 is None])
    members = digests.list_members(connection, ids=list(ids.values()))
    return {send.snooze_id: replace(send, members=members.get(ids[send.snooze_id], ())) for send in sends}
