"""The ring of secret keys: validated for people, and a key for each purpose derived from them."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from functools import lru_cache
from math import log2

SAMPLES = frozenset({"change-me", "changeme", "secret", "dev", "development", "sample", "test"})
MIN_LENGTH = 16
MIN_DISTINCT = 6
# The estimate for 16 random digits is about this many bits.
MIN_BITS = 44

# Words that people put into keys, and the order of keys on a keyboard.
_WORD = re.compile(
    "password|passphrase|passwort|passwd|secret|geheim|default|changeme|change|please|example|sample|testing|test|"
    "develop|production|staging|snoozer|snooze|reminder|django|flask|admin|root|user|login|welcome|letmein|iloveyou|"
    "dragon|monkey|master|princess|sunshine|football|baseball|superman|batman|trustno1|abc123|hello|token|value|super|"
    "insecure|your|this|that|key"
)
_SEQUENCES = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiop",
    "qwertzuiop",
    "asdfghjkl",
    "zxcvbnm",
    "yxcvbnm",
)
_WORD_BITS = 6.0
_STEP_BITS = 1.0
_MIN_REPEAT = 3

_HOW_TO_MAKE = "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"


def validate(ring: Sequence[str]) -> None:
    """Raises ValueError with one sentence for people if there is no key, or if a key can be guessed."""
    if not ring:
        raise ValueError(f"SECRET_KEY is not set; {_HOW_TO_MAKE}")
    if any(key.lower() in SAMPLES or len(key) < MIN_LENGTH for key in ring):
        raise ValueError(f"SECRET_KEY holds a sample value or one shorter than {MIN_LENGTH} characters; {_HOW_TO_MAKE}")
    if any(len(set(key)) < MIN_DISTINCT or strength(key) < MIN_BITS for key in ring):
        raise ValueError(
            f"SECRET_KEY holds a key that can be guessed, because it is made of words, sequences or repetitions; "
            f"{_HOW_TO_MAKE}"
        )


def strength(key: str) -> float:
    """An estimate, in bits, of how hard the key is to guess: common words, runs such as 1234 or qwer and repeated parts
    count for little, as do separators, and every other character counts for one out of its class."""
    text, bits, at = key.lower(), 0.0, 0
    while at < len(text):
        word = _WORD.match(text, at)
        known = max(len(word[0]) if word else 0, _repeated(text, at))
        if known:
            bits, at = bits + _WORD_BITS, at + known
        elif _is_in_run(text, at):
            bits, at = bits + _STEP_BITS, at + 1
        else:
            bits, at = bits + _character_bits(text[at]), at + 1
    return bits


def _repeated(text: str, at: int) -> int:
    """The length of the longest piece from `at` on that occurs earlier in the text; 0 if it is short."""
    length = 0
    while at + length < len(text) and text.find(text[at : at + length + 1], 0, at + length) != -1:
        length += 1
    return length if length >= _MIN_REPEAT else 0


def _is_in_run(text: str, at: int) -> bool:
    """Whether the character continues a run of three or more, such as abc, 321, qwe or aaa."""
    steps = [0 < each < len(text) and _is_step(text[each - 1], text[each]) for each in (at - 1, at, at + 1)]
    return steps[1] and (steps[0] or steps[2])


def _is_step(before: str, char: str) -> bool:
    pair, reverse = before + char, char + before
    return before == char or any(pair in sequence or reverse in sequence for sequence in _SEQUENCES)


def _character_bits(char: str) -> float:
    if char in " -_.":
        return _STEP_BITS
    return log2(10 if char.isdigit() else 26 if char.isalpha() else 32)


@lru_cache(maxsize=32)
def derive(key: str, *, purpose: bytes) -> bytes:
    """A key of 32 bytes for one purpose; no other purpose's key can be computed from it."""
    return hmac.digest(key.encode("utf-8", "surrogatepass"), purpose, "sha256")


def digest(secret: str) -> str:
    """The hash under which a secret is stored: 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
