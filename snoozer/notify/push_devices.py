"""USE CASE of notifications: a person subscribes a device, chooses what it shows, and removes it.

A browser subscribes with our public key (VAPID), and its push service accepts only pushes signed with the private one,
so the pair outlives SECRET_KEY: it is made once, kept in the database, and encrypted with the ring like the passwords
of mailboxes. A newer key of the ring re-encrypts it. If no key of the ring decrypts it any more, a new pair is made,
and the devices of the old pair ask to be switched on again.
"""

from collections.abc import Sequence
from typing import Literal

from sqlalchemy import Connection

from snoozer.db import mailboxes, push
from snoozer.db.push import NewDevice
from snoozer.db.queries import devices
from snoozer.notify import push_encryption
from snoozer.notify.push_encryption import InvalidSubscription, KeyPair
from snoozer.runtime import encryption, outbound_http
from snoozer.runtime.encryption import Undecryptable

MAX_DEVICES = 10


class NotSubscribed(Exception):
    """The device gets no notifications: the account has too many devices, or its subscription cannot be used."""

    def __init__(self, code: Literal["room", "subscription"]) -> None:
        super().__init__(code)
        self.code = code


def public_key(connection: Connection, *, key_ring: Sequence[str]) -> bytes:
    """The key with which a browser subscribes; created if there is no usable one."""
    return _current(connection, key_ring)[1]


def subscribe(
    connection: Connection,
    *,
    account_id: int,
    key_ring: Sequence[str],
    name: str,
    endpoint: str,
    keys: tuple[str, str],
    shows_subject: bool,
    allow_private: bool,
) -> int:
    """Add the device of a subscription; `keys` are its p256dh and auth. Returns its id. Raises NotSubscribed."""
    try:
        public, auth = push_encryption.read_keys(*keys)
    except InvalidSubscription:
        raise NotSubscribed("subscription") from None
    if not outbound_http.is_endpoint(endpoint, allow_private=allow_private):
        raise NotSubscribed("subscription")
    key_id, _ = _current(connection, key_ring)
    device = NewDevice(
        key_id=key_id,
        label=name,
        endpoint=endpoint,
        public_key=public,
        auth_secret=auth,
        shows_subject=shows_subject,
    )
    is_open = mailboxes.lock_owner(connection, account_id=account_id)
    id = push.subscribe(connection, account_id=account_id, device=device, most=MAX_DEVICES) if is_open else None
    if id is None:
        raise NotSubscribed("room")
    return id


def key_opens(connection: Connection, *, key_ring: Sequence[str]) -> bool:
    """Whether pushes can be signed: a key of the ring decrypts the newest pair."""
    newest = devices.newest_key(connection)
    try:
        return newest is None or bool(encryption.decrypt(key_ring, newest.private_key))
    except Undecryptable:
        return False


def _current(connection: Connection, ring: Sequence[str]) -> tuple[int, bytes]:
    known = _usable(connection, ring)
    if known is None:
        push.lock_keys(connection)
        known = _usable(connection, ring) or _new(connection, push_encryption.new_key_pair(), ring)
    return known


def _usable(connection: Connection, ring: Sequence[str]) -> tuple[int, bytes] | None:
    newest = devices.newest_key(connection)
    if newest is None:
        return None
    try:
        _, renewed = encryption.reopen(ring, newest.private_key)
    except Undecryptable:
        return None
    if renewed is not None:
        push.replace_private_key(connection, id=newest.id, known=newest.private_key, private_key=renewed)
    return newest.id, newest.public_key


def _new(connection: Connection, pair: KeyPair, ring: Sequence[str]) -> tuple[int, bytes]:
    private = encryption.encrypt(ring, pair.private)
    return push.create_key(connection, public_key=pair.public, private_key=private), pair.public
