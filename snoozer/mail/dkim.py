"""DKIM signatures (RFC 6376) of the mails that Snoozer composes: without a time, so the same mail and key have the same
bytes in every process. (docs/decisions/0046)"""

import hashlib
import re
from base64 import b64encode
from functools import lru_cache
from pathlib import Path
from textwrap import wrap

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

# Receivers check no shorter key (RFC 8301).
MIN_KEY_BITS = 1024
# Absent ones are signed as well, so none can be added on the way.
_NEVER_ADDED = ("from", "to", "subject", "reply-to")
_FIELD = re.compile(rb"([!-9;-~]+):((?:[^\r\n]|\r\n[ \t])*)\r\n")


class InvalidKeyError(ValueError):
    """The key cannot sign; the text is one sentence for people."""


class Signer:
    """Signs mails of this domain with one key. Raises InvalidKeyError."""

    def __init__(self, pem: bytes, *, domain: str, selector: str) -> None:
        self._key = _load(pem)
        self._domain, self._selector = domain, selector
        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.record = f"v=DKIM1; k=rsa; p={b64encode(public).decode('ascii')}"

    def sign(self, mail: bytes) -> bytes:
        """The mail with its signature in front. It covers the body and each field whose name does not begin with X-,
        because some servers change these."""
        head, _, body = mail.partition(b"\r\n\r\n")
        fields = [(name.decode("ascii").lower(), value) for name, value in _FIELD.findall(head + b"\r\n")]
        covered = [(name, value) for name, value in fields if not name.startswith("x-")]
        names = wrap(" : ".join([*(name for name, _ in covered), *_NEVER_ADDED]), 70, break_on_hyphens=False)
        tags = (
            "v=1; a=rsa-sha256; c=relaxed/simple;",
            f"d={self._domain}; s={self._selector};",
            "h=" + "\r\n ".join(names) + ";",
            f"bh={b64encode(hashlib.sha256(body).digest()).decode('ascii')};",
            "b=",
        )
        unsigned = "\r\n ".join(tags).encode("ascii")
        lines = [*(_relaxed(name, value) + b"\r\n" for name, value in covered), _relaxed("dkim-signature", unsigned)]
        signature = b64encode(self._key.sign(b"".join(lines), PKCS1v15(), SHA256())).decode("ascii")
        folded = "\r\n  ".join(wrap(signature, 72))
        return b"DKIM-Signature: %b%b\r\n%b" % (unsigned, folded.encode("ascii"), mail)


@lru_cache(maxsize=1)
def signer(key_file: Path, *, domain: str, selector: str) -> Signer:
    """The signer with the key of this file, which is read once. Raises InvalidKeyError."""
    try:
        pem = key_file.read_bytes()
    except OSError as error:
        raise InvalidKeyError(f"SNOOZER_DKIM_KEY_FILE cannot be read ({error.strerror})") from None
    return Signer(pem, domain=domain, selector=selector)


def _load(pem: bytes) -> RSAPrivateKey:
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InvalidKeyError("SNOOZER_DKIM_KEY_FILE holds no private key in PEM without a password") from None
    if not isinstance(key, RSAPrivateKey) or key.key_size < MIN_KEY_BITS:
        raise InvalidKeyError(
            f"SNOOZER_DKIM_KEY_FILE must hold an RSA key of at least {MIN_KEY_BITS} bits, which all mail systems check"
        )
    return key


def _relaxed(name: str, value: bytes) -> bytes:
    """The field in the form in which it is signed: unfolded, with single blanks (RFC 6376 §3.4.2)."""
    return name.encode("ascii") + b":" + re.sub(rb"[ \t\r\n]+", b" ", value).strip(b" ")
