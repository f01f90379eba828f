"""Browsers with a signed-in person, and cases."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from tests.factories import HOUR, People, a_snooze, now


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
