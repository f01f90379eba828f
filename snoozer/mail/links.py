"""Sign and verify the links in reminders.

A token names one occurrence (the snooze and the promised instant) and one action, nothing else: it is never a
login. It has no time of issue, so the same link and the same newest key give the same token in every process.

A reminder has one token, of the action "see". The path after it names the act of each button, with the time that the
button states (`tomorrow-20260309T0700Z`), and needs no signature: the page offers every act to anyone who may see the
occurrence. Mails of earlier releases have paths without a time, or a token for each button.

Layout before base64url: version (1 byte), key id (4), snooze id (8), microseconds since 1970 (8), action (1),
phrase (UTF-8), HMAC-SHA256 cut to 128 bits (16).

The address to which a person answers a reminder has a token of its own, of the action "answer", in base32: mail systems
do not keep the case of an address. So does the address to which mail systems return a reminder, of the action "bounce".
They open no page, and the token of a page is no address.
"""

import binascii
import hashlib
import hmac
import re
import struct
from base64 import b32decode, b32encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Literal, get_args

from snoozer.runtime.secret_keys import derive

Action = Literal["done", "again", "see", "answer", "bounce"]

# By the path after a token: the action, and the phrase of a button for "again".
ACTS: dict[str, tuple[Action, str | None]] = {
    "done": ("done", None),
    "tomorrow": ("again", "tomorrow"),
    "next-week": ("again", "next week"),
    "again": ("again", None),
}

_INSTANT = "%Y%m%dT%H%MZ"
_BUTTON = re.compile(r"(?P<act>[a-z-]+?)(?:-(?P<at>[0-9]{8}T[0-9]{4}Z))?", re.ASCII)

# The path after a token, of the page and the one-click POST of List-Unsubscribe.
STOP = "stop"
ACTIVE_FOR = timedelta(days=30)
# How addresses begin, by their action.
ADDRESSES: dict[Action, str] = {"answer": "r+", "bounce": "b+"}
MAX_PHRASE_LENGTH = 100

_ACTIONS: tuple[Action, ...] = get_args(Action)
_VERSION = 1
_HEAD = struct.Struct(">B4sqq")
_MAC_BYTES = 16
_MAX_TOKEN_LENGTH = 4 * (_HEAD.size + 1 + 4 * MAX_PHRASE_LENGTH + _MAC_BYTES) // 3 + 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 12, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ADDRESS_LENGTH = -(-8 * (_HEAD.size + 1 + _MAC_BYTES) // 5)
_mail_key = partial(derive, purpose=b"snoozer mail link")


