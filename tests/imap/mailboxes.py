"""Mailboxes on real servers: each with a name of its own, filled and looked at by a plain IMAP client."""

import imaplib
import itertools
import socket
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from snoozer.mailboxes import imap
from snoozer.mailboxes.imap import Connection, Login, Place, Server
from tests.imap.dovecot import PASSWORD

_numbers = itertools.count(1)


def connect(host: str, port: int, timeout: float) -> socket.socket:
    """Names of the tests lead to loopback."""
    return socket.create_connection(("127.0.0.1", port), timeout)


@dataclass(frozen=True)
class MailServer:
    """A real one, and what a client must trust to use it."""

    name: str
    port: int
    tls_port: int
    tls: ssl.SSLContext

    def mailbox(self) -> "Mailbox":
        """Of a person without any mail."""
        return Mailbox(server=self, user=f"ann{next(_numbers)}")


@dataclass(frozen=True)
class Mailbox:
    server: MailServer
    user: str
    opened: list[Connection] = field(default_factory=list)

    def open(self, *, port: int | None = None, **arguments: Any) -> Connection:
        """Over TLS, or without it to a port in between."""
        where = Server("localhost", self.server.tls_port, "tls") if port is None else Server("localhost", port, "plain")
        arguments.setdefault("timeout", 20.0)
        return imap.open(where, Login(self.user, PASSWORD), connect=connect, tls=self.server.tls, **arguments)

    def other_program(self) -> imaplib.IMAP4:
        """A plain client of the same person's."""
        client = imaplib.IMAP4("127.0.0.1", self.server.port, timeout=20)
        # It sends a command in pieces, each of which would wait for the receipt of the one before.
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.login(self.user, PASSWORD)
        return client

    def fill(self, folder: str, originals: Iterable[bytes], *, flags: str = "") -> None:
        """Adds messages as another program does, all with one date: the same messages are the same then."""
        client, date = self.other_program(), imaplib.Time2Internaldate(time.time())
        for original in originals:
            status, reply = client.append(folder, flags, date, original)
            assert status == "OK", reply
        client.logout()

    def subjects(self, folder: str, *, with_deleted: bool = False) -> list[str]:
        """Of the messages that a person sees there, in order."""
        client = self.other_program()
        assert client.select(f'"{folder}"', readonly=True)[0] == "OK"
        found = client.uid("SEARCH", "ALL" if with_deleted else "UNDELETED")[1][0]
        subjects = []
        for uid in found.split():
            fetched = client.uid("FETCH", uid.decode(), "(BODY.PEEK[HEADER.FIELDS (SUBJECT)])")[1][0]
            subjects.append(fetched[1].decode().removeprefix("Subject:").strip())
        client.logout()
        return subjects


def a_message(number: int | str = 1, *, message_id: str | None = "", body: str = "hello", **fields: str) -> bytes:
    """Small and whole. Without `message_id` it has one of its number; None leaves it out."""
    lines = [f"Subject: {fields.pop('subject', f'message {number}')}", "From: Ben <ben@example.org>"]
    lines += ["To: ann@example.org", "Date: Fri, 06 Mar 2026 08:00:00 +0100"]
    if message_id is not None:
        lines.append(f"Message-ID: {message_id or f'<{number}@example.org>'}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", body, ""]).encode()


def place(mailbox: Connection, name: str) -> Place:
    """The folder as it is now."""
    return Place(name, mailbox.statuses([name])[name].uidvalidity)
