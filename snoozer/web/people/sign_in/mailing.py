"""Mails about an account, such as the one with a sign-in link and its code, sent in the background."""

import logging
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from threading import BoundedSemaphore, Timer
from typing import Literal

from snoozer.mail import headers, notices
from snoozer.mail.smtp import client as smtp_client
from snoozer.mail.smtp.transport import Reply
from snoozer.mail.smtp.url import SmtpServer
from snoozer.people.accounts import LINK_LIFETIME, Invitation
from snoozer.settings import Settings
from snoozer.translations import current_language

log = logging.getLogger("snoozer.web")

# A mail that is sent while its response is still on the way slows that response measurably.
MAIL_DELAY_SECONDS = 0.3
# More than this at once means that the mail server hangs; the person can request another link.
MAX_MAILS_IN_FLIGHT = 16
_mails_in_flight = BoundedSemaphore(MAX_MAILS_IN_FLIGHT)


Template = Literal["sign_in", "confirmation", "address_code"]


def send_invitation(invitation: Invitation, *, settings: Settings, template: Template = "sign_in") -> None:
    """Mails the link and the code in the background; for a confirmation or an address, only the code."""
    words = {
        "link": f"{settings.base_url}/sign-in/{invitation.token}",
        "code": invitation.code,
        "minutes": str(int(LINK_LIFETIME.total_seconds() // 60)),
    }
    send_in_background(template, words, to=invitation.email, settings=settings)


def send_in_background(template: str, words: Mapping[str, str], *, to: str, settings: Settings) -> None:
    """Mails a notice about an account in the language of this request, at most once. Returns at once, so that the
    response does not show how long it takes."""
    if not _mails_in_flight.acquire(blocking=False):
        log.error("A mail about an account was not sent: the mail server still holds the ones before it")
        return
    timer = Timer(MAIL_DELAY_SECONDS, _send, args=(template, words, to, settings, current_language()))
    timer.name, timer.daemon = "sign-in-mail", True
    timer.start()


def _send(template: str, words: Mapping[str, str], to: str, settings: Settings, language: str) -> None:
    try:
        deliver_notice(template, words, to=to, settings=settings, language=language)
    except Exception as error:
        log.error("A mail about an account could not be sent: %s", type(error).__name__)
    finally:
        _mails_in_flight.release()


def deliver_notice(
    template: str, words: Mapping[str, str], *, to: str, settings: Settings, language: str, deadline: float = 60
) -> Reply:
    """Mails a notice about an account and returns the server's reply. Raises as `smtp_client.deliver` does."""
    server = SmtpServer.from_url(settings.smtp_url.get_secret_value())
    mail_from, domain = headers.mail_from_address(settings.mail_from), headers.mail_from_domain(settings.mail_from)
    message = notices.compose_notice(
        template,
        words,
        to=to,
        mail_from=settings.mail_from,
        instance=domain,
        now=datetime.now(UTC),
        message_id=f"<sign-in.{secrets.token_hex(16)}@{domain}>",
        language=language,
    )
    signed = settings.sign(message)
    return smtp_client.deliver(server, helo=domain, mail_from=mail_from, rcpt_to=to, message=signed, deadline=deadline)