class InvalidLink(Exception):
    """This link was not made here, or it was changed on its way."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


@dataclass(frozen=True, kw_only=True)
class Link:
    """One action on one occurrence. `phrase` is the time of a button for "again", `at` the same as an instant, as the
    button states it; without a phrase the page asks."""

    snooze_id: int
    scheduled_for: datetime
    action: Action = "see"
    phrase: str | None = None
    at: datetime | None = None


def sign(link: Link, *, keys: Sequence[str]) -> str:
    """A URL-safe token, signed with the newest (first) key. Raises ValueError for a naive instant or an empty ring."""
    if not keys:
        raise ValueError("A link cannot be signed without a key.")
    if link.scheduled_for.tzinfo is None:
        raise ValueError("A link is bound to an instant, and this one has no zone.")
    key = _mail_key(keys[0])
    try:
        head = _HEAD.pack(_VERSION, _key_id(key), link.snooze_id, (link.scheduled_for - _EPOCH) // _MICROSECOND)
    except struct.error as error:
        raise ValueError("The snooze's number does not fit into a link.") from error
    body = head + _pack_action(link.action, link.phrase)
    return urlsafe_b64encode(body + _mac(key, body)).rstrip(b"=").decode("ascii")


def verify(token: str, *, keys: Sequence[str]) -> Link:
    """The link that was signed with any key of the ring. Raises InvalidLink for any other string."""
    link = _verify(_decode(token), keys=keys)
    if link.action in ADDRESSES:
        raise InvalidLink
    return link


def sign_address(
    snooze_id: int, scheduled_for: datetime, *, keys: Sequence[str], action: Literal["answer", "bounce"] = "answer"
) -> str:
    """The local part, of 63 characters, of the address to which the reminder of this occurrence is answered, or to
    which mail systems return it."""
    token = sign(Link(snooze_id=snooze_id, scheduled_for=scheduled_for, action=action), keys=keys)
    return ADDRESSES[action] + b32encode(_decode(token)).rstrip(b"=").decode("ascii").lower()


def verify_address(local_part: str, *, keys: Sequence[str]) -> Link:
    """The occurrence and the action of this address. Raises InvalidLink for any other string."""
    prefix, token = local_part[:2].lower(), local_part[2:].lower()
    if len(token) != _ADDRESS_LENGTH or not token.isascii():
        raise InvalidLink
    try:
        raw = b32decode(token.upper() + "=" * (-len(token) % 8))
    except binascii.Error:
        raise InvalidLink from None
    link = _verify(raw, keys=keys)
    if ADDRESSES.get(link.action) != prefix or b32encode(raw).rstrip(b"=") != token.upper().encode("ascii"):
        raise InvalidLink
    return link


def _verify(raw: bytes, *, keys: Sequence[str]) -> Link:
    body, mac = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
    matches = [hmac.compare_digest(_mac(key, body), mac) for key in map(_mail_key, keys)]
    if not any(matches):
        raise InvalidLink
    try:
        version, _, snooze_id, micros = _HEAD.unpack_from(body)
        if version != _VERSION:
            raise InvalidLink
        return Link(
            snooze_id=snooze_id,
            scheduled_for=_EPOCH + timedelta(microseconds=micros),
            action=_ACTIONS[body[_HEAD.size]],
            phrase=body[_HEAD.size + 1 :].decode("utf-8") or None,
        )
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError):
        raise InvalidLink from None


def act_path(act: str, at: datetime) -> str:
    """The path of a button that states a time."""
    return f"{act}-{at.astimezone(UTC):{_INSTANT}}"


def with_act(link: Link, path: str) -> Link:
    """The link with the act of a button. Raises InvalidLink for a path that no mail has."""
    found = _BUTTON.fullmatch(path)
    if found is None or found["act"] not in ACTS:
        raise InvalidLink
    action, phrase = ACTS[found["act"]]
    try:
        at = datetime.strptime(found["at"], _INSTANT).replace(tzinfo=UTC) if found["at"] else None
    except ValueError:
        raise InvalidLink from None
    # In the last and first years, another zone may have no such time.
    if at is not None and (phrase is None or not _EPOCH < at < _LAST):
        raise InvalidLink
    return replace(link, action=action, phrase=phrase, at=at)


def is_old(mailed_at: datetime, now: datetime) -> bool:
    """Whether the mail is more than 30 days old: then its links only show a page and do not act."""
    return now - mailed_at > ACTIVE_FOR


def occurrence_id(token: str) -> str:
    """An identifier of the token's occurrence for headers: 128 bits of a hash; they reveal nothing and open nothing."""
    return hashlib.sha256(token.encode("ascii")).hexdigest()[:32]


def _pack_action(action: Action, phrase: str | None) -> bytes:
    if action not in _ACTIONS or (phrase and len(phrase) > MAX_PHRASE_LENGTH):
        raise ValueError(f"A link asks for one of {', '.join(_ACTIONS)}, with a phrase of at most 100 characters.")
    return bytes((_ACTIONS.index(action),)) + (phrase or "").encode("utf-8")


def _decode(token: str) -> bytes:
    """The bytes of a token in canonical base64url: a changed last character must not decode to the same bytes."""
    if not token.isascii() or len(token) > _MAX_TOKEN_LENGTH:
        raise InvalidLink
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        raise InvalidLink from None
    if urlsafe_b64encode(raw).rstrip(b"=") != token.encode("ascii") or len(raw) <= _HEAD.size + _MAC_BYTES:
        raise InvalidLink
    return raw


@lru_cache(maxsize=32)
def _key_id(derived: bytes) -> bytes:
    return _mac(derived, b"key id")[:4]


def _mac(derived: bytes, body: bytes) -> bytes:
    return hmac.digest(derived, body, "sha256")[:_MAC_BYTES]
