"""Pages and static files are compressed for who accepts it, and the size of a page does not tell what it holds."""

import gzip
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from snoozer.resources import resource_folder
from tests.web.live_site import live_site

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.mark.parametrize("name", ["snoozer.css", "sheet.js"])
def test_a_static_file_is_a_third_of_its_size(name: str, client: FlaskClient) -> None:
    content = (resource_folder("static") / name).read_bytes()
    answer = client.get(f"/static/{name}", headers=GZIP, buffered=True)
    assert (answer.headers["Content-Encoding"], answer.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(answer.data) == content
    assert int(answer.headers["Content-Length"]) == len(answer.data) < len(content) / 2
    assert "max-age=31536000" in answer.headers["Cache-Control"]
    assert (
        client.head(f"/static/{name}", headers=GZIP, buffered=True).headers["Content-Length"]
        == answer.headers["Content-Length"]
    )


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "deflate, gzip;q=0.0"])
def test_who_does_not_accept_it_gets_the_file(accepted: str, client: FlaskClient) -> None:
    answer = client.get("/static/snoozer.css", headers={"Accept-Encoding": accepted}, buffered=True)
    assert "Content-Encoding" not in answer.headers
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.data == (resource_folder("static") / "snoozer.css").read_bytes()


def test_a_browser_that_has_the_file_is_sent_nothing_and_a_range_is_of_the_file(client: FlaskClient) -> None:
    whole = client.get("/static/snoozer.css", headers=GZIP, buffered=True)
    known = client.get("/static/snoozer.css", headers=GZIP | {"If-None-Match": whole.headers["ETag"]}, buffered=True)
    assert (known.status_code, known.data, known.headers["Vary"]) == (304, b"", "Accept-Encoding")
    part = client.get("/static/snoozer.css", headers=GZIP | {"Range": "bytes=0-9"}, buffered=True)
    assert (part.status_code, len(part.data), "Content-Encoding" in part.headers) == (206, 10, False)


def test_a_page_is_half_its_size_and_the_same_page(ann: FlaskClient) -> None:
    for path in ("/", "/settings", "/nothing"):
        plain, answer = ann.get(path), ann.get(path, headers=GZIP, buffered=True)
        assert answer.headers["Content-Encoding"] == "gzip", path
        assert "Accept-Encoding" in answer.headers["Vary"], path
        assert "Accept-Encoding" in plain.headers["Vary"], path
        assert len(answer.data) < len(plain.data) / 2
        assert answer.status_code == plain.status_code
    # No time is on this one.
    assert without_token(gzip.decompress(answer.data).decode()) == without_token(plain.text)


def without_token(page: str) -> str:
    return re.sub(r'name="csrf_token" value="[^"]*"', "", page)


def test_what_is_no_page_is_not_compressed(ann: FlaskClient) -> None:
    for path in ("/api/v1/snoozes", "/api/v1/openapi.json", "/healthz"):
        answer = ann.get(path, headers=GZIP | {"Accept": "application/json"}, buffered=True)
        assert "Content-Encoding" not in answer.headers, path


def test_the_size_and_the_token_of_a_page_differ_each_time(ann: FlaskClient) -> None:
    answers = [ann.get("/settings", headers=GZIP, buffered=True) for _ in range(8)]
    assert len({len(answer.data) for answer in answers}) > 1
    tokens = [re.findall(r'name="csrf_token" value="([^"]*)"', gzip.decompress(each.data).decode()) for each in answers]
    assert len({token for found in tokens for token in found}) == 8, "one for each page"
    assert all(other[0][:8] != tokens[0][0][:8] for other in tokens[1:]), "no part of it is the same in each page"


def test_the_server_sends_it_as_it_is(postgres_url: str, tmp_path: Path) -> None:
    with live_site(postgres_url, tmp_path) as site:
        code, response = site.request("/static/snoozer.css", accept_encoding="gzip")
    assert (code, "content-encoding: gzip" in response.lower()) == (200, True)
