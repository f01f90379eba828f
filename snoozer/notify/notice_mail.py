"""Sends mails outside the ledger, each by whichever worker takes it first. After a crash following its dot, a mail is
sent again, with the same Message-ID."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import ClassVar, Generic, Protocol, TypeVar

from sqlalchemy import Connection, Engine

from snoozer.mail import headers
from snoozer.mail.smtp import client
from snoozer.mail.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.url import SmtpServer

log = logging.getLogger(__name__)

# A mail that is held longer than this is tried again.
LEASE = timedelta(minutes=15)
SECONDS = 15.0


class Due(Protocol):
    """A mail that one worker holds."""

    @property
    def id(self) -> int: ...
    @property
    def email(self) -> str: ...


D = TypeVar("D", bound=Due)


class MailSender(ABC, Generic[D]):
    """Sends due mails of one kind. `stopping` is set when the process is to end."""

    word: ClassVar[str]
    senders = 1

    def __init__(
        self,
        *,
        engine: Engine,
        server: SmtpServer,
        mail_from: str,
        base_url: str,
        stopping: Event,
        sign: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.stopping, self._sign = stopping, sign
        self.engine, self.server, self.mail_from, self.base_url = engine, server, mail_from, base_url
        self.domain = headers.mail_from_domain(mail_from)

    @abstractmethod
    def take(self, connection: Connection) -> D | None:
        """Take the next mail, for LEASE; None if there is none."""

    @abstractmethod
    def compose(self, due: D) -> bytes:
        """The whole mail."""

    @abstractmethod
    def end(self, connection: Connection, due: D) -> None:
        """Record that it was accepted, or refused for good."""

    def claim(self) -> D | None:
        """Claim the next mail; None if there is none."""
        with self.engine.begin() as connection:
            return self.take(connection)

    def sweep(self) -> None:
        """Do nothing: the mail of a lost worker is due again when its lease is over."""

    def send(self, claimed: D) -> None:
        """Send one mail. If the mail server temporarily refuses it, it is due again when the lease is over."""
        sender = headers.mail_from_address(self.mail_from)
        message, to = self._sign(self.compose(claimed)), claimed.email
        try:
            client.deliver(
                self.server, helo=self.domain, mail_from=sender, rcpt_to=to, message=message, deadline=SECONDS
            )
        except (ServerUnavailable, NoReplyAfterData, Rejected) as error:
            log.warning("%s: a mail was not sent: %s", self.word, type(error).__name__)
            if not (isinstance(error, Rejected) and error.permanent):
                return
        with self.engine.begin() as connection:
            self.end(connection, claimed)

    def release_failed(self, claimed: D) -> None:
        """Do nothing: the mail is due again when its lease is over."""
