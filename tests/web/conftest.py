"""A browser in which Ann is signed in."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.factories import People


@pytest.fixture
def ann(app: Flask, people: People) -> FlaskClient:
    """Ann's browser; her zone is Europe/Berlin."""
    client = app.test_client()
    client.set_cookie("snoozer_session", people.ann().session)
    return client
