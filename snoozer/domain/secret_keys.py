"""What makes a key ring fit to sign with."""

from collections.abc import Sequence

SAMPLES = frozenset({"change-me", "changeme", "secret", "dev", "development", "sample", "test"})
MIN_LENGTH = 16

_MAKE_ONE = "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"


def validate(ring: Sequence[str]) -> None:
    """Raises ValueError, whose text is one sentence for people, when a key lacks or can be guessed."""
    if not ring:
        raise ValueError(f"SECRET_KEY is not set; {_MAKE_ONE}")
    if any(key.lower() in SAMPLES or len(key) < MIN_LENGTH for key in ring):
        raise ValueError(f"SECRET_KEY holds a sample value or one shorter than {MIN_LENGTH} characters; {_MAKE_ONE}")
