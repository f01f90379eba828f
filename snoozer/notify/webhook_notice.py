"""The mail that informs an owner that a webhook was switched off. It names no address."""

from datetime import UTC, datetime

from sqlalchemy import Connection

from snoozer.db import webhooks as ledger
from snoozer.db.webhooks import Notice
from snoozer.mail.notices import compose_notice
from snoozer.notify.notice_mail import LEASE, MailSender
from snoozer.notify.webhook_message import OFF_WORDS
from snoozer.translations import gettext as _
from snoozer.translations import language_of, speaking


class NoticeSender(MailSender[Notice]):
    word = "notice"

    def take(self, connection: Connection) -> Notice | None:
        return ledger.take_notice(connection, lease=LEASE)

    def end(self, connection: Connection, due: Notice) -> None:
        ledger.end_notice(connection, notice=due)

    def compose(self, due: Notice) -> bytes:
        language = language_of(due.locale)
        with speaking(language):
            reason = _(OFF_WORDS[due.off_reason])
        return compose_notice(
            "webhook_off",
            {"reason": reason, "link": f"{self.base_url}/settings/webhooks/{due.id}"},
            to=due.email,
            mail_from=self.mail_from,
            instance=self.domain,
            now=datetime.now(UTC),
            message_id=f"<webhook-off.{due.id}.{int(due.off_at.timestamp())}@{self.domain}>",
            language=language,
        )
