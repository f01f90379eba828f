"""One mail handed over as a worker does it."""

from snoozer.smtp.session import Reply, SmtpSession
from snoozer.smtp.url import SmtpServer
from tests import loops

MESSAGE = b"From: a@snoozer.example\r\nSubject: hello\r\n\r\n.dots\r\n..more\r\n.\r\nend\r\n"


def send(relay: SmtpServer, *, deadline: float = 5) -> Reply:
    """As a worker does it, each phase with the same short deadline."""

    async def converse() -> Reply:
        session = await SmtpSession.open(relay, helo="test.example", deadline=deadline)
        try:
            await session.send_body(
                mail_from="snoozer@snoozer.example", rcpt_to="ann@example.com", message=MESSAGE, deadline=deadline
            )
            return await session.send_dot(deadline=deadline)
        finally:
            session.abort()

    return loops.run(converse())
