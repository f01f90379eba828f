"""Sign-in at an organisation's provider by OpenID Connect: the authorization code with PKCE, and the id token.

The provider's endpoints come from its discovery document, as do its keys; both are kept for an hour, and keys are read
again at once if a token has an unknown key. Only the claims of a token leave this module.
"""

import json
import math
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from authlib.common.security import generate_token
from authlib.oauth2 import OAuth2Client, OAuth2Error
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey, import_key

from snoozer.people.oidc.claims import FRESH_SECONDS, Claims, OidcError
from snoozer.people.oidc.registration import Registration
from snoozer.runtime import outbound_http
from snoozer.runtime.oauth import Http
from snoozer.runtime.outbound_http import HttpError, Limits

SECONDS = 10.0
MAX_BYTES = 256 * 1024
KEEP_SECONDS = 3_600.0
# If a token has an unknown key, the keys are read again, at most this often.
REREAD_SECONDS = 30.0
# Allowed difference between clocks.
LEEWAY_SECONDS = 60
VERIFIER_LENGTH, STATE_LENGTH = 64, 43
MAX_TOKEN_LENGTH = 32_000
MAX_SUBJECT_LENGTH = 255
MAX_GROUPS = 2_000
# Only asymmetric algorithms: with HS256 everybody who knows the client's secret could sign, with "none" everybody.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
DISCOVERY = "/.well-known/openid-configuration"

Key = RSAKey | ECKey | OKPKey


