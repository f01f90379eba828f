"""Sends one message, or checks the server, outside a worker: connect, do it, quit."""

import asyncio

from snoozer.mail.smtp.session import SmtpSession
from snoozer.mail.smtp.transport import Reply
from snoozer.mail.smtp.url import SmtpServer


class Exchange:
    """A message whose dot follows its body at once; `reply` is the 250, or raises the failure."""

    def __init__(self, *, mail_from: str, rcpt_to: str, message: bytes, deadline: float) -> None:
        self.mail_from, self.rcpt_to, self.message, self.body_deadline = mail_from, rcpt_to, message, deadline
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def on_begin(self, session: SmtpSession) -> None:
        """There is only one session."""

    def on_body(self, session: SmtpSession) -> None:
        session.send_dot(deadline=self.body_deadline)

    def on_dot(self) -> None:
        """Do nothing: there is no ledger."""

    def on_accepted(self, session: SmtpSession, reply: Reply) -> None:
        self.reply.set_result(reply)

    def on_failed(self, session: SmtpSession, error: Exception) -> None:
        self.reply.set_exception(error)


def deliver(
    server: SmtpServer, *, helo: str, mail_from: str, rcpt_to: str, message: bytes, deadline: float = 60
) -> Reply:
    """One message from connect to 250, without a ledger. Raises ServerUnavailable, Rejected or NoReplyAfterData."""

    async def converse() -> Reply:
        session = await SmtpSession.open(server, helo=helo, deadline=deadline)
        try:
            exchange = Exchange(mail_from=mail_from, rcpt_to=rcpt_to, message=message, deadline=deadline)
            session.begin(exchange)
            return await exchange.reply
        finally:
            session.quit()

    return asyncio.run(converse())


def check_reachable(server: SmtpServer, *, helo: str, deadline: float) -> None:
    """Connects, logs in and quits. Raises ServerUnavailable."""

    async def connect() -> None:
        (await SmtpSession.open(server, helo=helo, deadline=deadline)).quit()

    asyncio.run(connect())
