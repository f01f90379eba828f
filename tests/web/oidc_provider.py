"""An OpenID Connect provider of our own, at a socket: discovery, keys, tokens and userinfo, and ways to misbehave.

Everybody is signed in at once, as the person that the test says.
"""

import contextlib
import json
import secrets
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from flask import Flask, Response, redirect, request
from flask.typing import ResponseReturnValue
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from werkzeug.serving import WSGIRequestHandler, make_server

CLIENT_ID, CLIENT_SECRET = "snoozer-of-a-test", "client-secret-of-a-test"


class Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        """Nothing: the lines would hold codes."""


def a_key(kid: str = "1") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


@dataclass
class OidcProvider:
    """`person` are the claims of who signs in next, `lies` replace claims of the id token (None leaves one out), and
    `sign` makes the token in place of the key. `broken` are paths that answer 500."""

    port: int = 0
    key: RSAKey = field(default_factory=a_key)
    published: list[RSAKey] = field(default_factory=list)
    person: dict[str, Any] = field(default_factory=dict)
    lies: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    sign: Callable[[dict[str, Any]], str] | None = None
    broken: set[str] = field(default_factory=set)
    denies: bool = False
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rotate(self) -> None:
        """The next tokens are signed by a new key."""
        self.key = a_key(str(len(self.published) + 1))
        self.published.append(self.key)

    def token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            **{"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked.get("nonce")},
            **({"auth_time": now} if "max_age" in asked else {}),
            **self.person,
            **self.lies,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.sign is not None:
            return self.sign(claims)
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)


def unsigned(claims: dict[str, Any]) -> str:
    """With the algorithm "none"."""
    parts = (json.dumps({"alg": "none"}), json.dumps(claims))
    return ".".join([*(urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts), ""])


def signed_by_secret(claims: dict[str, Any]) -> str:
    """By HMAC with what every client of this provider knows."""
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(CLIENT_SECRET))


@contextlib.contextmanager
def running() -> Iterator[OidcProvider]:
    provider = OidcProvider()
    provider.published.append(provider.key)
    server = make_server("127.0.0.1", 0, _app(provider), threaded=True, request_handler=Quiet)
    provider.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _app(provider: OidcProvider) -> Flask:
    app = Flask("oidc")

    @app.before_request
    def note() -> ResponseReturnValue | None:
        provider.requests.append(request.path)
        return Response(status=500) if request.path in provider.broken else None

    @app.get("/.well-known/openid-configuration")
    def discovery() -> dict[str, Any]:
        paths = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        found = {name: provider.url + path for name, path in paths.items()}
        found |= {"userinfo_endpoint": f"{provider.url}/userinfo"} if provider.userinfo else {}
        return {"issuer": provider.url, **found, **provider.metadata}

    @app.get("/keys")
    def keys() -> dict[str, Any]:
        return {"keys": [{"kty": "oct", "k": "AAAA"}, "x", *(key.as_dict(private=False) for key in provider.published)]}

    @app.get("/authorize")
    def authorize() -> ResponseReturnValue:
        asked = request.args.to_dict()
        assert (asked["client_id"], asked["response_type"]) == (CLIENT_ID, "code")
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        provider.codes[code] = asked
        answer = {"error": "access_denied"} if provider.denies else {"code": code}
        return redirect(f"{asked['redirect_uri']}?{urlencode({**answer, 'state': asked['state']})}")

    @app.post("/token")
    def token() -> ResponseReturnValue:
        basic = b64decode(request.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        if basic != f"{CLIENT_ID}:{CLIENT_SECRET}":
            return {"error": "invalid_client"}, 401
        asked = provider.codes.pop(request.form["code"], None)
        verifier = sha256(request.form["code_verifier"].encode()).digest()
        challenge = urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if asked is None or challenge != asked["code_challenge"]:
            return {"error": "invalid_grant"}, 400
        if request.form["redirect_uri"] != asked["redirect_uri"]:
            return {"error": "invalid_grant"}, 400
        return {"access_token": "an-access-token", "token_type": "Bearer", "id_token": provider.token(asked)}

    @app.get("/userinfo")
    def userinfo() -> ResponseReturnValue:
        if request.headers.get("Authorization") != "Bearer an-access-token":
            return {"error": "invalid_token"}, 401
        return provider.userinfo

    return app
