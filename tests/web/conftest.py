"""Browsers with a signed-in person, and cases."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.settings import Settings
from snoozer.web import create_app
from snoozer.web.operators import reading
from tests.conftest import HANG_SECONDS
from tests.factories import HOUR, People, a_snooze, now
from tests.web import oidc_provider
from tests.web.inbox import Inbox
from tests.web.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider
from tests.web.oidc_visits import PERSON

GROUP_ROLES = "ops=operator; cn=admins,ou=it=admin; lookers=viewer"


@pytest.fixture(autouse=True)
def patient_overview(monkeypatch: pytest.MonkeyPatch) -> None:
    """The overview leaves out figures that come late, which on a busy machine may be any."""
    for name in ("EACH_SECONDS", "ALL_SECONDS"):
        monkeypatch.setattr(reading, name, HANG_SECONDS)


@pytest.fixture
def ann(app: Flask, people: People) -> FlaskClient:
    """Ann's browser; her zone is Europe/Berlin."""
    client = app.test_client()
    client.set_cookie("snoozer_session", people.ann().session)
    return client


@pytest.fixture
def operator(client: FlaskClient, people: People) -> FlaskClient:
    """A browser in which an operator is signed in."""
    client.set_cookie("snoozer_session", people.operator().session)
    return client


@pytest.fixture
def a_case(engine: Engine) -> Callable[..., int]:
    def make(**columns: Any) -> int:
        retired = {"inactive": True, "outcome": "retired", "finished_at": now() - HOUR, "attempts": 5}
        return a_snooze(engine, **{"last_error": "rcpt: 550 5.1.1 User unknown", **retired, **columns})

    return make


@pytest.fixture
def viewer(app: Flask, people: People) -> FlaskClient:
    """A browser in which a viewer is signed in."""
    client = app.test_client()
    client.set_cookie("snoozer_session", people.ann("vera@snoozer.example", role="viewer").session)
    return client


@pytest.fixture
def provider() -> Iterator[OidcProvider]:
    with oidc_provider.running() as provider:
        provider.person = dict(PERSON)
        yield provider


@pytest.fixture
def make_site(engine: Engine, settings: Settings, provider: OidcProvider) -> Callable[..., Flask]:
    def make(**changed: str) -> Flask:
        oidc = {
            "SNOOZER_OIDC_ISSUER": provider.url,
            "SNOOZER_OIDC_CLIENT_ID": CLIENT_ID,
            "SNOOZER_OIDC_CLIENT_SECRET": CLIENT_SECRET,
            "SNOOZER_OIDC_GROUP_ROLES": GROUP_ROLES,
            "SNOOZER_OIDC_ALLOW_PRIVATE": "1",
        }
        whole = settings.model_dump(by_alias=True) | oidc | changed
        app = create_app(engine=engine, settings=Settings(**whole))
        app.config["WTF_CSRF_ENABLED"] = False
        return app

    return make


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    yield Inbox()


@pytest.fixture
def site(engine: Engine, settings: Settings, inbox: Inbox) -> Iterator[Flask]:
    with inbox.serving() as port:
        whole = settings.model_dump(by_alias=True) | {"SMTP_URL": f"smtp://127.0.0.1:{port}"}
        app = create_app(engine=engine, settings=Settings(**whole))
        app.config["WTF_CSRF_ENABLED"] = False
        yield app
