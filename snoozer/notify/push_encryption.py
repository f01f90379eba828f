"""Web Push: what is pushed is encrypted for one browser (RFC 8291), and signed as ours (VAPID, RFC 8292).

Both RFCs take a page with `cryptography`. (docs/decisions/0046)
"""

import binascii
import json
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

# Push services take 4096 octets; the header of the encryption, its tag and a delimiter are 103 of those.
RECORD_SIZE = 4096
MAX_PLAINTEXT = RECORD_SIZE - 103
AUTH_BYTES, POINT_BYTES = 16, 65
# A signature is good for a day at most.
SIGNED_SECONDS = 12 * 3600

_CURVE = ec.SECP256R1()
_KEY_BYTES = 32


class InvalidSubscription(ValueError):
    """A browser's keys are invalid."""


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """Signs pushes. A browser subscribes with the public key, and its push service takes no other's."""

    public: bytes
    private: str = field(repr=False)


def new_key_pair() -> KeyPair:
    private = ec.generate_private_key(_CURVE)
    number = private.private_numbers().private_value.to_bytes(_KEY_BYTES, "big")
    return KeyPair(public=_point(private), private=base64url(number))


def read_keys(public_key: str, auth_secret: str) -> tuple[bytes, bytes]:
    """The keys of a browser's subscription, from base64url. Raises InvalidSubscription."""
    try:
        public, auth = from_base64url(public_key), from_base64url(auth_secret)
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, public)
    except (binascii.Error, ValueError):
        raise InvalidSubscription from None
    if len(public) != POINT_BYTES or len(auth) != AUTH_BYTES:
        raise InvalidSubscription
    return public, auth


def encrypt(plaintext: bytes, *, public_key: bytes, auth_secret: bytes) -> bytes:
    """The body of a push, with the content coding aes128gcm. Raises ValueError for a plaintext that is too long."""
    return seal(
        plaintext,
        public_key=public_key,
        auth_secret=auth_secret,
        private=ec.generate_private_key(_CURVE),
        salt=os.urandom(16),
    )


def seal(
    plaintext: bytes, *, public_key: bytes, auth_secret: bytes, private: ec.EllipticCurvePrivateKey, salt: bytes
) -> bytes:
    """The same with a given key and salt, which are to be used once."""
    if len(plaintext) > MAX_PLAINTEXT:
        raise ValueError("A push holds 3993 octets at most.")
    own = _point(private)
    shared = private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, public_key))
    keying = _hkdf(shared, salt=auth_secret, info=b"WebPush: info\0" + public_key + own, length=32)
    key = _hkdf(keying, salt=salt, info=b"Content-Encoding: aes128gcm\0", length=16)
    nonce = _hkdf(keying, salt=salt, info=b"Content-Encoding: nonce\0", length=12)
    # The one record is the last one, which the byte 2 marks.
    sealed = AESGCM(key).encrypt(nonce, plaintext + b"\x02", None)
    return salt + struct.pack(">IB", RECORD_SIZE, len(own)) + own + sealed


def authorization(endpoint: str, *, private_key: str, subject: str, now: float) -> str:
    """The value of the header Authorization for a push to an endpoint. `subject` is whom its operators ask."""
    target = urlsplit(endpoint)
    claims = {"aud": f"{target.scheme}://{target.netloc}", "exp": int(now) + SIGNED_SECONDS, "sub": subject}
    private = ec.derive_private_key(int.from_bytes(from_base64url(private_key), "big"), _CURVE)
    signed = ".".join(base64url(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ES256"}, claims))
    r, s = decode_dss_signature(private.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    signature = base64url(r.to_bytes(_KEY_BYTES, "big") + s.to_bytes(_KEY_BYTES, "big"))
    return f"vapid t={signed}.{signature}, k={base64url(_point(private))}"


def base64url(content: bytes) -> str:
    """Without padding, as in JWTs and in subscriptions."""
    return urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def from_base64url(text: str) -> bytes:
    """Raises ValueError."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _point(private: ec.EllipticCurvePrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _hkdf(keying: bytes, *, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(keying)
