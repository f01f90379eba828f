"""Read the file in which a domain describes its mail server: Thunderbird's autoconfig format, fetched by https.

The request contains no address. The size of the file and the time to fetch it are limited, and its XML may hold no
entities. Its servers are proposals: they are connected to like any other that a stranger names.
"""

import re
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from defusedxml import DefusedXmlException, ElementTree

from snoozer.runtime import outbound_http
from snoozer.runtime.outbound_http import HttpError, Limits

SECONDS = 5.0
MAX_BYTES = 64 * 1024
MAX_SERVERS = 4

_SECURITIES: dict[str, Literal["tls", "starttls"]] = {"SSL": "tls", "STARTTLS": "starttls"}
_HOST = re.compile(r"(?!-)[a-z0-9._-]{1,253}", re.IGNORECASE)
# A domain without a file is not reported; a file that redirects to a forbidden place is.
_REPORTED = frozenset({"refused_address", "port", "insecure", "redirects", "too_large", "url"})


@dataclass(frozen=True)
class ImapServer:
    """A server that a file names. `username` is what the login begins with, where the file says: it may hold
    %EMAILADDRESS%, %EMAILLOCALPART% and %EMAILDOMAIN%."""

    host: str
    port: int
    security: Literal["tls", "starttls"]
    username: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """The servers of the first file that names any, and a sentence if a file was refused."""

    servers: tuple[ImapServer, ...] = ()
    refusal: str | None = None


def urls(domain: str) -> tuple[str, ...]:
    """The possible URLs of a domain's file, the more specific one first."""
    try:
        name = domain.encode("idna").decode("ascii")
    except UnicodeError:
        return ()
    if not _HOST.fullmatch(name):
        return ()
    return (
        f"https://autoconfig.{name}/mail/config-v1.1.xml",
        f"https://{name}/.well-known/autoconfig/mail/config-v1.1.xml",
    )


def look_up(domain: str, *, at: tuple[str, ...], allow_private: bool, tls: ssl.SSLContext | None = None) -> Found:
    """Return what the files at these URLs say about a domain; all are fetched at once."""
    if not at:
        return Found()
    with ThreadPoolExecutor(len(at), thread_name_prefix="autoconfig") as pool:
        found = list(pool.map(lambda url: _fetch(url, domain, allow_private=allow_private, tls=tls), at))
    named = next((each for each in found if each.servers), Found())
    refusal = next((each.refusal for each in found if each.refusal), None)
    return Found(servers=named.servers, refusal=None if named.servers else refusal)


def read(xml: bytes, *, domain: str) -> tuple[ImapServer, ...]:
    """Return the IMAP servers with TLS in a file, in its order. Raise ValueError if it is not an autoconfig file."""
    try:
        root = ElementTree.fromstring(xml)
    except (DefusedXmlException, ElementTree.ParseError, LookupError) as error:
        # LookupError: a character set that is not known.
        raise ValueError("The file about the mail server is not XML that may be read.") from error
    return tuple(_servers(root, domain))[:MAX_SERVERS]


def username(template: str, address: str) -> str:
    """The user name for an address."""
    local, _, domain = address.rpartition("@")
    return _filled(template, {"%EMAILADDRESS%": address, "%EMAILLOCALPART%": local, "%EMAILDOMAIN%": domain})


def _fetch(url: str, domain: str, *, allow_private: bool, tls: ssl.SSLContext | None) -> Found:
    limits = Limits(seconds=SECONDS, size=MAX_BYTES, allow_private=allow_private)
    try:
        answer = outbound_http.get(url, limits=limits, tls=tls)
        return Found(servers=read(answer.body, domain=domain)) if answer.status == 200 else Found()
    except HttpError as error:
        return Found(refusal=error.sentence if error.code in _REPORTED else None)
    except ValueError:
        # Some sites answer every path with an HTML page.
        return Found()


def _servers(root: Any, domain: str) -> Iterator[ImapServer]:
    for server in root.iterfind("./emailProvider/incomingServer[@type='imap']"):
        host = _filled(_text(server, "hostname"), {"%EMAILDOMAIN%": domain}).rstrip(".")
        port = _text(server, "port")
        security = _SECURITIES.get(_text(server, "socketType").upper())
        if security is None or not _HOST.fullmatch(host) or not re.fullmatch(r"[0-9]{1,5}", port):
            continue
        if 0 < int(port) < 65_536:
            yield ImapServer(host.lower(), int(port), security, _text(server, "username") or "%EMAILADDRESS%")


def _text(server: Any, name: str) -> str:
    return (server.findtext(name) or "").strip()


def _filled(template: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(name, value)
    return template