@dataclass(frozen=True, kw_only=True)
class Begun:
    """The start of a sign-in: the URL for the browser, and the state to keep until it returns."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class _Metadata:
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    methods: tuple[str, ...]


class Provider:
    """An organisation's provider; one per process, for any number of sign-ins."""

    def __init__(self, registration: Registration) -> None:
        self.registration = registration
        self._limits = Limits(seconds=SECONDS, size=MAX_BYTES, allow_private=registration.allow_private)
        self._lock = threading.Lock()
        self._metadata: tuple[float, _Metadata] | None = None
        self._keys: tuple[float, list[Key]] | None = None

    def begin(self, *, redirect_uri: str, fresh: bool = False) -> Begun:
        """Begin a sign-in; with `fresh` the provider must ask for the credentials again. Raises OidcError."""
        metadata, verifier, state = self._discovered(), generate_token(VERIFIER_LENGTH), generate_token(STATE_LENGTH)
        nonce = secrets.token_urlsafe(32)
        extra = {"prompt": "login", "max_age": "0"} if fresh else {}
        url, _ = self._session(metadata, redirect_uri).create_authorization_url(
            metadata.authorization_endpoint, state=state, code_verifier=verifier, nonce=nonce, **extra
        )
        return Begun(url=url, state=state, nonce=nonce, verifier=verifier)

    def finish(self, *, code: str, verifier: str, nonce: str, redirect_uri: str, fresh: bool = False) -> Claims:
        """The claims of the person who signed in with this code, which works once. Raises OidcError."""
        metadata = self._discovered()
        session = self._session(metadata, redirect_uri)
        try:
            token = session.fetch_token(metadata.token_endpoint, code=code, code_verifier=verifier)
        except OAuth2Error as error:
            if error.error == "invalid_grant":
                raise OidcError("refused", "the code was not accepted") from None
            raise OidcError("configuration", "the provider does not accept the client") from None
        except (HttpError, TypeError, ValueError):
            raise OidcError("away", "the token endpoint gave no answer") from None
        claims = self._validated(token.get("id_token"), metadata, nonce=nonce, fresh=fresh)
        if "email" not in claims or self.registration.groups_claim not in claims:
            claims = self._with_userinfo(claims, token.get("access_token"), metadata)
        return self._claims(claims)

    def _session(self, metadata: _Metadata, redirect_uri: str) -> Any:
        is_basic = "client_secret_basic" in metadata.methods or not metadata.methods
        return OAuth2Client(
            Http(self._limits),
            client_id=self.registration.client_id,
            client_secret=self.registration.client_secret,
            token_endpoint_auth_method="client_secret_basic" if is_basic else "client_secret_post",
            scope=self.registration.scope,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )

    def _discovered(self) -> _Metadata:
        with self._lock:
            known = self._metadata
        if known is not None and time.time() < known[0] + KEEP_SECONDS:
            return known[1]
        issuer = self.registration.issuer
        found = self._json(issuer.rstrip("/") + DISCOVERY)
        # RFC 8414, 3.3: another issuer's document would send the browser, and the secret, elsewhere.
        if found.get("issuer") != issuer:
            raise OidcError("configuration", "the discovery document is of another issuer")
        metadata = _Metadata(
            authorization_endpoint=self._endpoint(found, "authorization_endpoint"),
            token_endpoint=self._endpoint(found, "token_endpoint"),
            jwks_uri=self._endpoint(found, "jwks_uri"),
            userinfo_endpoint=self._endpoint(found, "userinfo_endpoint") if "userinfo_endpoint" in found else None,
            methods=tuple(map(str, _list(found.get("token_endpoint_auth_methods_supported")))),
        )
        with self._lock:
            self._metadata = (time.time(), metadata)
        return metadata

    def _endpoint(self, found: Mapping[str, Any], name: str) -> str:
        url, schemes = found.get(name), ("https://", *(("http://",) if self.registration.allow_private else ()))
        if not isinstance(url, str) or not url.startswith(schemes) or not url.isascii() or not url.isprintable():
            raise OidcError("configuration", f"the discovery document has no usable {name}")
        return url

    def _json(self, url: str, *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON of a GET from this address only: redirects are not followed."""
        try:
            answer = outbound_http.request("GET", url, limits=self._limits, headers=headers)
            found = json.loads(answer.body) if answer.status == 200 else None
        except (HttpError, ValueError, RecursionError):
            raise OidcError("away", "the provider gave no answer") from None
        if not isinstance(found, dict):
            raise OidcError("away", "the provider gave no answer that can be read")
        return found

    def _validated(self, token: object, metadata: _Metadata, *, nonce: str, fresh: bool) -> dict[str, Any]:
        if not isinstance(token, str) or len(token) > MAX_TOKEN_LENGTH:
            raise OidcError("token", "there is no id token")
        claims = self._verified(token, metadata)
        _check_claims(claims, self.registration, nonce=nonce, now=time.time(), fresh=fresh)
        return claims

    def _verified(self, token: str, metadata: _Metadata) -> dict[str, Any]:
        """Verify that a key of the provider signed the token, and return the claims."""
        try:
            header = jws.extract_compact(token.encode("ascii")).headers()
        except (JoseError, ValueError, TypeError):
            raise OidcError("token", "the id token cannot be read") from None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise OidcError("token", "the id token is not signed as it must be")
        for is_reread in (False, True):
            for key in self._known_keys(metadata, reread=is_reread):
                if key_id is not None and key.kid != key_id:
                    continue
                try:
                    return dict(jwt.decode(token, key, algorithms=[algorithm]).claims)
                except (JoseError, ValueError, TypeError):
                    continue
        raise OidcError("token", "no key of the provider signed the id token")

    def _known_keys(self, metadata: _Metadata, *, reread: bool) -> Sequence[Key]:
        with self._lock:
            known = self._keys
        age = None if known is None else time.time() - known[0]
        if known is not None and age is not None and age < (REREAD_SECONDS if reread else KEEP_SECONDS):
            return () if reread else known[1]
        keys = [key for each in _list(self._json(metadata.jwks_uri).get("keys")) if (key := _public_key(each))]
        with self._lock:
            self._keys = (time.time(), keys)
        return keys

    def _with_userinfo(self, claims: dict[str, Any], access_token: object, metadata: _Metadata) -> dict[str, Any]:
        """Some providers return address and groups only there. The claims of the id token take precedence."""
        if metadata.userinfo_endpoint is None or not isinstance(access_token, str) or not access_token.isprintable():
            return claims
        found = self._json(metadata.userinfo_endpoint, headers={"Authorization": f"Bearer {access_token}"})
        if found.get("sub") != claims["sub"]:
            raise OidcError("token", "the userinfo is of another person")
        # An address and whether it is verified belong together.
        if "email" in claims:
            found = {name: value for name, value in found.items() if name not in {"email", "email_verified"}}
        return {**found, **claims}

    def _claims(self, claims: Mapping[str, Any]) -> Claims:
        email, groups = claims.get("email"), claims.get(self.registration.groups_claim)
        is_verified = claims.get("email_verified") is True
        named = [groups] if isinstance(groups, str) else _list(groups)
        return Claims(
            issuer=self.registration.issuer,
            subject=str(claims["sub"]),
            email=email if is_verified and isinstance(email, str) else None,
            groups=tuple(group for group in named[:MAX_GROUPS] if isinstance(group, str)),
            is_fresh=_is_fresh(claims, now=time.time()),
        )


def _check_claims(
    claims: Mapping[str, Any], registration: Registration, *, nonce: str, now: float, fresh: bool
) -> None:
    """Check the claims as in OpenID Connect Core, 3.1.3.7. Raises OidcError."""
    audience = claims.get("aud")
    audiences = [audience] if isinstance(audience, str) else _list(audience)
    subject, given = claims.get("sub"), claims.get("nonce")
    problems = {
        "of another issuer": claims.get("iss") != registration.issuer,
        "for another client": registration.client_id not in audiences,
        "of another party": claims.get("azp", registration.client_id) != registration.client_id
        or (len(audiences) > 1 and "azp" not in claims),
        "over": not _is_number(claims.get("exp")) or claims["exp"] <= now - LEEWAY_SECONDS,
        "of the future": not _is_number(claims.get("iat")) or claims["iat"] > now + LEEWAY_SECONDS,
        "not valid yet": "nbf" in claims and not (_is_number(claims["nbf"]) and claims["nbf"] <= now + LEEWAY_SECONDS),
        "of another sign-in": not isinstance(given, str)
        or not secrets.compare_digest(given.encode("utf-8", "surrogatepass"), nonce.encode()),
        "without a subject": not isinstance(subject, str)
        or not 0 < len(subject) <= MAX_SUBJECT_LENGTH
        or "\0" in subject,
        "not of a fresh sign-in": fresh and not _is_fresh(claims, now=now),
    }
    found = [problem for problem, is_so in problems.items() if is_so]
    if found:
        raise OidcError("token", f"the id token is {found[0]}")


def _is_fresh(claims: Mapping[str, Any], *, now: float) -> bool:
    return _is_number(claims.get("auth_time")) and bool(claims["auth_time"] > now - FRESH_SECONDS)


def _public_key(found: object) -> Key | None:
    """A key that signs; None for others: with an `oct` key of a JWKS, a public value would act as the secret."""
    if not isinstance(found, dict) or found.get("kty") not in {"RSA", "EC", "OKP"} or found.get("use", "sig") != "sig":
        return None
    try:
        return import_key({name: value for name, value in found.items() if name != "d"})  # type: ignore[return-value]
    except (JoseError, ValueError, TypeError):
        return None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
