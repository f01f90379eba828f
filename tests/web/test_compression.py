"""Static files are compressed for who accepts it, and no page is: its size would tell the token of its forms."""

import gzip
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


def test_no_page_and_no_answer_of_the_api_is_compressed(ann: FlaskClient) -> None:
    for path in ("/", "/mailbox?q=hello", "/settings", "/nothing", "/static/nothing.css", "/api/v1/snoozes"):
        assert "Content-Encoding" not in ann.get(path, headers=GZIP, buffered=True).headers, path


def test_the_server_sends_it_as_it_is(postgres_url: str, tmp_path: Path) -> None:
    with live_site(postgres_url, tmp_path) as site:
        code, response = site.request("/static/snoozer.css", accept_encoding="gzip")
    assert (code, "content-encoding: gzip" in response.lower()) == (200, True)
