"""The mail server of a site: it keeps what it accepted."""

from queue import Queue

from aiosmtpd.smtp import SMTP, Envelope
from aiosmtpd.smtp import Session as SmtpSession

from snoozer.mail import message_parser


class Inbox:
    def __init__(self) -> None:
        self.mails: Queue[bytes] = Queue()
        self.recipients: list[str] = []

    async def handle_DATA(self, server: SMTP, session: SmtpSession, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.recipients += envelope.rcpt_tos
        self.mails.put(envelope.content)
        return "250 taken"

    def text(self) -> str:
        return message_parser.parse(self.mails.get(timeout=60)).text
