"""One mail handed over as a worker does it."""

from snoozer.mail.relay import Relay
from snoozer.mail.smtp import Reply, Session
from tests import loops

MESSAGE = b"From: a@snoozer.example\r\nSubject: hello\r\n\r\n.dots\r\n..more\r\n.\r\nend\r\n"


def send(relay: Relay, *, deadline: float = 5) -> Reply:
    """As a worker does it, each phase with the same short deadline."""

    async def converse() -> Reply:
        session = await Session.open(relay, helo="test.example", deadline=deadline)
        try:
            await session.hand_over_body(
                mail_from="snoozer@snoozer.example", rcpt_to="ann@example.com", message=MESSAGE, deadline=deadline
            )
            return await session.finish(deadline=deadline)
        finally:
            session.hang_up()

    return loops.run(converse())
