"""The site is served under the host of BASE_URL and this machine's names only, and redirects name no host."""

import re
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.settings import Settings
from snoozer.web import create_app
from tests.factories import People
from tests.web.live_site import LiveSite, live_site

KNOWN = ("snoozer.example", "SNOOZER.example:8000", "snoozer.example.", "localhost:8000", "127.0.0.1:8000", "[::1]:1")
UNKNOWN = ("evil.example", "snoozer.example.evil.example", "evil-snoozer.example", "10.0.0.1:8000", "example")
INVALID = ("snoozer.example@evil.example", "snoozer.example/evil", "snoozer.example evil", "snoozer.example:x", "")


def paths(app: Flask) -> set[str]:
    return {re.sub(r"<[^>]+>", "1", rule.rule) for rule in app.url_map.iter_rules()}


def test_every_route_refuses_an_unknown_host_but_those_for_monitoring(app: Flask, client: FlaskClient) -> None:
    for path in paths(app):
        for host in UNKNOWN:
            answer = client.open(path, headers={"Host": host}, method="HEAD")
            monitoring = path in {"/healthz", "/readyz", "/metrics"}
            assert (answer.status_code == 421) is not monitoring, (path, host)
            assert "evil" not in str(answer.headers)


@pytest.mark.parametrize("host", KNOWN)
def test_known_hosts_are_served(client: FlaskClient, host: str) -> None:
    assert client.get("/sign-in", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", INVALID)
def test_a_host_that_cannot_be_one_is_refused(client: FlaskClient, host: str) -> None:
    assert client.get("/sign-in", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost..", "a..b", f"{'a' * 64}.example"])
@pytest.mark.parametrize("path", ["/sign-in", "/readyz", "/api/v1/snoozes"])
def test_a_host_with_a_label_that_cannot_be_one_breaks_no_page(client: FlaskClient, host: str, path: str) -> None:
    """Flask has no URLs then, and the page of the error broke over its links: a 500 and a traceback in the log."""
    assert client.get(path, headers={"Host": host}).status_code == 421


def test_the_refusal_names_the_address_and_what_to_do(client: FlaskClient) -> None:
    page = client.get("/", headers={"Host": "evil.example"}).text
    assert "http://snoozer.example" in page
    assert "BASE_URL" in page
    assert "evil" not in page
    problem = client.get("/api/v1/snoozes", headers={"Host": "evil.example"})
    assert (problem.status_code, problem.get_json()["code"]) == (421, "wrong_host")


def test_an_international_host_is_known_in_its_ascii_form(engine: Engine, settings: Settings) -> None:
    app = create_app(engine=engine, settings=settings.model_copy(update={"base_url": "https://schlummern-für.example"}))
    answer = app.test_client().get("/sign-in", headers={"Host": "xn--schlummern-fr-7ob.example"})
    assert answer.status_code == 200


def test_no_redirect_of_any_route_names_a_host(app: Flask, people: People) -> None:
    signed_in = app.test_client()
    signed_in.set_cookie("snoozer_session", people.ann().session)
    for path in paths(app):
        for spelt in (path, f"/{path}", f"{path}/", path.replace("/", "//"), f"//evil.example/{path}"):
            for browser in (app.test_client(), signed_in):
                for method in ("GET", "POST"):
                    given = {"PATH_INFO": spelt, "QUERY_STRING": "next=//evil.example"}
                    with browser.open("/", method=method, environ_overrides=given) as answer:
                        location = answer.headers.get("Location", "/")
                    assert location.startswith("/"), (method, spelt, location)
                    assert not location.startswith("//"), (method, spelt, location)


def test_https_is_remembered_where_the_site_is_secure(engine: Engine, settings: Settings) -> None:
    secure = settings.model_copy(update={"base_url": "https://snoozer.example"})
    for app, header in (
        (create_app(engine=engine, settings=secure), "max-age=31536000"),
        (create_app(engine=engine, settings=settings), None),
    ):
        for path in ("/sign-in", "/nothing", "/static/snoozer.css", "/api/v1/openapi.json"):
            with app.test_client().get(path) as answer:
                assert answer.headers.get("Strict-Transport-Security") == header


@pytest.fixture(scope="module")
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with live_site(postgres_url, tmp_path_factory.mktemp("hosts")) as site:
        yield site


def test_the_host_is_required_since_http_1_1(site: LiveSite) -> None:
    assert site.send(b"GET /healthz HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 400 ")
    for path in (b"/healthz", b"/sign-in"):
        assert site.send(b"GET %b HTTP/1.0\r\n\r\n" % path).startswith("HTTP/1.0 200 ")


def test_a_double_slash_is_no_redirect(site: LiveSite) -> None:
    for path in ("//evil.example/", "/settings//theme", "/static//snoozer.css"):
        status, response = site.request(path)
        assert status == 404
        assert "evil.example" not in response
    assert site.request("//evil.example//..//sign-in")[0] == 404
