"""What gunicorn does with a request before the site sees it."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.factories import People
from tests.web.served import Server, served


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


@pytest.mark.parametrize("header", ["SCRIPT_NAME", "PATH_INFO"])
def test_no_header_moves_the_site_to_another_path(site: Server, header: str) -> None:
    for value in ("/x", "//evil.example", "/metrics"):
        for path in ("/x/metrics", "//evil.example/", "/"):
            head = f"GET {path} HTTP/1.1\r\nHost: snoozer.example\r\nConnection: close\r\n"
            said = site.answer(f"{head}{header}: {value}\r\n\r\n".encode())
            assert "evil.example" not in said
            assert "http_server" not in said
