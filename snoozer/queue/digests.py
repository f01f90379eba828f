"""Digests, one mail for promises that came due together: one function per statement in `sql/delivery/digests`, of the
same name.

A digest is the reminder of its first promise, sent like any other; its members have no mail of their own. A member is
claimed like any row, and takes its outcome from the digest. (docs/decisions/0020)
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection

from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.db.statements import execute
from snoozer.queue.ledger import KnownSend
from snoozer.queue.limits import MAX_DIGEST_SIZE, MAX_GATHERED
from snoozer.queue.reminder import Claim, Member, Send, UncertainPolicy

# How long a digest may stay without a mark.
HOLD = timedelta(minutes=30)


def gather(connection: Connection, *, people: Sequence[str], domain: str) -> None:
    """Gather the promises due at the ends of these people's rests. `domain` is that of their reminders' Message-IDs."""
    values = {"domain": domain, "size": MAX_DIGEST_SIZE, "most": MAX_GATHERED, "known_schema": SUPPORTED_SCHEMA}
    execute(connection, "digests/gather", people=list(people), **values)


def gather_reviews(connection: Connection, *, people: Sequence[str], domain: str) -> None:
    """Gather the due snoozes without a date of these people, as `gather` does."""
    values = {"domain": domain, "size": MAX_DIGEST_SIZE, "most": MAX_GATHERED, "known_schema": SUPPORTED_SCHEMA}
    execute(connection, "digests/gather_reviews", people=list(people), **values)


def pass_over(connection: Connection, *, people: Sequence[str]) -> None:
    """Send the promises due at the ends of these people's rests singly."""
    execute(connection, "digests/pass_over", people=list(people))


def lock(connection: Connection, *, people: Sequence[str]) -> list[int]:
    """Lock these people's digests that no worker has claimed, skipping locked ones; returns the digests locked."""
    return list(execute(connection, "digests/lock", people=list(people)).scalars())


def dissolve(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Dissolve the given digests that must not be sent; the caller has locked them. Returns the dissolved ones."""
    return list(execute(connection, "digests/dissolve", ids=list(ids), hold=HOLD).scalars())


def release(connection: Connection, *, ids: Sequence[int]) -> None:
    """Give these snoozes reminders of their own again."""
    execute(connection, "digests/release", ids=list(ids))


def leave(connection: Connection, *, ids: Sequence[int]) -> None:
    """Remove members whose promises have moved or ended from these digests, whose bytes are not fixed."""
    execute(connection, "digests/leave", ids=list(ids))


def list_members(connection: Connection, *, ids: Sequence[int]) -> dict[int, tuple[Member, ...]]:
    """The members of these digests, by digest."""
    members: dict[int, list[Member]] = defaultdict(list)
    for row in execute(connection, "digests/list_members", ids=list(ids)):
        content = {name: value for name, value in row._mapping.items() if name != "digest_id"}
        members[row.digest_id].append(Member(**content))
    return {id: tuple(its) for id, its in members.items()}


def add_members(connection: Connection, sends: Sequence[Send]) -> dict[int, Send]:
    """These sends of digests with their members; members that are over by now leave, unless the bytes are fixed."""
    ids = {send.snooze_id: send.digest_id for send in sends if send.digest_id is not None}
    leave(connection, ids=[ids[send.snooze_id] for send in sends if send.bytes_sha256 is None])
    members = list_members(connection, ids=list(ids.values()))
    return {send.snooze_id: replace(send, members=members.get(ids[send.snooze_id], ())) for send in sends}


def lookup(connection: Connection, *, ids: Sequence[int], uncertainty: UncertainPolicy) -> dict[int, KnownSend]:
    """By snooze: the state of the mail of these claims' digest, `awaited` while a digest may still come."""
    rows = execute(connection, "digests/lookup", ids=list(ids), **vars(uncertainty)).all()
    return {
        row.snooze_id: KnownSend(id=row.id, state=row.state, resends=row.resends, hold_left=row.hold_left)
        for row in rows
    }


def record(connection: Connection, *, claims: Sequence[Claim]) -> None:
    """Enter in the ledger that digests that were sent reminded of these claims."""
    values = {"snooze_ids": [claim.id for claim in claims], "promises": [claim.scheduled_for for claim in claims]}
    execute(connection, "digests/record", **values)


def settle(connection: Connection, *, batch_size: int) -> int:
    """Enter in the ledger the reminders of digests that were sent an hour ago, if no claim did; returns how many
    digests are settled."""
    return len(execute(connection, "digests/settle", batch_size=batch_size).all())


def prune(connection: Connection, *, older_than: timedelta, batch_size: int) -> int:
    """Delete digests that were gathered more than `older_than` ago; returns how many."""
    return len(execute(connection, "digests/prune", older_than=older_than, batch_size=batch_size).all())
