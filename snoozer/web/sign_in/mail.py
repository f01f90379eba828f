"""Mail that a page sends: in the background, after the commit, and never twice."""

import logging
import secrets
from datetime import UTC, datetime
from threading import BoundedSemaphore, Timer

from snoozer.accounts import LINK_LIFETIME, Invitation
from snoozer.mime import compose, headers
from snoozer.settings import Settings
from snoozer.smtp import session
from snoozer.smtp.url import SmtpServer

log = logging.getLogger("snoozer.web")

# A mail that is written while its page is still on the way slows that page, by just enough to be measured.
PAUSE_SECONDS = 0.3
# More than this at once means the mail server hangs; the person can ask again.
_hands = BoundedSemaphore(16)


def send_invitation(invitation: Invitation, *, settings: Settings) -> None:
    """Mail the sign-in link and code. Answers at once, so that whoever asked does not learn how long it takes."""
    if not _hands.acquire(blocking=False):
        log.error("A sign-in mail was not sent: the mail server still holds the ones before it")
        return
    later = Timer(PAUSE_SECONDS, _send, args=(invitation, settings))
    later.name, later.daemon = "sign-in-mail", True
    later.start()


def _send(invitation: Invitation, settings: Settings) -> None:
    try:
        relay = SmtpServer.from_url(settings.smtp_url.get_secret_value())
        mail_from, domain = headers.mail_from_address(settings.mail_from), headers.mail_from_domain(settings.mail_from)
        message = compose.compose_sign_in(
            to=invitation.email,
            link=f"{settings.base_url}/sign-in/{invitation.token}",
            code=invitation.code,
            minutes=int(LINK_LIFETIME.total_seconds() // 60),
            mail_from=settings.mail_from,
            instance=domain,
            now=datetime.now(UTC),
            message_id=f"<sign-in.{secrets.token_hex(16)}@{domain}>",
        )
        session.deliver(relay, helo=domain, mail_from=mail_from, rcpt_to=invitation.email, message=message)
    except Exception as error:
        log.error("A sign-in mail could not be sent: %s", type(error).__name__)
    finally:
        _hands.release()
