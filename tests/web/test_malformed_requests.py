"""Requests that break the rules of HTTP are refused, and what follows on their connection is no request."""

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.web.live_site import LiveSite, live_site

HOST = b"Host: snoozer.example\r\n"
GET = b"GET /sign-in HTTP/1.1\r\n" + HOST
POST = b"POST /sign-in HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SECOND = b"GET /healthz HTTP/1.1\r\nHost: snoozer.example\r\nConnection: close\r\n\r\n"

MALFORMED = {
    "no Host": b"GET /sign-in HTTP/1.1\r\n\r\n",
    "an empty Host": b"GET /sign-in HTTP/1.1\r\nHost:\r\n\r\n",
    "two Hosts": GET + b"Host: evil.example\r\n\r\n",
    "a length of 5,000 digits": POST + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n",
    "a length of 5,000 zeros": POST + b"Content-Length: " + b"0" * 5_000 + b"\r\n\r\n",
    "a length and chunks": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "two equal lengths": POST + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a list of lengths": POST + b"Content-Length: 0, 0\r\n\r\n",
    "a length with a sign": POST + b"Content-Length: +3\r\n\r\nabc",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a length with an underscore": POST + b"Content-Length: 1_0\r\n\r\n0123456789",
    "chunks in HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n",
    "an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks that are not the last coding": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "chunks twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "a chunk size with 0x": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "a chunk without its end": CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n",
    "a chunk size with a sign": CHUNKED + b"+3\r\nabc\r\n0\r\n\r\n",
    "many tiny chunks": CHUNKED + 5_000 * b"1\r\nx\r\n" + b"0\r\n\r\n",
    "a folded header": GET + b"X: a\r\n b\r\n\r\n",
    "lines that end in LF": GET.replace(b"\r\n", b"\n") + b"\n",
    "a line that ends in LF": GET + b"X: a\nTransfer-Encoding: chunked\r\n\r\n",
    "CR inside a header": GET + b"X: a\rb\r\n\r\n",
    "NUL in a header": GET + b"X: a\x00b\r\n\r\n",
    "a space before the colon": GET + b"X : a\r\n\r\n",
    "a header without a colon": GET + b"X\r\n\r\n",
    "a header without a name": GET + b": a\r\n\r\n",
    "a header of 100 kB": GET + b"X: " + 100_000 * b"x" + b"\r\n\r\n",
    "a thousand headers": GET + 1_000 * b"X: a\r\n" + b"\r\n",
    "a target of 100 kB": b"GET /" + 100_000 * b"x" + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a space in the target": b"GET /sign in HTTP/1.1\r\n" + HOST + b"\r\n",
    "a target that is no path": b"GET sign-in HTTP/1.1\r\n" + HOST + b"\r\n",
    "a target for a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a version of its own": b"GET /sign-in HTTP/1.9\r\n" + HOST + b"\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "HTTP/2 without an agreement": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.fixture(scope="module")
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with live_site(postgres_url, tmp_path_factory.mktemp("malformed")) as site:
        yield site


@pytest.mark.parametrize("ends", [True, False], ids=["and nothing follows", "and more may follow"])
@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_request_is_refused_once(site: LiveSite, kind: str, ends: bool) -> None:
    response = site.send(MALFORMED[kind] + SECOND, ends=ends)
    statuses = re.findall(r"HTTP/1\.[01] (\d{3}) ", response)
    assert len(statuses) == 1, response
    assert statuses[0] in {"400", "414", "431", "501", "505"}, response
    assert "evil.example" not in response
    assert "Traceback" not in site.log.read_text()


def test_a_malformed_request_after_a_good_one_is_refused(site: LiveSite) -> None:
    response = site.send(GET + b"\r\n" + MALFORMED["a length of 5,000 digits"] + SECOND, ends=False)
    assert re.findall(r"HTTP/1\.[01] (\d{3}) ", response) == ["200", "400"]
    assert "Traceback" not in site.log.read_text()


@pytest.mark.parametrize(("host", "status"), [("", "400"), (" evil.example", "421")])
@pytest.mark.parametrize("second", [b"", SECOND])
@pytest.mark.parametrize("ends", [True, False])
def test_nothing_is_read_after_a_request_without_a_host_that_is_served(
    site: LiveSite, host: str, status: str, second: bytes, ends: bool
) -> None:
    """Also where the client has not hung up when the response is written."""
    response = site.send(f"GET /sign-in HTTP/1.1\r\nHost:{host}\r\n\r\n".encode() + second, ends=ends)
    assert re.findall(r"HTTP/1\.[01] (\d{3}) ", response) == [status]
    assert "\r\nconnection: close\r\n" in response.lower()


def test_an_upgrade_to_a_websocket_is_not_offered(site: LiveSite) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    key = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    assert site.send(GET + upgrade + key).startswith("HTTP/1.1 405 ")


@pytest.mark.parametrize("header", ["Content_Length", "X_Forwarded_For", "Host_"])
def test_a_header_with_an_underscore_is_not_read(site: LiveSite, header: str) -> None:
    head = f"{GET.decode()}{header}: 5\r\nConnection: close\r\n\r\n"
    assert site.send(head.encode()).startswith("HTTP/1.1 200 ")


def test_a_target_that_is_a_url_names_the_host(site: LiveSite) -> None:
    for target, status in (("http://snoozer.example/sign-in", 200), ("http://evil.example/sign-in", 421)):
        head = f"GET {target} HTTP/1.1\r\nHost: snoozer.example\r\nConnection: close\r\n\r\n"
        assert site.send(head.encode()).startswith(f"HTTP/1.1 {status} ")
