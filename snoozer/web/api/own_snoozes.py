"""A person's snoozes for the routes: found, locked and compared, shown as they are now; and what their changes cost."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.queries import Found, api_snoozes
from snoozer.db.state_words import public_state
from snoozer.db.statements import database_time
from snoozer.people import quotas
from snoozer.snoozes import acts
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.result import ParsedTime
from snoozer.web import context
from snoozer.web.api import preconditions, rate_limits, serializers
from snoozer.web.api.auth import bearer_token, by_program
from snoozer.web.api.models.snoozes import Snooze
from snoozer.web.api.problems import Refused


def own(connection: Connection, account: Account, id: int) -> Found:
    """Raises Refused with 404 if the snooze does not exist or belongs to another person."""
    return _found(api_snoozes.one(connection, id=id, user_email=account.email), id)


def to_change(connection: Connection, account: Account, id: int) -> Found:
    """The snooze, locked until the transaction ends, in a state that `If-Match` names. Raises Refused with 404 or
    412."""
    row = _found(api_snoozes.one(connection, id=id, user_email=account.email, changing=True), id)
    preconditions.check(preconditions.snooze_etag(row))
    return row


def shown(
    connection: Connection,
    account: Account,
    id: int,
    parsed: ParsedTime | None = None,
    *,
    result: acts.Result | None = None,
) -> Snooze:
    """The current state of the snooze, with the reading and the flags of `parsed`, and the result of an act."""
    return answer_of(own(connection, account, id), account, parsed, result, now=database_time(connection))


def answer_of(
    row: Found, account: Account, parsed: ParsedTime | None, result: acts.Result | None, *, now: datetime
) -> Snooze:
    """As `shown`, of a row that was read."""
    snooze = serializers.snooze(row, account=account, now=now)
    if parsed is not None:
        snooze.reading, snooze.flags = parsed.sentence, list(parsed.flags)
    if result is None:
        return snooze
    if result.ended is not None:
        snooze.flags = [*snooze.flags, "repetition_ended"]
    if result.event is not None:
        snooze.event = result.event
    if result.may_arrive:
        snooze.may_arrive = True
    return snooze


def act_on(connection: Connection, account: Account, row: Found, what: acts.Act) -> acts.Result:
    """Do an act on the person's snooze. Raises Refused with 409 if the act left it unchanged."""
    (result,) = acts.act(connection, [row.id], what, by_program(account))
    return done_or_refused(connection, row, result)


def done_or_refused(connection: Connection, row: Found, result: acts.Result) -> acts.Result:
    """The result of an act that changed the snooze. Raises Refused with 409 if it left it unchanged."""
    if result.left is None:
        return result
    raise refusal(connection, row, result.left)


def refusal(connection: Connection, row: Found, left: SnoozeError) -> Refused:
    """Returns a 409 for an act that left a snooze unchanged."""
    return over(connection, row) if row.outcome is not None else conflict(connection, row, left)


def undone_or_refused(connection: Connection, row: Found, result: acts.Result) -> acts.Result:
    """As `done_or_refused`, of an Undo, whose event undoes nothing."""
    if result.left is not None:
        raise conflict(connection, row, result.left)
    return replace(result, event=None)


def over(connection: Connection, row: Found) -> Refused:
    """Returns a 409 for a snooze that is over."""
    state = public_state(row.state, row.why)
    return Refused(409, "over", f"This snooze is over: it is {state}. Put the message away again instead.", state=state)


def conflict(connection: Connection, row: Found, error: SnoozeError) -> Refused:
    """Returns a 409 for an act that is impossible in the snooze's current state."""
    members: dict[str, Any] = {"suggestions": list(error.suggestions)} if error.suggestions else {}
    state = public_state(row.state, row.why)
    return Refused(409, error.code, error.message, state=state, **members)


def spend_snooze(connection: Connection, account: Account) -> None:
    """Counts a snooze, or a change of one, afterwards: every transaction locks the quotas last."""
    limits = context.settings().limits
    rate_limits.note(quotas.spend_snooze(connection, limits, user_email=account.email, token=bearer_token()))


def _found(row: Found | None, id: int) -> Found:
    if row is None:
        raise Refused(404, "not_found", f"You have no snooze {id}.")
    return row
