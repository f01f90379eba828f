"""The beginning of a sending connection: greeted, protected, logged in. Whatever goes wrong is RelayDown or Broken."""

import re
from base64 import b64encode

from snoozer.smtp.errors import ServerUnavailable, unavailable_by
from snoozer.smtp.transport import ServerReply, Transport
from snoozer.smtp.url import SmtpServer

_HELO = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9A-Za-z.:]{3,60}\]")


async def perform_handshake(wire: Transport, relay: SmtpServer, *, helo: str, until: float) -> dict[str, str]:
    """Everything before the first mail; answers what the server offers, by keyword (RFC 5321 §4.1.1.1)."""
    helo = helo if _HELO.fullmatch(helo) else "localhost"
    if relay.security == "tls":
        await wire.start_tls(relay.host, until=until)
    await _expect(wire, None, 220, "greeted us with", until=until)
    offered = await _ehlo(wire, helo, until=until)
    if relay.security == "starttls":
        if "STARTTLS" not in offered:
            raise ServerUnavailable("the mail server offers no STARTTLS, and SMTP_URL asks for it")
        await _expect(wire, "STARTTLS", 220, "answered STARTTLS with", until=until)
        await wire.start_tls(relay.host, until=until)
        offered = await _ehlo(wire, helo, until=until)
    if relay.user is not None and relay.password is not None:
        await _authenticate(
            wire, relay.user, relay.password, mechanisms=offered.get("AUTH", "").upper().split(), until=until
        )
    return offered


async def _ehlo(wire: Transport, helo: str, *, until: float) -> dict[str, str]:
    answer = await _expect(wire, f"EHLO {helo}", 250, "answered EHLO with", until=until)
    words = [line.strip().partition(" ") for line in answer.lines[1:]]
    return {keyword.upper(): value for keyword, _, value in words}


async def _authenticate(wire: Transport, user: str, password: str, *, mechanisms: list[str], until: float) -> None:
    if "PLAIN" in mechanisms:
        steps = [(f"AUTH PLAIN {_b64(chr(0).join(['', user, password]))}", 235)]
    elif "LOGIN" in mechanisms:
        steps = [("AUTH LOGIN", 334), (_b64(user), 334), (_b64(password), 235)]
    else:
        raise ServerUnavailable("the mail server offers no login by PLAIN or LOGIN, and SMTP_URL names a user")
    for command, expected in steps:
        await wire.send(f"{command}\r\n".encode(), until=until)
        answer = await wire.read_reply(until=until)
        if answer.code != expected:
            # Only the code: a server may repeat what it was told.
            raise ServerUnavailable(f"the mail server refused the login with {answer.code}")


async def _expect(wire: Transport, command: str | None, expected: int, did: str, *, until: float) -> ServerReply:
    """One exchange while the connection is being made: any other answer means that the server is of no use."""
    if command is not None:
        await wire.send(f"{command}\r\n".encode(), until=until)
    answer = await wire.read_reply(until=until)
    if answer.code != expected:
        raise unavailable_by(did, answer, at_first=True)
    return answer


def _b64(text: str) -> str:
    return b64encode(text.encode("utf-8")).decode("ascii")
