"""What gunicorn does with a request before the site sees it, and what it writes to its log."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from gunicorn.config import Config
from sqlalchemy import Engine

from snoozer.web.gunicorn import RedactingLogger
from tests.factories import People
from tests.web.served import Server, served

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
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(postgres_url, tmp_path_factory.mktemp("served")) as site:
        yield site


def test_a_long_phrase_gets_the_answer_of_the_site_and_not_of_its_server(site: Server, people: People) -> None:
    path = f"/api/v1/when?phrase={'x' * 5000}"
    status, answer = site.ask(path, authorization=f"Bearer {people.ann().token}")
    assert status == 422
    assert "content-type: application/problem+json" in answer.lower()
    assert json.loads(answer.partition("\r\n\r\n")[2])["code"] == "unrecognised"


def test_a_body_without_an_end_in_sight_is_refused_before_it_comes(site: Server, people: People) -> None:
    """The answer waited for bytes that never came, and a thread with it."""
    head = f"POST /api/v1/snoozes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {people.ann().token}\r\n"
    with closing(socket.create_connection(("127.0.0.1", site.port), timeout=30)) as line:
        line.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n".encode())
        assert line.recv(65_536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("header", ["SCRIPT_NAME", "PATH_INFO"])
def test_no_header_moves_the_site_to_another_path(site: Server, header: str) -> None:
    for value in ("/x", "//evil.example", "/metrics"):
        for path in ("/x/metrics", "//evil.example/", "/"):
            head = f"GET {path} HTTP/1.1\r\nHost: snoozer.example\r\nConnection: close\r\n"
            said = site.answer(f"{head}{header}: {value}\r\n\r\n".encode())
            assert "evil.example" not in said
            assert "http_server" not in said


@pytest.mark.parametrize("request_", MALFORMED, ids=range(len(MALFORMED)))
def test_what_stands_in_a_malformed_request_is_not_written_to_the_log(site: Server, request_: bytes) -> None:
    before = len(site.log.read_bytes())
    site.answer(request_.replace(b"%b", SECRET))
    said = site.log.read_bytes()[before:]
    assert SECRET not in said.lower()
    assert b"127.0.0.1" not in said


def test_the_log_tells_which_kind_of_malformed_request_there_was(site: Server) -> None:
    before = len(site.log.read_text())
    site.answer(b"GET  / HTTP/1.1\r\n\r\n")
    [line] = site.log.read_text()[before:].splitlines()
    assert line.endswith("[WARNING] A request was refused: InvalidRequestLine")


def test_a_request_that_breaks_the_server_is_logged_by_its_place_alone(capsys: pytest.CaptureFixture[str]) -> None:
    log, path = RedactingLogger(Config()), f"/r/{SECRET.decode()}"
    for words in (("Error handling request %s %s", "GET", path), ("Worker broke",)):
        try:
            raise ValueError(path)
        except ValueError:
            log.exception(*words)
    request, worker = capsys.readouterr().err.split("Worker broke")
    assert "A request broke the server: ValueError" in request
    assert "test_a_request_that_breaks_the_server" in request
    assert path not in request
    assert f"ValueError: {path}" in worker
