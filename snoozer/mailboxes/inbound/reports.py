"""Reports of mail systems about a reminder that they had accepted: a bounce, a delay, a complaint. None makes a mail.

A report comes to the sender of the reminder's envelope, whose token names the send. Complaints may come to `b@`, the
address to register for them, and have the token in the mail that they return.
"""

import re
from dataclasses import dataclass

from sqlalchemy import Connection

from snoozer.db import audit, pauses
from snoozer.db.audit import Entry
from snoozer.mail import bounces, links
from snoozer.mail.bounces import MAX_READ_BYTES, Report
from snoozer.mail.links import InvalidLink, Link
from snoozer.mailboxes.inbound.doors import Site
from snoozer.queue import ledger

EVENTS = {"bounced": "bounced", "delayed": "delivery delayed", "complained": "complained"}
COMPLAINTS = "b"
ACTOR = "mail"

_TOKEN = re.compile(rb"b\+[a-z2-7]{50,80}(?=@)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ReportDoor:
    """The address to which one reminder is returned, or without a link that of complaints."""

    site: Site
    link: Link | None

    def receive(self, connection: Connection, *, original: bytes, has_null_sender: bool) -> None:
        """Record what the mail reports, once, and stop mail to an address that takes or wants none. Other mail, and a
        report about no reminder that is known, does nothing."""
        report = bounces.read(original, has_null_sender=has_null_sender)
        link = self.link or (_returned(original, self.site) if report and report.kind == "complained" else None)
        if report is None or link is None:
            return
        reported = ledger.report(
            connection,
            snooze_id=link.snooze_id,
            scheduled_for=link.scheduled_for,
            kind=EVENTS[report.kind],
            code=report.code,
            text=report.text,
        )
        if reported is not None and reported.is_new and report.stops_mail:
            _stop_mail(connection, report, reported)


def find(*, local_part: str, site: Site) -> ReportDoor | None:
    """The door of an address; None if it was not made here."""
    if local_part.lower() == COMPLAINTS:
        return ReportDoor(site=site, link=None)
    link = _link(local_part, site)
    return None if link is None else ReportDoor(site=site, link=link)


def _link(local_part: str, site: Site) -> Link | None:
    try:
        link = links.verify_address(local_part, keys=site.keys)
    except InvalidLink:
        return None
    return link if link.action == "bounce" else None


def _returned(original: bytes, site: Site) -> Link | None:
    """The reminder in a complaint, by the sender of its envelope."""
    found = _TOKEN.findall(original[:MAX_READ_BYTES])[:10]
    return next((link for token in found if (link := _link(token.decode("ascii"), site)) is not None), None)


def _stop_mail(connection: Connection, report: Report, reported: ledger.Reported) -> None:
    """Mark the address, as an operator does, until its person or an operator says that it takes mail again. A report
    about an older reminder does not take that back."""
    what = f"A mail to it came back ({report.code or 'no such mailbox'})"
    reason = what if report.kind == "bounced" else "A reminder was reported as spam"
    id = pauses.begin(
        connection,
        kind="invalid",
        value=reported.recipient.lower(),
        actor=ACTOR,
        reason=reason,
        unless_ended_after=reported.handed_over_at,
    )
    if id is not None:
        entry = Entry(target=f"pause:{id}", after={"kind": "invalid", "value": None})
        audit.append(connection, actor=ACTOR, act="mark_invalid", reason=reason, entries=[entry])
