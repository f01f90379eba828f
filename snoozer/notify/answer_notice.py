"""The mail that answers a person's mail: what was understood, and where to change or undo it. If it is sent again, it
has the same bytes.

Its marks keep other machines from answering it, and a Snoozer that gets it does nothing. If a machine answers it
without such marks, its Message-ID (`doors.receive`) and the limits of `mail_acts/answer` end the loop.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from snoozer.db import mail_acts
from snoozer.db.mail_acts import DueAnswer
from snoozer.mail import headers, links
from snoozer.mail.links import Link
from snoozer.mail.notices import answer_id, compose_notice
from snoozer.notify.notice_mail import LEASE, MailSender
from snoozer.translations import language_of


class AnswerSender(MailSender[DueAnswer]):
    word = "answer"

    def __init__(self, *, inbound_domain: str, keys: Sequence[str], **given: Any) -> None:
        super().__init__(**given)
        self._inbound_domain, self._keys = inbound_domain, keys

    def take(self, connection: Connection) -> DueAnswer | None:
        return mail_acts.take(connection, lease=LEASE)

    def end(self, connection: Connection, due: DueAnswer) -> None:
        mail_acts.end(connection, due=due)

    def compose(self, due: DueAnswer) -> bytes:
        """The mail. Its link is that of the reminder, or leads to the page of a snooze that has sent none."""
        words, reply_to = dict.fromkeys(("about", "reason", "suggestions", "link"), "") | due.words, None
        if due.snooze_id is not None and due.scheduled_for is not None:
            words["link"] = f"{self.base_url}/snoozes/{due.snooze_id}"
            if due.has_left:
                token = links.sign(Link(snooze_id=due.snooze_id, scheduled_for=due.scheduled_for), keys=self._keys)
                words["link"] = f"{self.base_url}/r/{token}"
            local_part = links.sign_address(due.snooze_id, due.scheduled_for, keys=self._keys)
            reply_to = f"{local_part}@{self._inbound_domain}" if self._inbound_domain else None
        return compose_notice(
            "answer",
            words,
            to=due.email,
            mail_from=self.mail_from,
            instance=self.domain,
            now=due.received_at,
            message_id=answer_id(due.id, received_at=due.received_at, domain=self.domain),
            language=language_of(due.locale),
            answers=_valid_id(due.message_id),
            reply_to=reply_to,
        )


def _valid_id(message_id: str | None) -> str | None:
    """The Message-ID of a stranger's mail, if it can be part of a header."""
    return message_id if message_id and headers.message_id(message_id) == message_id else None
