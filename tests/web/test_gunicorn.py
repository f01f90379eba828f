"""What gunicorn does with a request before the site gets it, and what it logs."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from gunicorn.config import Config
from sqlalchemy import Engine

from snoozer.web.gunicorn import RedactingLogger
from tests.factories import People
from tests.web.live_site import LiveSite, live_site

SECRET = b"canary4711"
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
CHUNKED = b"POST /sign-in HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
MALFORMED = (
    b"GET  /r/%b HTTP/1.1\r\n\r\n",
    b"GET /r/%b\r\n\r\n",
    b"GET /r/%b HTTP/9.9\r\n\r\n",
    b"GET /r/%b\xc3\xa9\xff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /r/%b\x00\x01 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"get /r/%b HTTP/1.1\r\n\r\n",
    b"G@T /r/%b HTTP/1.1\r\n\r\n",
    b"GET http://[%b/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET http://%b:port/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"CONNECT %b:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    HEAD + b"Authorization %b\r\n\r\n",
    HEAD + b"X-%b@: x\r\n\r\n",
    HEAD + b"X: y\r\n %b\r\n\r\n",
    HEAD + b"X: \x00%b\r\n\r\n",
    HEAD + b"Content-Length: %b\r\n\r\n",
    HEAD + b"Transfer-Encoding: %b\r\n\r\n",
    HEAD + b"Expect: %b\r\n\r\n",
    HEAD + b"SCRIPT_NAME: /%b\r\n\r\n",
    HEAD + b"X-Forwarded-Proto: https\r\nX-Forwarded-SSL: %b\r\n\r\n",
    HEAD + b"Cookie: %b" + 10_000 * b"x" + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: %b@:/\x7f\r\nConnection: close\r\n\r\n",
    CHUNKED + b"%b\r\n",
    CHUNKED + b"3;%b\x00\r\nabc\r\n",
)


@pytest.fixture(scope="module")
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with live_site(postgres_url, tmp_path_factory.mktemp("live_site")) as site:
        yield site


def test_a_long_phrase_gets_the_answer_of_the_site_and_not_of_its_server(site: LiveSite, people: People) -> None:
    path = f"/api/v1/when?phrase={'x' * 5000}"
    status, answer = site.request(path, authorization=f"Bearer {people.ann().token}")
    assert status == 422
    assert "content-type: application/problem+json" in answer.lower()
    assert json.loads(answer.partition("\r\n\r\n")[2])["code"] == "unrecognised"


def test_a_huge_body_is_refused_before_it_is_sent(site: LiveSite, people: People) -> None:
    """The response waited for bytes that never came, and kept a thread."""
    head = f"POST /api/v1/snoozes HTTP/1.1\r\nHost: snoozer.example\r\nAuthorization: Bearer {people.ann().token}\r\n"
    with closing(site.connect()) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("header", ["SCRIPT_NAME", "PATH_INFO"])
def test_no_header_moves_the_site_to_another_path(site: LiveSite, header: str) -> None:
    for value in ("/x", "//evil.example", "/metrics"):
        for path in ("/x/metrics", "//evil.example/", "/"):
            head = f"GET {path} HTTP/1.1\r\nHost: snoozer.example\r\nConnection: close\r\n"
            response = site.send(f"{head}{header}: {value}\r\n\r\n".encode())
            assert "evil.example" not in response
            assert "http_server" not in response


@pytest.mark.parametrize("request_", MALFORMED, ids=range(len(MALFORMED)))
def test_the_content_of_a_malformed_request_is_not_logged(site: LiveSite, request_: bytes) -> None:
    before = len(site.log.read_bytes())
    site.send(request_.replace(b"%b", SECRET))
    logged = site.log.read_bytes()[before:]
    assert SECRET not in logged.lower()
    assert b"127.0.0.1" not in logged


def test_the_log_names_the_kind_of_a_malformed_request(site: LiveSite) -> None:
    before = len(site.log.read_text())
    site.send(b"GET  / HTTP/1.1\r\n\r\n")
    [line] = site.log.read_text()[before:].splitlines()
    assert line.endswith("[WARNING] A request was refused: InvalidRequestLine")


def test_an_error_in_a_request_is_logged_by_its_place_only(capsys: pytest.CaptureFixture[str]) -> None:
    log, path = RedactingLogger(Config()), f"/r/{SECRET.decode()}"
    for arguments in (("Error handling request %s %s", "GET", path), ("Worker broke",)):
        try:
            raise ValueError(path)
        except ValueError:
            log.exception(*arguments)
    request, worker = capsys.readouterr().err.split("Worker broke")
    assert "A request broke the server: ValueError" in request
    assert "test_an_error_in_a_request_is_logged_by_its_place_only" in request
    assert path not in request
    assert f"ValueError: {path}" in worker
