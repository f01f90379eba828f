"""The mail that answers a person's mail: what was understood, and where to change or undo it. Whichever worker takes it
first sends it, and after a crash following its dot it is sent again, with the same bytes.

Its marks keep other machines from answering it, and a Snoozer that gets it does nothing.
"""

from collections.abc import Sequence
from datetime import timedelta
from threading import Event

from sqlalchemy import Engine

from snoozer.db import mail_acts
from snoozer.db.mail_acts import DueAnswer
from snoozer.mail import compose, headers, links
from snoozer.mail.links import Link
from snoozer.mail.smtp.url import SmtpServer
from snoozer.notify import notice_mail
from snoozer.translations import language_of

# An answer that is held longer than this is tried again.
LEASE = timedelta(minutes=15)


class AnswerSender:
    """Sends due answers. `stopping` is set when the process is to end."""

    word = "answer"
    senders = 1

    def __init__(
        self,
        *,
        engine: Engine,
        server: SmtpServer,
        mail_from: str,
        base_url: str,
        inbound_domain: str,
        keys: Sequence[str],
        stopping: Event,
    ) -> None:
        self.stopping = stopping
        self._engine, self._server, self._mail_from, self._base_url = engine, server, mail_from, base_url
        self._inbound_domain, self._keys = inbound_domain, keys

    def claim(self) -> DueAnswer | None:
        """Claim the next answer, for LEASE; None if there is none."""
        with self._engine.begin() as connection:
            return mail_acts.take(connection, lease=LEASE)

    def sweep(self) -> None:
        """Do nothing: a lost worker's answer is due again when its lease is over."""

    def send(self, claimed: DueAnswer) -> None:
        """Send one answer. If the mail server temporarily refuses it, it is due again when the lease is over."""
        if notice_mail.deliver(self._server, self._compose(claimed), mail_from=self._mail_from, to=claimed.email):
            with self._engine.begin() as connection:
                mail_acts.end(connection, due=claimed)

    def _compose(self, due: DueAnswer) -> bytes:
        """The mail. Its link is that of the reminder, or leads to the page of a snooze that has sent none."""
        domain = headers.mail_from_domain(self._mail_from)
        words, reply_to = dict.fromkeys(("about", "reason", "suggestions", "link"), "") | due.words, None
        if due.snooze_id is not None and due.scheduled_for is not None:
            words["link"] = f"{self._base_url}/snoozes/{due.snooze_id}"
            if due.has_left:
                token = links.sign(Link(snooze_id=due.snooze_id, scheduled_for=due.scheduled_for), keys=self._keys)
                words["link"] = f"{self._base_url}/r/{token}"
            local_part = links.sign_address(due.snooze_id, due.scheduled_for, keys=self._keys)
            reply_to = f"{local_part}@{self._inbound_domain}" if self._inbound_domain else None
        return compose.compose_notice(
            "answer",
            words,
            to=due.email,
            mail_from=self._mail_from,
            instance=domain,
            now=due.received_at,
            message_id=f"<answer.{due.id}.{int(due.received_at.timestamp())}@{domain}>",
            language=language_of(due.locale),
            answers=_valid_id(due.message_id),
            reply_to=reply_to,
        )

    def release_failed(self, claimed: DueAnswer) -> None:
        """Do nothing: the answer is due again when its lease is over."""


def _valid_id(message_id: str | None) -> str | None:
    """The Message-ID of a stranger's mail, if it can be part of a header."""
    return message_id if message_id and headers.message_id(message_id) == message_id else None
