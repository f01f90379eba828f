"""The mail server that carries what Snoozer sends, as SMTP_URL names it."""

import ipaddress
from dataclasses import dataclass, field
from typing import Literal, Self
from urllib.parse import SplitResult, unquote, urlsplit

# Names that are known on one machine or one network only (RFC 2606, 6762, 8375; ICANN for .internal).
PRIVATE_DOMAINS = (".local", ".localhost", ".test", ".example", ".invalid", ".internal", ".lan", ".home.arpa")

Security = Literal["plain", "tls", "starttls"]

_SCHEMES: dict[str, tuple[Security, int]] = {
    "smtp": ("plain", 25),
    "smtps": ("tls", 465),
    "smtp+starttls": ("starttls", 587),
}


@dataclass(frozen=True)
class SmtpServer:
    """Where to connect, how to protect the connection, and who to be. The repr shows no credentials."""

    host: str
    port: int
    security: Security
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def from_url(cls, url: str) -> Self:
        """`smtp://host`, `smtps://user:password@host:465`, `smtp+starttls://…`; ValueError with one clear sentence.

        Ports default to 25, 465 and 587. A password never appears in the sentence, and never travels unprotected
        except to this machine.
        """
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError:
            raise ValueError("SMTP_URL names a port that is no number from 1 to 65535, or a broken host.") from None
        if parts.scheme not in _SCHEMES:
            raise ValueError("SMTP_URL must begin with smtp://, smtps:// or smtp+starttls://.")
        security, usual_port = _SCHEMES[parts.scheme]
        host = _host(parts)
        user, password = _credentials(parts)
        if port == 0:
            raise ValueError("SMTP_URL names port 0; use a port from 1 to 65535.")
        if user is not None and security == "plain" and not is_loopback(host):
            raise ValueError(
                "SMTP_URL would send the password unprotected to another machine; use smtps:// or smtp+starttls://."
            )
        return cls(host=host, port=port or usual_port, security=security, user=user, password=password)


def is_loopback(host: str) -> bool:
    """True for this machine by name or number, decided without asking the DNS."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def is_private(host: str) -> bool:
    """True for a name or a number of this machine or this network only, decided without asking the DNS."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.lower().rstrip(".")
        return "." not in name or f".{name}".endswith(PRIVATE_DOMAINS)
    return address.is_loopback or address.is_private or address.is_link_local


def _host(parts: SplitResult) -> str:
    host = parts.hostname
    if not host:
        raise ValueError("SMTP_URL names no host, as in smtp+starttls://mail.example.org.")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(
            "SMTP_URL has something after the host; write only smtp://user:password@host:port, "
            "with %2F, %3F, %23 and %40 for / ? # and @ in the password."
        )
    if any(char.isspace() or not char.isprintable() for char in host) or len(host) > 253:
        raise ValueError("SMTP_URL names a host with characters that no host has.")
    return host


def _credentials(parts: SplitResult) -> tuple[str | None, str | None]:
    if parts.username is None:
        return None, None
    user, password = unquote(parts.username), unquote(parts.password or "")
    if not user or not password:
        raise ValueError("SMTP_URL must name both the user and the password, or neither.")
    if "\0" in user + password:
        raise ValueError("SMTP_URL has a user or a password with a NUL in it.")
    return user, password
