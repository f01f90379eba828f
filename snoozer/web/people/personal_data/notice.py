"""The mail which announces that an account is about to be deleted, so that its owner learns of it if someone else
asked."""

import logging
import secrets
from datetime import UTC, datetime
from threading import Thread

from snoozer.mail import headers, notices
from snoozer.mail.smtp import client as smtp_client
from snoozer.mail.smtp.url import SmtpServer
from snoozer.settings import Settings

log = logging.getLogger(__name__)


def send_notice(*, to: str, due: str, language: str, settings: Settings) -> None:
    """Mails it in the background, at most once: the page says the same, and every page does until then."""
    values = {"to": to, "due": due, "language": language, "settings": settings}
    Thread(target=_send, kwargs=values, name="notice", daemon=True).start()


def _send(*, to: str, due: str, language: str, settings: Settings) -> None:
    try:
        mail_from, domain = headers.mail_from_address(settings.mail_from), headers.mail_from_domain(settings.mail_from)
        message = notices.compose_notice(
            "deletion",
            {"due": due, "link": f"{settings.base_url}/settings/data/delete"},
            to=to,
            mail_from=settings.mail_from,
            instance=domain,
            now=datetime.now(UTC),
            message_id=f"<deletion.{secrets.token_hex(16)}@{domain}>",
            language=language,
        )
        server = SmtpServer.from_url(settings.smtp_url.get_secret_value())
        signed = settings.sign(message)
        smtp_client.deliver(server, helo=domain, mail_from=mail_from, rcpt_to=to, message=signed)
    except Exception as error:
        log.error("The notice of a deletion could not be sent: %s", type(error).__name__)
