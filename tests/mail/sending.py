"""Sends one message as a worker does."""

from snoozer.smtp.session import SmtpSession
from snoozer.smtp.transport import Reply
from snoozer.smtp.url import SmtpServer
from tests import loops

MESSAGE = b"From: a@snoozer.example\r\nSubject: hello\r\n\r\n.dots\r\n..more\r\n.\r\nend\r\n"


def send(server: SmtpServer, *, deadline: float = 5) -> Reply:
    """Sends MESSAGE; each phase has the same short deadline, in seconds."""

    async def converse() -> Reply:
        session = await SmtpSession.open(server, helo="test.example", deadline=deadline)
        try:
            await session.send_body(
                mail_from="snoozer@snoozer.example", rcpt_to="ann@example.com", message=MESSAGE, deadline=deadline
            )
            return await session.send_dot(deadline=deadline)
        finally:
            session.abort()

    return loops.run(converse())
