"""Passwords of mailboxes, encrypted with the key ring of SECRET_KEY, newest key first."""

from base64 import urlsafe_b64encode
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from snoozer.runtime import secret_keys

PURPOSE = b"mailbox passwords"


class Undecryptable(Exception):
    """The token was made with a key that is no longer in the ring, or it was changed. The text is for people."""

    code = "secret"

    def __init__(self) -> None:
        super().__init__("The key that locked this password is no longer in use. Enter the password again.")


def encrypt(ring: Sequence[str], text: str) -> bytes:
    """The text, encrypted with the newest key."""
    return _ciphers(ring).encrypt(text.encode("utf-8", "surrogatepass"))


def decrypt(ring: Sequence[str], token: bytes) -> str:
    """The text, decrypted with one of the keys. Raises Undecryptable."""
    try:
        return _ciphers(ring).decrypt(token).decode("utf-8", "surrogatepass")
    except InvalidToken:
        # `from None`: the frames of the original error hold the keys.
        raise Undecryptable from None


def reopen(ring: Sequence[str], token: bytes) -> tuple[str, bytes | None]:
    """The text, and its token under the newest key if the given one is under an older key. Raises Undecryptable."""
    text = decrypt(ring, token)
    return text, None if is_current(ring, token) else encrypt(ring, text)


def is_current(ring: Sequence[str], token: bytes) -> bool:
    """Whether the token was made with the newest key; if not, it must be encrypted again."""
    try:
        decrypt(ring[:1], token)
    except Undecryptable:
        return False
    return True


def _ciphers(ring: Sequence[str]) -> MultiFernet:
    keys = [secret_keys.derive(key, purpose=PURPOSE) for key in ring]
    return MultiFernet([Fernet(urlsafe_b64encode(key)) for key in keys])
