"""The start of a sending connection: greeting, TLS, login. Raises ServerUnavailable or ConnectionLost."""

import re
from base64 import b64encode

from snoozer.mail.smtp.errors import ServerUnavailable
from snoozer.mail.smtp.transport import Reply, Transport
from snoozer.mail.smtp.url import SmtpServer

_HELO = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9A-Za-z.:]{3,60}\]")


async def perform_handshake(transport: Transport, server: SmtpServer, *, helo: str, until: float) -> dict[str, str]:
    """Everything before the first message. Returns the server's extensions by keyword (RFC 5321 §4.1.1.1)."""
    helo = helo if _HELO.fullmatch(helo) else "localhost"
    if server.security == "tls":
        await transport.start_tls(server.host, until=until)
    await _expect(transport, None, 220, "greeted us with", until=until)
    extensions = await _ehlo(transport, helo, until=until)
    if server.security == "starttls":
        if "STARTTLS" not in extensions:
            raise ServerUnavailable("the mail server offers no STARTTLS, and SMTP_URL asks for it")
        await _expect(transport, "STARTTLS", 220, "answered STARTTLS with", until=until)
        await transport.start_tls(server.host, until=until)
        extensions = await _ehlo(transport, helo, until=until)
    if server.user is not None and server.password is not None:
        await _authenticate(
            transport, server.user, server.password, mechanisms=extensions.get("AUTH", "").upper().split(), until=until
        )
    return extensions


async def _ehlo(transport: Transport, helo: str, *, until: float) -> dict[str, str]:
    reply = await _expect(transport, f"EHLO {helo}", 250, "answered EHLO with", until=until)
    words = [line.strip().partition(" ") for line in reply.lines[1:]]
    return {keyword.upper(): value for keyword, _, value in words}


async def _authenticate(transport: Transport, user: str, password: str, *, mechanisms: list[str], until: float) -> None:
    if "PLAIN" in mechanisms:
        steps = [(f"AUTH PLAIN {_b64(chr(0).join(['', user, password]))}", 235)]
    elif "LOGIN" in mechanisms:
        steps = [("AUTH LOGIN", 334), (_b64(user), 334), (_b64(password), 235)]
    else:
        raise ServerUnavailable("the mail server offers no login by PLAIN or LOGIN, and SMTP_URL names a user")
    for command, expected in steps:
        await transport.send(f"{command}\r\n".encode(), until=until)
        reply = await transport.read_reply(until=until)
        if reply.code != expected:
            # Only the code: the text may repeat the credentials.
            raise ServerUnavailable(f"the mail server refused the login with {reply.code}")


async def _expect(transport: Transport, command: str | None, expected: int, did: str, *, until: float) -> Reply:
    """One command and its reply. Raises ServerUnavailable for any other code."""
    if command is not None:
        await transport.send(f"{command}\r\n".encode(), until=until)
    reply = await transport.read_reply(until=until)
    if reply.code != expected:
        raise ServerUnavailable.from_reply(did, reply, connecting=True)
    return reply


def _b64(text: str) -> str:
    return b64encode(text.encode("utf-8")).decode("ascii")
