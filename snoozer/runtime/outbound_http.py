"""The only way to a web server that a person's domain or a setting names: https, to checked addresses, with limits in
bytes and seconds. Each redirect is a separate request, to https only."""

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urljoin, urlsplit

from snoozer.runtime import outbound
from snoozer.runtime.outbound import OutboundError, tls_context

MAX_URL_LENGTH = 2_000
MAX_ENDPOINT_LENGTH = 1_000
MAX_REDIRECTS = 3
MAX_RETRY_AFTER = 86_400.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class HttpError(Exception):
    """There is no usable answer. `code` is for programs, the text a sentence for people."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A web server's answer. `location` is the redirect's target, resolved against the URL; `retry_after` is the header
    of that name."""

    status: int
    body: bytes = field(repr=False)
    location: str | None = field(default=None, repr=False)
    retry_after: str | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """`seconds` for the whole of one request, `size` of its answer's body; a longer body is refused, or with `cuts` cut
    off. `allow_private` also allows private networks, other ports, and there http."""

    seconds: float
    size: int
    allow_private: bool = False
    cuts: bool = False


def get(url: str, *, limits: Limits, tls: ssl.SSLContext | None = None) -> Answer:
    """The answer at the end of up to MAX_REDIRECTS redirects; all hops together take at most `limits.seconds`. Raises
    HttpError."""
    until = time.monotonic() + limits.seconds
    for _ in range(MAX_REDIRECTS + 1):
        left = Limits(
            seconds=max(until - time.monotonic(), 0.001), size=limits.size, allow_private=limits.allow_private
        )
        answer = request("GET", url, limits=left, tls=tls)
        if answer.location is None:
            return answer
        if not answer.location.startswith("https://"):
            raise HttpError("insecure", f"{_shown(url)} redirects to an address that is not https.")
        url = answer.location
    raise HttpError("redirects", f"{_shown(url)} redirects too often.")


def request(
    method: str,
    url: str,
    *,
    limits: Limits,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
    before_sending: Callable[[], None] = lambda: None,
) -> Answer:
    """One request, and its answer as it is: a redirect is not followed. Raises HttpError. `before_sending` is called
    once the connection is made and secured, before the first byte of the request is sent; an exception of it ends the
    request."""
    target = _checked(url, allow_private=limits.allow_private)
    until = time.monotonic() + limits.seconds
    try:
        connection = _connect(target, limits)
        with outbound.closed_after(connection, max(until - time.monotonic(), 0.001)), connection:
            secured = _secured(connection, target, tls)
            before_sending()
            answer = _exchange(secured, target, method, body, headers or {}, limits)
        if time.monotonic() >= until:
            # A truncated answer may look complete.
            raise HttpError("slow", f"{target.hostname} took too long to answer.")
        return answer
    except HttpError:
        raise
    except OutboundError as error:
        raise HttpError(error.code, error.sentence) from None
    except ssl.SSLCertVerificationError:
        raise HttpError("certificate", f"The certificate of {target.hostname} cannot be trusted.") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= until or isinstance(error, TimeoutError):
            raise HttpError("slow", f"{target.hostname} took too long to answer.") from None
        raise HttpError("protocol", f"{target.hostname} gave no answer that a web server gives.") from None


def seconds_of(retry_after: str | None) -> float | None:
    """How long a Retry-After asks to wait, a day at most; None without one."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), MAX_RETRY_AFTER)
    with suppress(ValueError, TypeError):
        left = parsedate_to_datetime(text) - datetime.now(UTC)
        return min(max(left.total_seconds(), 0.0), MAX_RETRY_AFTER)
    return None


def is_endpoint(url: str, *, allow_private: bool) -> bool:
    """Whether a person may name this URL to have something sent to it, judging by the URL only: its addresses are
    checked at each connection."""
    try:
        target = _checked(url, allow_private=allow_private)
    except HttpError:
        return False
    is_web = allow_private or target.port in {None, *outbound.WEB_PORTS}
    return is_web and len(url) <= MAX_ENDPOINT_LENGTH and not target.fragment


def _checked(url: str, *, allow_private: bool) -> SplitResult:
    try:
        target = urlsplit(url)
        _ = target.port  # ValueError: it is no number
    except ValueError:
        raise HttpError("url", "That is not the address of a page.") from None
    if len(url) > MAX_URL_LENGTH or not url.isascii() or not url.isprintable() or " " in url or not target.hostname:
        raise HttpError("url", "That is not the address of a page.")
    if target.username is not None or target.password is not None:
        raise HttpError("url", "The address of the page holds a user name or a password.")
    if target.scheme != "https" and not (target.scheme == "http" and allow_private):
        raise HttpError("insecure", f"{target.hostname} is asked by https only.")
    return target


def _connect(target: SplitResult, limits: Limits) -> socket.socket:
    port = target.port or (443 if target.scheme == "https" else 80)
    connection = outbound.connect(
        target.hostname or "",
        port,
        allow_private=limits.allow_private,
        timeout=limits.seconds,
        ports=outbound.WEB_PORTS,
    )
    if target.scheme == "http" and not outbound.is_private(connection.getpeername()[0]):
        connection.close()
        raise HttpError("insecure", f"{target.hostname} is asked by https only.")
    return connection


def _secured(connection: socket.socket, target: SplitResult, tls: ssl.SSLContext | None) -> socket.socket:
    if target.scheme == "http":
        return connection
    return (tls or tls_context()).wrap_socket(connection, server_hostname=target.hostname)


def _exchange(
    connection: socket.socket,
    target: SplitResult,
    method: str,
    body: bytes | None,
    headers: Mapping[str, str],
    limits: Limits,
) -> Answer:
    client = http.client.HTTPConnection(target.hostname or "", target.port)
    client.sock = connection
    try:
        path = (target.path or "/") + (f"?{target.query}" if target.query else "")
        own = {"Host": target.netloc, "Connection": "close", "Accept-Encoding": "identity"}
        client.request(method, path, body=body, headers={**headers, **own})
        with client.getresponse() as response:
            content = response.read(limits.size + 1)
            if len(content) > limits.size and not limits.cuts:
                raise HttpError("too_large", f"{target.hostname} answered with more than {limits.size} bytes.")
            return Answer(
                status=response.status,
                body=content[: limits.size],
                location=_location(response, target),
                retry_after=response.getheader("Retry-After"),
            )
    finally:
        with suppress(OSError):
            client.close()


def _location(response: http.client.HTTPResponse, target: SplitResult) -> str | None:
    location = response.getheader("Location")
    if response.status not in _REDIRECTS or location is None:
        return None
    return urljoin(target.geturl(), location)


def _shown(url: str) -> str:
    return urlsplit(url).hostname or "The page"
