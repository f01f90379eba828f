"""A person's snoozes for the routes: found, locked and compared, shown as they are now; and what their changes cost."""

from typing import Any

from sqlalchemy import Connection

from snoozer import quotas
from snoozer.db.models import Account
from snoozer.db.queries import Found, api_snoozes
from snoozer.db.statements import database_time
from snoozer.snoozing import SnoozeError
from snoozer.timephrase import ParsedTime
from snoozer.web import context
from snoozer.web.api import preconditions, rate_limits, serializers
from snoozer.web.api.auth import bearer_token
from snoozer.web.api.models.snoozes import Snooze
from snoozer.web.api.problems import Refused
from snoozer.web.text.status import row_state


def own(connection: Connection, account: Account, id: int) -> Found:
    """Raises Refused with 404 for a snooze that is none of this person's."""
    return _found(api_snoozes.one(connection, id=id, user_email=account.email), id)


def to_change(connection: Connection, account: Account, id: int) -> Found:
    """The snooze, locked until the transaction ends, in a state that `If-Match` names. Raises Refused with 404 or
    412."""
    row = _found(api_snoozes.one(connection, id=id, user_email=account.email, changing=True), id)
    preconditions.check(preconditions.snooze_etag(row, now=database_time(connection)))
    return row


def shown(
    connection: Connection,
    account: Account,
    id: int,
    parsed: ParsedTime | None = None,
    *,
    ended: bool = False,
    event: int | None = None,
) -> Snooze:
    """The snooze as it is now, with the reading and the flags of `parsed`, a flag for a recurrence that ended, and the
    event of what was done."""
    row = own(connection, account, id)
    snooze = serializers.snooze(row, account=account, now=database_time(connection))
    if parsed is not None:
        snooze.reading, snooze.flags = parsed.sentence, list(parsed.flags)
    if ended:
        snooze.flags = [*snooze.flags, "repetition_ended"]
    if event is not None:
        snooze.event = event
    return snooze


def over(connection: Connection, row: Found) -> Refused:
    """Returns a 409 for a snooze that is over."""
    state = row_state(row, now=database_time(connection))
    return Refused(409, "over", f"This snooze is over: it is {state}. Put the message away anew instead.", state=state)


def conflict(connection: Connection, row: Found, error: SnoozeError) -> Refused:
    """Returns a 409 for an act that the snooze as it is does not allow."""
    members: dict[str, Any] = {"suggestions": list(error.suggestions)} if error.suggestions else {}
    state = row_state(row, now=database_time(connection))
    return Refused(409, error.code, error.message, state=state, **members)


def spend_snooze(connection: Connection, account: Account) -> None:
    """Counts a snooze, or a change of one, after it was done: what is counted is locked last, by all."""
    limits = context.settings().limits
    rate_limits.note(quotas.spend_snooze(connection, limits, user_email=account.email, token=bearer_token()))


def _found(row: Found | None, id: int) -> Found:
    if row is None:
        raise Refused(404, "not_found", f"You have no snooze {id}.")
    return row
