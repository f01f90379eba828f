"""The queue: one function per file in `sql/queue`, of the same name. Together the files are the state machine.

asleep → claimed → sent · claimed → asleep (release, hand_back, recover, rearm) · claimed → retired (release, recover)
asleep → retired (retire) · any living row → asleep (go_on) · any living row → cancelled (cancel) → asleep (restore)
any living row → retired (set_aside) · retired → asleep (reactivate) · retired → cancelled (dismiss)

Each function answers with facts: ids that changed, or None or False when the claim was no longer the caller's.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from snoozer.domain.reminder import Claim
from snoozer.postgres.among import EVERY_ID, bounds
from snoozer.postgres.appointment import Appointment
from snoozer.postgres.changes import Doubtful, Move, Recovered
from snoozer.postgres.handling import ORDINARY, Handling
from snoozer.postgres.statements import each, run

# Claims by id and token.
Held = Sequence[tuple[int, UUID]]

# A place in the order of promises: `remind_at` and id.
Place = tuple[datetime, int]


def enqueue(
    connection: Connection,
    *,
    user_email: str,
    message_id: str,
    appointment: Appointment,
    subject: str | None = None,
    sender_email: str | None = None,
    traceparent: str | None = None,
    handling: Handling = ORDINARY,
) -> tuple[int, bool]:
    """Put a message away; answers the row's id and whether it is a new row (False: a living one was changed)."""
    row = run(
        connection,
        "queue/enqueue",
        user_email=user_email,
        message_id=message_id,
        subject=subject,
        sender_email=sender_email,
        traceparent=traceparent,
        **appointment.columns,
        **vars(handling),
    ).one()
    return row.id, row.created


def claim(
    connection: Connection,
    *,
    worker: str,
    batch_size: int,
    lease: timedelta,
    priority: int = 0,
    suspects: bool = False,
    after: Place | None = None,
    crowd: Sequence[str] = (),
    buckets: Sequence[int] | None = None,
    steal_after: timedelta = timedelta(0),
    known_schema: int = 1,
) -> list[Claim]:
    """Up to `batch_size` due snoozes of one priority, now held by `worker` for `lease`, in the order of their promises.

    Suspects are rows that lost a worker before; they are asked for apart so that they can be delivered alone. Rows up
    to the place `after` and those of the persons in `crowd` are left out. With `buckets`, rows of other buckets are
    taken only once they are `steal_after` overdue. Rows of a schema version above `known_schema` are left to newer
    workers.
    """
    rows = run(
        connection,
        "queue/claim",
        worker=worker,
        batch_size=batch_size,
        lease=lease,
        priority=priority,
        suspects=suspects,
        after_time=after[0] if after else None,
        after_id=after[1] if after else 0,
        crowd=list(crowd),
        buckets=None if buckets is None else list(buckets),
        steal_after=steal_after,
        known_schema=known_schema,
    )
    return sorted(each(rows, Claim), key=lambda claim: (claim.scheduled_for, claim.id))


def extend(connection: Connection, *, held: Held, lease: timedelta) -> dict[int, bool]:
    """Lengthen these leases; answers those that are still the worker's, and whether each could be lengthened now."""
    return {row.id: row.extended for row in run(connection, "queue/extend", lease=lease, **_pairs(held))}


def finalize(connection: Connection, *, held: Held) -> set[tuple[int, UUID]]:
    """These reminders are out; answers the claims that were still the caller's."""
    return {(row.id, row.claim_token) for row in run(connection, "queue/finalize", **_pairs(held)).all()}


def rearm(connection: Connection, *, id: int, claim_token: UUID, remind_at: datetime) -> bool:
    """The occurrence is out and the next one promised; False when the claim is no longer ours."""
    values = {"id": id, "claim_token": claim_token, "remind_at": remind_at}
    return run(connection, "queue/rearm", **values).first() is not None


def release(
    connection: Connection,
    *,
    id: int,
    claim_token: UUID,
    error: str,
    spent: int,
    delay: timedelta,
    permanent: bool = False,
) -> str | None:
    """A failure is written down: "released", "retired", or None when the claim is no longer ours."""
    row = run(
        connection,
        "queue/release",
        id=id,
        claim_token=claim_token,
        error=error,
        spent=spent,
        delay=delay,
        permanent=permanent,
    ).first()
    return None if row is None else row.outcome or "released"


