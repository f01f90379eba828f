"""What of a provider's answers is not believed: id tokens, keys and documents that are not right."""

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from joserfc import jwt
from joserfc.jwk import RSAKey
from sqlalchemy import Engine

from tests.factories import ANN
from tests.web.oidc_provider import CLIENT_ID, OidcProvider, a_key, signed_by_secret, unsigned
from tests.web.oidc_visits import is_signed_in, sign_in, the_accounts


@pytest.fixture
def site(make_site: Callable[..., Flask]) -> Flask:
    return make_site()


@pytest.fixture
def browser(site: Flask) -> FlaskClient:
    return site.test_client()


def lie(**claims: Any) -> Callable[[OidcProvider], None]:
    def tell(provider: OidcProvider) -> None:
        provider.lies = claims

    return tell


def signed(by: Callable[[dict[str, Any]], str]) -> Callable[[OidcProvider], None]:
    def tell(provider: OidcProvider) -> None:
        provider.sign = by

    return tell


def signed_by_another_key(provider: OidcProvider) -> None:
    provider.key = a_key("1")


def signed_by_a_key_in_its_header(provider: OidcProvider) -> None:
    stranger = RSAKey.generate_key(2048)
    header = {"alg": "RS256", "jwk": stranger.as_dict(private=False)}
    provider.sign = lambda claims: jwt.encode(header, claims, stranger)


LIES = {
    "another issuer": lie(iss="https://evil.example"),
    "another audience": lie(aud="another-client"),
    "no audience": lie(aud=None),
    "two audiences and no azp": lie(aud=[CLIENT_ID, "another-client"]),
    "issued to another party": lie(azp="another-client"),
    "expired": lie(exp=1_700_000_000),
    "no end": lie(exp=None),
    "no number as end": lie(exp="later"),
    "NaN as end": lie(exp=float("nan")),
    "of the future": lie(iat=4_000_000_000),
    "not valid yet": lie(nbf=4_000_000_000),
    "another nonce": lie(nonce="of another sign-in"),
    "no nonce": lie(nonce=None),
    "no subject": lie(sub=None),
    "an endless subject": lie(sub="x" * 256),
    "unsigned": signed(unsigned),
    "signed by the client's secret": signed(signed_by_secret),
    "another key": signed_by_another_key,
    "a key of its own": signed_by_a_key_in_its_header,
    "no token": signed(lambda claims: "not.a.token"),
    "no text": signed(lambda claims: 7),  # type: ignore[arg-type,return-value]
}


@pytest.mark.parametrize("misbehave", LIES.values(), ids=LIES.keys())
def test_a_token_that_is_not_right_is_no_sign_in(
    browser: FlaskClient,
    engine: Engine,
    provider: OidcProvider,
    misbehave: Callable[[OidcProvider], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "snoozer.security")
    misbehave(provider)
    answer = sign_in(browser)
    assert (answer.status_code, "cannot be trusted" in answer.text) == (422, True)
    assert (the_accounts(engine), is_signed_in(browser)) == ([], False)
    assert "organisation_sign_in_refused why=" in caplog.text
    assert ANN not in caplog.text


def test_keys_that_the_provider_changes_are_read_again(
    browser: FlaskClient, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sign_in(browser).status_code == 303
    assert sign_in(browser).status_code == 303
    assert provider.requests.count("/keys") == 1
    provider.rotate()
    moved = time.time() + 31
    monkeypatch.setattr(time, "time", lambda: moved)
    assert sign_in(browser).status_code == 303
    assert provider.requests.count("/keys") == 2
    provider.key = a_key("unknown")
    for _ in range(3):
        assert sign_in(browser).status_code == 422
    assert provider.requests.count("/keys") == 2
    provider.published.pop()


@pytest.mark.parametrize(
    ("broken", "status"), [("/.well-known/openid-configuration", 503), ("/token", 503), ("/keys", 503)]
)
def test_a_provider_that_is_away_is_tried_again_later(
    browser: FlaskClient, provider: OidcProvider, broken: str, status: int
) -> None:
    provider.broken = {broken}
    answer = browser.post("/sign-in/organisation") if "well-known" in broken else sign_in(browser)
    assert (answer.status_code, "does not answer" in answer.text) == (status, True)
    provider.broken = set()
    assert sign_in(browser).status_code == 303


@pytest.mark.parametrize(
    "metadata",
    [{"issuer": "https://evil.example"}, {"token_endpoint": None}, {"authorization_endpoint": "javascript:alert(1)"}],
)
def test_a_document_of_another_issuer_or_without_addresses_is_refused(
    browser: FlaskClient, provider: OidcProvider, metadata: dict[str, Any]
) -> None:
    provider.metadata = metadata
    answer = browser.post("/sign-in/organisation")
    assert (answer.status_code, "does not accept this Snoozer" in answer.text) == (422, True)
