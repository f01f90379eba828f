"""A push service of the tests' own, and the browsers that are subscribed at it: they decrypt what comes, by RFC 8291 as
it is written and not by the product's code."""

import hmac
import json
import struct
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import Engine, text

from snoozer.notify import push_devices

KEYS = ("a-key-for-stories-of-enough-length",)


def encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


@dataclass(frozen=True)
class Subscription:
    """A browser's keys, and its address at the push service."""

    url: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = b"sixteen octets.."

    @property
    def keys(self) -> tuple[str, str]:
        return encoded(point(self.key)), encoded(self.auth)

    def decrypt(self, body: bytes) -> bytes:
        salt, (_, length) = body[:16], struct.unpack(">IB", body[16:21])
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        keying = _expand(_mac(self.auth, shared), b"WebPush: info\0" + point(self.key) + sender, 32)
        secret = _mac(salt, keying)
        key, nonce = (
            _expand(secret, b"Content-Encoding: aes128gcm\0", 16),
            _expand(secret, b"Content-Encoding: nonce\0", 12),
        )
        plain = AESGCM(key).decrypt(nonce, sealed, None)
        assert plain.rstrip(b"\0")[-1:] == b"\x02", "it is the last record"
        return plain.rstrip(b"\0")[:-1]


def _mac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, "sha256")


def _expand(key: bytes, info: bytes, length: int) -> bytes:
    return _mac(key, info + b"\x01")[:length]


def claims_of(authorization: str) -> dict[str, Any]:
    """What a signed request says of itself; fails where the signature is not that of its key."""
    scheme, _, parameters = authorization.partition(" ")
    assert scheme == "vapid"
    given = dict(part.strip().split("=", 1) for part in parameters.split(","))
    signed, _, signature = given["t"].rpartition(".")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(given["k"]))
    raw = decoded(signature)
    numbers = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    key.verify(encode_dss_signature(*numbers), signed.encode(), ec.ECDSA(SHA256()))
    head, body = (json.loads(decoded(part)) for part in signed.split("."))
    assert head["alg"] == "ES256"
    claims: dict[str, Any] = body
    return claims | {"key": decoded(given["k"])}


@dataclass(frozen=True)
class Answer:
    status: int = 201
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pushed:
    path: str
    headers: dict[str, str]
    body: bytes


class PushService:
    """Listens on loopback from `with` to its end, and takes every push, unless `answers` has others for a path: each is
    used once, and a function is called first."""

    def __init__(self) -> None:
        service = self
        self.pushed: list[Pushed] = []
        self.answers: dict[str, list[Answer | Callable[[], Answer]]] = {}

        class Handler(BaseHTTPRequestHandler):
            timeout = 30

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                service.pushed.append(Pushed(self.path, headers, body))
                planned = service.answers.get(self.path)
                answer = planned.pop(0) if planned else Answer()
                answer = answer if isinstance(answer, Answer) else answer()
                try:
                    self.send_response(answer.status)
                    for name, value in {"Content-Length": "0", **answer.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                except OSError:
                    return  # The sender was killed, or hung up.

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)

    def subscription(self, name: str = "phone") -> Subscription:
        return Subscription(f"http://127.0.0.1:{self._server.server_port}/{name}")

    def of(self, subscription: Subscription) -> list[dict[str, Any]]:
        """What came for a browser, as it reads it."""
        path = "/" + subscription.url.rpartition("/")[2]
        return [json.loads(subscription.decrypt(one.body)) for one in self.pushed if one.path == path]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def subscribe(
    engine: Engine, subscription: Subscription, *, account_id: int, subject: bool = False, keys: tuple[str, ...] = KEYS
) -> int:
    """Adds a device through the use case; returns its id."""
    with engine.begin() as connection:
        return push_devices.subscribe(
            connection,
            account_id=account_id,
            key_ring=keys,
            name="Firefox on Android",
            endpoint=subscription.url,
            keys=subscription.keys,
            shows_subject=subject,
            allow_private=True,
        )


def ledger(engine: Engine) -> list[Any]:
    """The rows of the ledger of pushes, by their order."""
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM push_sends ORDER BY id")).all())


def states(engine: Engine) -> list[str]:
    return [row.state for row in ledger(engine)]