def hand_back(connection: Connection, *, held: Held) -> list[int]:
    """Give claims back that were never begun; nothing is spent. Answers those that were still the worker's."""
    return list(run(connection, "queue/hand_back", **_pairs(held)).scalars())


def recover(
    connection: Connection,
    *,
    batch_size: int,
    lease: timedelta,
    delay: timedelta,
    hold: timedelta,
    hold_for_operator: bool,
    most_crashes: int,
    most_resends: int,
    among: range = EVERY_ID,
) -> list[Recovered]:
    """Take back claims of the dead and leases that ran out; a send that may have left becomes uncertain."""
    rows = run(
        connection,
        "queue/recover",
        batch_size=batch_size,
        lease=lease,
        delay=delay,
        hold=hold,
        hold_for_operator=hold_for_operator,
        most_crashes=most_crashes,
        most_resends=most_resends,
        **bounds(among),
    )
    return each(rows, Recovered)


def retire(connection: Connection, *, batch_size: int, among: range = EVERY_ID) -> list[int]:
    """Due rows whose attempts are spent become cases."""
    return list(run(connection, "queue/retire", batch_size=batch_size, **bounds(among)).scalars())


def reschedule(connection: Connection, *, id: int, user_email: str, appointment: Appointment) -> bool:
    """A new promise for a living snooze; False when it is over or somebody else's."""
    columns = appointment.columns
    return run(connection, "queue/reschedule", id=id, user_email=user_email, **columns).first() is not None


def move(connection: Connection, *, moves: Sequence[Move]) -> set[int]:
    """Times on the clock fall on other instants; answers those that moved. What changed since it was read stays."""
    values = {
        "ids": [one.id for one in moves],
        "promised": [one.promised for one in moves],
        "remind_at": [one.remind_at for one in moves],
        "zones": [one.zone for one in moves],
    }
    return set(run(connection, "queue/move", **values).scalars())


def cancel(connection: Connection, *, id: int, user_email: str, scheduled_for: datetime | None = None) -> bool:
    """The person no longer wants it; with `scheduled_for` only that promise is meant. False when it is over."""
    values = {"id": id, "user_email": user_email, "scheduled_for": scheduled_for}
    return run(connection, "queue/cancel", **values).first() is not None


def go_on(connection: Connection, *, id: int, user_email: str, scheduled_for: datetime, remind_at: datetime) -> bool:
    """This occurrence is the person's, the next one promised; False when the row is over or promises another."""
    values = {"id": id, "user_email": user_email, "scheduled_for": scheduled_for, "remind_at": remind_at}
    return run(connection, "queue/go_on", **values).first() is not None


def restore(connection: Connection, *, id: int, user_email: str) -> bool:
    """Undo a cancellation; False when there is none to undo or the message was put away anew."""
    try:
        with connection.begin_nested():
            return run(connection, "queue/restore", id=id, user_email=user_email).first() is not None
    except IntegrityError:
        # It was put away anew in this very moment.
        return False


def reactivate(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Cases go back to work; answers those that did."""
    return list(run(connection, "queue/reactivate", ids=list(ids)).scalars())


def dismiss(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Cases are closed for good; answers those that were."""
    return list(run(connection, "queue/dismiss", ids=list(ids)).scalars())


def set_aside(
    connection: Connection, *, until: datetime, after: int, batch_size: int, domain: str, error: str
) -> list[Doubtful]:
    """Due before `until`, with ids beyond `after`: cases now, as a restored dump cannot tell whether they were sent."""
    values = {"until": until, "after": after, "batch_size": batch_size, "domain": domain, "error": error}
    return sorted(each(run(connection, "queue/set_aside", **values), Doubtful), key=lambda one: one.id)


def archive(connection: Connection, *, ids: Sequence[int], older_than: timedelta) -> list[int]:
    """Move those of these snoozes that have been over for `older_than` to the archive, with their sends."""
    return list(run(connection, "queue/archive", ids=list(ids), older_than=older_than).scalars())


def _pairs(held: Held) -> dict[str, object]:
    return {"ids": [id for id, _ in held], "claim_tokens": [token for _, token in held]}
