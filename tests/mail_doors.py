"""The doors for mail that acts, behind a real server for incoming mail, and what they did."""

import smtplib
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from email.message import EmailMessage
from threading import Event
from typing import Any, Literal

from sqlalchemy import Engine, text

from snoozer.cli.inbound import start_server
from snoozer.mail import links
from snoozer.notify.answer_notice import AnswerSender
from snoozer.notify.send_loop import drain
from snoozer.settings import Settings
from tests.factories import ANN, the_row
from tests.mail.composed import opened
from tests.mail.scripted_server import ScriptedServer

DOMAIN = "in.snoozer.example"
AUTHSERV_ID = "mx.snoozer.example"


class MailDoors:
    """The server of one site. `deliver` returns the reply to each recipient, of RCPT or of the message."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine, self.settings = engine, settings

    def deliver(self, original: bytes, *to: str, mail_from: str = ANN) -> list[str]:
        with smtplib.LMTP("127.0.0.1", self.settings.inbound_port, local_hostname="test.example") as client:
            client.ehlo()
            client.mail(mail_from)
            replies = {one: client.rcpt(one) for one in to}
            accepted = [one for one, (code, _) in replies.items() if code == 250]
            if accepted:
                client.putcmd("data")
                client.getreply()
                end = b".\r\n" if original.endswith(b"\r\n") else b"\r\n.\r\n"
                client.send(original.replace(b"\r\n.", b"\r\n..") + end)
                replies |= {one: client.getreply() for one in accepted}
        return [f"{code} {reply.decode()}" for code, reply in replies.values()]

    def answer_address(
        self, id: int, promise: datetime | None = None, *, action: Literal["answer", "bounce"] = "answer"
    ) -> str:
        row = the_row(self.engine, id)
        at = promise or row.scheduled_for or row.remind_at
        return f"{links.sign_address(id, at, keys=self.settings.keys, action=action)}@{DOMAIN}"

    def report(self, mail: bytes, id: int, *, mail_from: str = "") -> list[str]:
        """Deliver a report about the reminder of this snooze, as a mail system does."""
        return self.deliver(mail, self.answer_address(id, action="bounce"), mail_from=mail_from)

    def answers(self) -> list[EmailMessage]:
        """Send the answers that are due, by a real SMTP session."""
        with ScriptedServer() as server:
            drain(
                AnswerSender(
                    engine=self.engine,
                    server=server.smtp_server(),
                    mail_from="Snoozer <reminders@snoozer.example>",
                    base_url="https://snoozer.example",
                    inbound_domain=DOMAIN,
                    keys=self.settings.keys,
                    stopping=Event(),
                )
            )
            return [opened(mail.data) for mail in server.received]

    def events(self) -> list[Any]:
        return self.rows("SELECT kind, route FROM snooze_events ORDER BY id")

    def rows(self, statement: str) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(text(statement)).all())


@contextmanager
def mail_doors(engine: Engine, settings: Settings, **changes: Any) -> Iterator[MailDoors]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    given = {"inbound_domain": DOMAIN, "authserv_id": AUTHSERV_ID, "inbound_port": port} | changes
    with_doors = settings.model_copy(update=given)
    server = start_server(engine, with_doors)
    try:
        yield MailDoors(engine, with_doors)
    finally:
        server.stop()


def text_of(mail: EmailMessage) -> str:
    part = mail.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


def a_mail(line: str, *, fields: Sequence[str] = (), sender: str = f"Ann Else <{ANN}>") -> bytes:
    head = [f"From: {sender}", "To: x@y.example", "Subject: Re: Offer", "Message-ID: <sent@mail.example>", *fields]
    return "\r\n".join([*head, "", line, ""]).encode()
