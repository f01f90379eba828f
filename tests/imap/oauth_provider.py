"""An OAuth 2.0 provider of our own, at a socket: Authlib's authorization server, whose one client is Snoozer.

Everybody consents at once, as the account that the sign-in names. Each refresh token works once.
"""

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from flask import Flask, Response, request
from werkzeug.serving import WSGIRequestHandler, make_server

CLIENT_ID, CLIENT_SECRET = "snoozer-of-a-test", "client-secret-of-a-test"
REDIRECT_PATH = "/settings/mailboxes/sign-in"


class Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        """Nothing: the lines would hold codes."""


@dataclass
class Item:
    """A code or a pair of tokens, and what they are for."""

    user: str
    scope: str
    redirect_uri: str = ""
    code_challenge: str = ""
    code_challenge_method: str = "S256"
    access_token: str = ""
    refresh_token: str | None = None
    expires_at: float = 0.0
    expires_in: int = 0

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def is_expired(self) -> bool:
        return time.time() >= self.expires_at

    def is_revoked(self) -> bool:
        return False

    def check_client(self, client: object) -> bool:
        return True


class Client:
    """Snoozer, and Dovecot that asks about tokens with the same registration."""

    client_id = CLIENT_ID

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(client_secret, CLIENT_SECRET)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == ("client_secret_post" if endpoint == "token" else "client_secret_basic")

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in {"authorization_code", "refresh_token"}

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return urlsplit(redirect_uri).path == REDIRECT_PATH

    def get_default_redirect_uri(self) -> None:
        return None

    def get_allowed_scope(self, scope: str) -> str:
        return scope


@dataclass
class Provider:
    """`lifetime` is of access tokens made from now on. `failure` is the error that the token endpoint answers with."""

    port: int = 0
    lifetime: int = 3_600
    consents: bool = True
    failure: tuple[int, str] | None = None
    codes: dict[str, Item] = field(default_factory=dict)
    tokens: list[Item] = field(default_factory=list)
    refreshes: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def introspection_url(self) -> str:
        return f"http://{CLIENT_ID}:{CLIENT_SECRET}@127.0.0.1:{self.port}/introspect"

    def expire_access_tokens(self) -> None:
        """As when their time is over."""
        for item in self.tokens:
            item.expires_at = 0.0

    def withdraw(self) -> None:
        """As when a person takes the access back: nothing that was given out works."""
        self.expire_access_tokens()
        for item in self.tokens:
            item.refresh_token = None

    def secrets(self) -> list[str]:
        """All that may stand in no page, log or dump."""
        found = [token for item in self.tokens for token in (item.access_token, item.refresh_token)]
        return [CLIENT_SECRET, *self.codes, *filter(None, found)]


@contextlib.contextmanager
def running() -> Iterator[Provider]:
    provider = Provider()
    server = make_server("127.0.0.1", 0, _app(provider), threaded=True, request_handler=Quiet)
    provider.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    thread.start()
    try:
        yield provider
    finally:
        del os.environ["AUTHLIB_INSECURE_TRANSPORT"]
        server.shutdown()
        thread.join()
        server.server_close()


def _app(provider: Provider) -> Flask:
    app = Flask("provider")
    app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True

    def save_token(token: dict[str, Any], asked: Any) -> None:
        token["expires_in"] = provider.lifetime
        provider.tokens.append(
            Item(
                user=asked.user,
                scope=token["scope"],
                access_token=token["access_token"],
                refresh_token=token["refresh_token"],
                expires_at=time.time() + provider.lifetime,
            )
        )

    server = AuthorizationServer(app, query_client={CLIENT_ID: Client()}.get, save_token=save_token)
    server.register_grant(_code_grant(provider), [CodeChallenge(required=True)])
    server.register_grant(_refresh_grant(provider))
    server.register_endpoint(_introspection(provider))

    @app.get("/authorize")
    def authorize() -> Response:
        grant = server.get_consent_grant(end_user=request.args["login_hint"])
        user = request.args["login_hint"] if provider.consents else None
        answer: Response = server.create_authorization_response(grant_user=user, grant=grant)
        return answer

    @app.post("/token")
    def token() -> Response:
        if provider.failure is not None:
            status, error = provider.failure
            # Descriptions of Microsoft's hold line breaks.
            body = {"error": error, "error_description": "AADSTS70008: expired.\r\nTrace ID: 4711\r\n"}
            return Response(json.dumps(body), status=status, mimetype="application/json")
        answer: Response = server.create_token_response()
        return answer

    @app.post("/introspect")
    def introspect() -> Response:
        answer: Response = server.create_endpoint_response("introspection")
        return answer

    return app


def _code_grant(provider: Provider) -> type:
    class Grant(AuthorizationCodeGrant):  # type: ignore[misc]
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_post",)

        def save_authorization_code(self, code: str, asked: Any) -> None:
            data = asked.payload.data
            provider.codes[code] = Item(
                user=asked.user,
                scope=asked.payload.scope,
                redirect_uri=asked.payload.redirect_uri,
                code_challenge=data["code_challenge"],
                code_challenge_method=data["code_challenge_method"],
            )

        def query_authorization_code(self, code: str, client: Client) -> Item | None:
            return provider.codes.get(code)

        def delete_authorization_code(self, item: Item) -> None:
            provider.codes = {code: each for code, each in provider.codes.items() if each is not item}

        def authenticate_user(self, item: Item) -> str:
            return item.user

    return Grant


def _refresh_grant(provider: Provider) -> type:
    class Grant(RefreshTokenGrant):  # type: ignore[misc]
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_post",)
        INCLUDE_NEW_REFRESH_TOKEN = True

        def authenticate_refresh_token(self, refresh_token: str) -> Item | None:
            provider.refreshes += 1
            return next((item for item in provider.tokens if item.refresh_token == refresh_token), None)

        def authenticate_user(self, item: Item) -> str:
            return item.user

        def revoke_old_credential(self, item: Item) -> None:
            item.refresh_token = None

    return Grant


def _introspection(provider: Provider) -> type:
    class Introspection(IntrospectionEndpoint):  # type: ignore[misc]
        CLIENT_AUTH_METHODS = ("client_secret_basic",)

        def query_token(self, token_string: str, token_type_hint: str | None) -> Item | None:
            return next((item for item in provider.tokens if item.access_token == token_string), None)

        def check_permission(self, token: Item, client: Client, asked: Any) -> bool:
            return True

        def introspect_token(self, token: Item) -> dict[str, Any]:
            return {"active": True, "username": token.user, "scope": token.scope}

    return Introspection
