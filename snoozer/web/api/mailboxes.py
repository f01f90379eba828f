"""The routes of connected mailboxes, which are read only: connecting one needs a browser.

The docstrings of the routes are published in openapi.json.
"""

from datetime import datetime

from flask import Response

from snoozer.db.models import Account
from snoozer.db.queries import Found, mailboxes
from snoozer.db.scopes import Scope
from snoozer.timephrase.zones import zone_or_utc
from snoozer.web.api.auth import caller
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.idempotency import respond
from snoozer.web.api.models.headers import ReadHeaders
from snoozer.web.api.models.settings import Mailbox, Mailboxes
from snoozer.web.api.openapi import NOT_MODIFIED, operation
from snoozer.web.api.problems import Refused

_SHOWN = ("id", "address", "host", "state", "problem", "brings_back", "snooze_flag", "snooze_flag_time")


@blueprint.get("/mailboxes")
@operation(
    "listMailboxes",
    scope=Scope.MAILBOXES_READ,
    headers=ReadHeaders,
    returns={200: (Mailboxes, "All of them."), 304: NOT_MODIFIED},
)
def browse_mailboxes() -> Response:
    """The mailboxes that are connected"""
    with caller() as (connection, account):
        rows = mailboxes.connected(connection, account_id=account.id)
    return respond(200, Mailboxes(mailboxes=[_mailbox(row, account) for row in rows]))


@blueprint.get("/mailboxes/<row:id>")
@operation(
    "getMailbox",
    scope=Scope.MAILBOXES_READ,
    headers=ReadHeaders,
    returns={200: (Mailbox, "The mailbox."), 304: NOT_MODIFIED},
    refuses=(404,),
)
def show_mailbox(id: int) -> Response:
    """One mailbox, and what is wrong with it"""
    with caller() as (connection, account):
        row = mailboxes.find(connection, id=id, account_id=account.id)
    if row is None:
        raise Refused(404, "not_found", f"You have no mailbox {id}.")
    return respond(200, _mailbox(row, account))


def _mailbox(row: Found, account: Account) -> Mailbox:
    place = zone_or_utc(account.zone)

    def local(moment: datetime | None) -> str | None:
        return None if moment is None else moment.astimezone(place).isoformat()

    return Mailbox(
        **{name: getattr(row, name) for name in _SHOWN},
        problem_since=local(row.problem_since),
        synced_at=local(row.synced_at),
        created_at=row.created_at.astimezone(place).isoformat(),
    )
