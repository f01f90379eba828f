"""Sign-in at a mail provider by OAuth 2.0: the authorization code with PKCE, and access tokens from a refresh token.

The refresh token is stored like a password (snoozer.mailboxes.registry). An access token is kept in the memory of one
process until shortly before it expires.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

from authlib.common.security import generate_token
from authlib.oauth2 import OAuth2Client, OAuth2Error

from snoozer.runtime import outbound_http
from snoozer.runtime.oauth_clients import Client, Name
from snoozer.runtime.outbound_http import Answer, HttpError, Limits

# Why no token was obtained: the person has to sign in again, the operator has to renew the registration, the provider
# is away, or the sign-in gave no lasting access.
Code = Literal["sign_in", "client", "away", "no_refresh_token"]

SECONDS = 15.0
MAX_BYTES = 64 * 1024
# A token is no longer used if it expires within this time, or within a quarter of its own lifetime.
MARGIN_SECONDS = 300.0
MARGIN_SHARE = 0.25
# The lifetime assumed if the provider names none.
USUAL_SECONDS = 600.0
VERIFIER_LENGTH = 64

_SIGN_IN_AGAIN = frozenset({"invalid_grant", "interaction_required", "consent_required", "login_required"})


class OAuthError(Exception):
    """No token was obtained. The text is a sentence for people, without any part of a request or an answer."""

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Grant:
    """A provider's grant: tokens, and for how many seconds to use the access token."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    seconds: float


@dataclass(frozen=True, kw_only=True)
class SignIn:
    """A sign-in that begins: the URL to open in the browser, and the values to keep until it is back."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    verifier: str = field(repr=False)


class Providers:
    """The configured providers, queried over https at checked addresses."""

    def __init__(self, clients: Iterable[Client], *, allow_private: bool) -> None:
        self._clients = {client.name: client for client in clients}
        self._limits = Limits(seconds=SECONDS, size=MAX_BYTES, allow_private=allow_private)

    def find(self, name: str | None) -> Client | None:
        """The provider of this name, if it is configured."""
        return next((client for each, client in self._clients.items() if each == name), None)

    def begin(self, name: Name, *, redirect_uri: str, address: str) -> SignIn:
        """A sign-in for an address, at a configured provider."""
        client, verifier, state = self._clients[name], generate_token(VERIFIER_LENGTH), generate_token(43)
        url, _ = self._session(client, redirect_uri).create_authorization_url(
            client.authorize_url, state=state, code_verifier=verifier, login_hint=address, **dict(client.extra)
        )
        return SignIn(url=url, state=state, verifier=verifier)

    def exchange(self, name: str, *, code: str, verifier: str, redirect_uri: str) -> Grant:
        """The tokens for the code that a sign-in ended with; a code works once. Raises OAuthError."""
        client = self._configured(name)
        session = self._session(client, redirect_uri)
        token = _asked(lambda: session.fetch_token(client.token_url, code=code, code_verifier=verifier), client)
        if not token.get("refresh_token"):
            raise OAuthError("no_refresh_token", f"{client.title} gave access for a short time only.")
        return _grant(token, client, refresh_token="")

    def refresh(self, name: str, *, refresh_token: str) -> Grant:
        """A new access token; the refresh token may have changed, too. Raises OAuthError."""
        client = self._configured(name)
        session = self._session(client, None)
        token = _asked(lambda: session.refresh_token(client.token_url, refresh_token=refresh_token), client)
        return _grant(token, client, refresh_token=refresh_token)

    def _configured(self, name: str) -> Client:
        client = self.find(name)
        if client is None:
            raise OAuthError("client", "Sign-in at this provider is not set up any more.")
        return client

    def _session(self, client: Client, redirect_uri: str | None) -> Any:
        return OAuth2Client(
            Http(self._limits),
            client_id=client.client_id,
            client_secret=client.client_secret,
            token_endpoint_auth_method="client_secret_post",  # noqa: S106 - the name of a method
            scope=client.scope,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )


class AccessTokens:
    """The access tokens of one process, by mailbox: valid while the secret that they were made with is the stored
    one."""

    def __init__(self) -> None:
        self._tokens: dict[int, tuple[bytes, str, float]] = {}
        self._guard = threading.Lock()
        self._locks: dict[int, threading.Lock] = {}

    def lock(self, id: int) -> threading.Lock:
        """One thread at a time refreshes the token of a mailbox: some providers accept each refresh token once."""
        with self._guard:
            return self._locks.setdefault(id, threading.Lock())

    def find(self, id: int, *, secret: bytes) -> str | None:
        """The access token, while it may be used."""
        known = self._tokens.get(id)
        return known[1] if known is not None and known[0] == secret and time.monotonic() < known[2] else None

    def keep(self, id: int, *, secret: bytes, grant: Grant) -> None:
        """Keep the access token of a grant whose refresh token is stored as `secret`."""
        self._tokens[id] = (secret, grant.access_token, time.monotonic() + grant.seconds)

    def forget(self, id: int) -> None:
        """Forget an access token that the server refused."""
        self._tokens.pop(id, None)


class Http:
    """The HTTP client that Authlib uses."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def post(self, url: str, *, data: Mapping[str, str], headers: Mapping[str, str], auth: Any) -> "Response":
        url, sent, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        answer = outbound_http.request("POST", url, limits=self._limits, body=body.encode("ascii"), headers=sent)
        return Response(answer)


class Response:
    """The part of a response that Authlib reads."""

    def __init__(self, answer: Answer) -> None:
        self.status_code = answer.status
        self._body = answer.body

    def json(self) -> Any:
        """The body without the description of an error: Microsoft's contains line breaks, which Authlib refuses. A
        redirect is not followed, and counts as no answer."""
        if 300 <= self.status_code < 400:
            raise ValueError("a redirect")
        found = json.loads(self._body)
        if isinstance(found, dict):
            found.pop("error_description", None)
        return found

    def raise_for_status(self) -> None:
        if self.status_code >= 300:
            raise HttpError("status", f"The provider answered with status {self.status_code}.")


def _asked(ask: Callable[[], dict[str, Any]], client: Client) -> dict[str, Any]:
    """Call `ask` and raise errors without causes: their frames and texts contain tokens."""
    try:
        return ask()
    except OAuth2Error as error:
        if error.error in _SIGN_IN_AGAIN:
            raise OAuthError("sign_in", f"{client.title} no longer accepts this sign-in.") from None
        if error.error in {"temporarily_unavailable", "server_error"}:
            raise OAuthError("away", f"{client.title} gives no access at the moment.") from None
        raise OAuthError("client", f"{client.title} does not accept this Snoozer as a program.") from None
    except (HttpError, TypeError, ValueError):
        raise OAuthError("away", f"{client.title} does not answer to sign-ins.") from None


def _grant(token: Mapping[str, Any], client: Client, *, refresh_token: str) -> Grant:
    access_token = token.get("access_token")
    if not isinstance(access_token, str) or not access_token.isprintable() or not access_token:
        raise OAuthError("away", f"{client.title} answered without an access token.")
    try:
        lasts = float(token.get("expires_in", USUAL_SECONDS))
    except (TypeError, ValueError):
        lasts = USUAL_SECONDS
    return Grant(
        access_token=access_token,
        refresh_token=str(token.get("refresh_token") or refresh_token),
        seconds=lasts - min(MARGIN_SECONDS, MARGIN_SHARE * lasts),
    )
