"""Delivers one notice by mail, outside the ledger."""

import logging

from snoozer.mail import headers
from snoozer.mail.smtp import client
from snoozer.mail.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.url import SmtpServer

log = logging.getLogger(__name__)

SECONDS = 15.0


def deliver(server: SmtpServer, message: bytes, *, mail_from: str, to: str) -> bool:
    """Returns whether it is settled: accepted, or refused for good. Otherwise it is to be sent again."""
    sender = headers.mail_from_address(mail_from)
    helo = headers.mail_from_domain(mail_from)
    try:
        client.deliver(server, helo=helo, mail_from=sender, rcpt_to=to, message=message, deadline=SECONDS)
    except (ServerUnavailable, NoReplyAfterData, Rejected) as error:
        log.warning("a notice was not sent: %s", type(error).__name__)
        return isinstance(error, Rejected) and error.permanent
    return True
