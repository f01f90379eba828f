"""Find a mailbox's server from its address: known providers, the domain's own file (`autoconfig`), SRV records (RFC
6186), usual names.

No password and no user name is sent: a candidate is connected to, its certificate is checked and its greeting read.
"""

import re
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from dns.exception import DNSException
from dns.resolver import Answer, Resolver

from snoozer.mailboxes import autoconfig, mail_providers
from snoozer.mailboxes.mail_providers import Provider
from snoozer.runtime import outbound
from snoozer.runtime.outbound import OutboundError, tls_context

IMAPS, IMAP = 993, 143
DNS_SECONDS = 4.0
PROBE_SECONDS = 6.0
MAX_CANDIDATES = 8
MAX_LINE_BYTES = 8_192

_GREETING = re.compile(rb"\* (?:OK|PREAUTH)\b", re.IGNORECASE)

Origin = Literal["provider", "file", "dns", "guess"]
Security = Literal["tls", "starttls"]


@dataclass(frozen=True)
class Candidate:
    """A server that an address may have. `username` is what its login begins with, as in `autoconfig`."""

    host: str
    port: int
    security: Security
    origin: Origin
    username: str = "%EMAILADDRESS%"


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """The result of a search: `server` is None if no server answered, `provider` None if it is not a known provider.
    `note` is a sentence if the domain's own file could not be used."""

    server: Candidate | None
    provider: Provider | None
    note: str | None = None


class NameServer(Protocol):
    """The resolver for DNS records: a dns.resolver.Resolver."""

    def resolve(self, qname: str, rdtype: str, *, search: bool, lifetime: float) -> Answer: ...


def find_server(
    domain: str,
    *,
    allow_private: bool,
    name_server: NameServer | None = None,
    tls: ssl.SSLContext | None = None,
    files: Callable[[str], tuple[str, ...]] = autoconfig.urls,
) -> Discovery:
    """The server of the mailboxes in a domain. A known provider is not connected to; otherwise the first server that
    answers is taken, in the order in which the domain names them. `files` returns the URLs where the domain's own file
    may be."""
    if provider := mail_providers.of_domain(domain):
        return _of_provider(provider)
    file = autoconfig.look_up(domain, at=files(domain), allow_private=allow_private, tls=tls)
    named = [Candidate(each.host, each.port, each.security, "file", each.username) for each in file.servers]
    if provider := next(filter(None, (mail_providers.of_server(each.host) for each in named)), None):
        return _of_provider(provider)
    records = _Records(domain, name_server)
    if not named and (provider := next(filter(None, map(mail_providers.of_mail_host, records.mail_hosts())), None)):
        return _of_provider(provider)
    announced = [*named, *records.announced()]
    found = first_answering([*announced, *usual_names(domain)], allow_private=allow_private, tls=tls)
    # If no server answered, propose the domain's first one: a person may correct it by hand.
    server = found or next(iter(announced), None)
    provider = mail_providers.of_server(server.host) if server else None
    return Discovery(server=server, provider=provider, note=file.refusal)


def _of_provider(provider: Provider) -> Discovery:
    return Discovery(server=Candidate(provider.host, IMAPS, "tls", "provider"), provider=provider)


def usual_names(domain: str) -> list[Candidate]:
    """The names that IMAP servers usually have; servers with TLS from the start come first."""
    hosts = (f"imap.{domain}", f"mail.{domain}", domain)
    secure = [Candidate(host, IMAPS, "tls", "guess") for host in hosts]
    return secure + [Candidate(host, IMAP, "starttls", "guess") for host in hosts]


def first_answering(
    candidates: Sequence[Candidate], *, allow_private: bool, tls: ssl.SSLContext | None = None
) -> Candidate | None:
    """The first of up to MAX_CANDIDATES servers that greets as IMAP servers do, with a valid certificate for its name;
    all are tried at once."""
    tried = candidates[:MAX_CANDIDATES]
    if not tried:
        return None
    with ThreadPoolExecutor(len(tried), thread_name_prefix="discovery") as pool:
        answers = pool.map(lambda each: _answers(each, allow_private=allow_private, tls=tls or tls_context()), tried)
        return next((each for each, answer in zip(tried, list(answers), strict=True) if answer), None)


class _Records:
    """The DNS records of a domain; an error is an answer without records."""

    def __init__(self, domain: str, name_server: NameServer | None) -> None:
        self._domain = domain
        self._name_server = name_server

    def mail_hosts(self) -> list[str]:
        return [str(record.exchange) for record in self._ask(self._domain, "MX")]

    def announced(self) -> list[Candidate]:
        """Servers by SRV; servers with TLS from the start come first. The target "." means no server (RFC 2782)."""
        kinds: list[tuple[str, Security]] = [("_imaps", "tls"), ("_imap", "starttls")]
        return [
            Candidate(str(record.target).rstrip("."), record.port, security, "dns")
            for service, security in kinds
            for record in sorted(self._ask(f"{service}._tcp.{self._domain}", "SRV"), key=_precedence)
            if str(record.target) != "."
        ]

    def _ask(self, name: str, kind: str) -> Iterable[Any]:
        try:
            server = self._name_server or Resolver()
            return list(server.resolve(name, kind, search=False, lifetime=DNS_SECONDS))
        except (DNSException, OSError, UnicodeError):
            return []


def _precedence(record: Any) -> tuple[int, int]:
    return record.priority, -record.weight


def _answers(candidate: Candidate, *, allow_private: bool, tls: ssl.SSLContext) -> bool:
    try:
        connection = outbound.connect(
            candidate.host, candidate.port, allow_private=allow_private, timeout=PROBE_SECONDS
        )
    except OutboundError:
        return False
    # ValueError: a name that no certificate can have.
    with suppress(OSError, ValueError), outbound.closed_after(connection, PROBE_SECONDS), connection:
        if candidate.security == "tls":
            with tls.wrap_socket(connection, server_hostname=candidate.host) as secured:
                return _greets(secured)
        return _greets(connection) and _takes_starttls(connection, candidate.host, tls)
    return False


def _greets(connection: socket.socket) -> bool:
    return _GREETING.match(_line(connection)) is not None


def _takes_starttls(connection: socket.socket, host: str, tls: ssl.SSLContext) -> bool:
    connection.sendall(b"a1 STARTTLS\r\n")
    if not _line(connection).upper().startswith(b"A1 OK"):
        return False
    tls.wrap_socket(connection, server_hostname=host).close()
    return True


def _line(connection: socket.socket) -> bytes:
    """One line, byte by byte: what follows it belongs to TLS."""
    line = b""
    while len(line) < MAX_LINE_BYTES and not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            break
        line += byte
    return line
