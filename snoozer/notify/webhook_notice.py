"""The mail that informs an owner that a webhook was switched off: sent by whichever worker takes it first.

It has no ledger: after a crash following its dot it is sent again, with the same Message-ID. It names no address.
"""

from datetime import UTC, datetime, timedelta
from threading import Event

from sqlalchemy import Engine

from snoozer.db import webhooks as ledger
from snoozer.db.webhooks import Notice
from snoozer.mail import headers
from snoozer.mail.compose import compose_notice
from snoozer.mail.smtp.url import SmtpServer
from snoozer.notify import notice_mail
from snoozer.notify.webhook_message import OFF_WORDS
from snoozer.translations import gettext as _
from snoozer.translations import language_of, speaking

# A notice that is held longer than this is tried again.
LEASE = timedelta(minutes=15)


class NoticeSender:
    """Sends due notices. `stopping` is set when the process is to end."""

    word = "notice"
    senders = 1

    def __init__(self, *, engine: Engine, server: SmtpServer, mail_from: str, base_url: str, stopping: Event) -> None:
        self.stopping = stopping
        self._engine, self._server, self._mail_from, self._base_url = engine, server, mail_from, base_url

    def claim(self) -> Notice | None:
        """Claim the next notice, for LEASE; None if there is none."""
        with self._engine.begin() as connection:
            return ledger.take_notice(connection, lease=LEASE)

    def sweep(self) -> None:
        """Do nothing: a lost worker's notice is due again when its lease is over."""

    def send(self, claimed: Notice) -> None:
        """Send one notice. If the mail server temporarily refuses it, it is due again when the lease is over."""
        if notice_mail.deliver(self._server, self._compose(claimed), mail_from=self._mail_from, to=claimed.email):
            with self._engine.begin() as connection:
                ledger.end_notice(connection, notice=claimed)

    def _compose(self, claimed: Notice) -> bytes:
        domain = headers.mail_from_domain(self._mail_from)
        language = language_of(claimed.locale)
        with speaking(language):
            reason = _(OFF_WORDS[claimed.off_reason])
        return compose_notice(
            "webhook_off",
            {"reason": reason, "link": f"{self._base_url}/settings/webhooks/{claimed.id}"},
            to=claimed.email,
            mail_from=self._mail_from,
            instance=domain,
            now=datetime.now(UTC),
            message_id=f"<webhook-off.{claimed.id}.{int(claimed.off_at.timestamp())}@{domain}>",
            language=language,
        )

    def release_failed(self, claimed: Notice) -> None:
        """Do nothing: the notice is due again when its lease is over."""
