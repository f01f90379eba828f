"""The ring of secret keys: validated for people, and a key for each purpose derived from them."""

import hmac
from collections.abc import Sequence
from functools import lru_cache

SAMPLES = frozenset({"change-me", "changeme", "secret", "dev", "development", "sample", "test"})
MIN_LENGTH = 16

_HOW_TO_MAKE = "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"


def validate(ring: Sequence[str]) -> None:
    """Raises ValueError with one sentence for people when there is no key, or one can be guessed."""
    if not ring:
        raise ValueError(f"SECRET_KEY is not set; {_HOW_TO_MAKE}")
    if any(key.lower() in SAMPLES or len(key) < MIN_LENGTH for key in ring):
        raise ValueError(f"SECRET_KEY holds a sample value or one shorter than {MIN_LENGTH} characters; {_HOW_TO_MAKE}")


@lru_cache(maxsize=32)
def derive(key: str, *, purpose: bytes) -> bytes:
    """A key of 32 bytes for one purpose, from which no other purpose's can be computed."""
    return hmac.digest(key.encode("utf-8", "surrogatepass"), purpose, "sha256")
