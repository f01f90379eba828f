"""USE CASE of signing in to a mailbox at its provider: begun in a session, finished there once, by a POST.

The provider is asked outside of transactions. The state between the two requests is in the database, under the hash of
`state` and of the session: a callback in another browser finds nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from snoozer.db import mailbox_sign_ins
from snoozer.db.mailbox_sign_ins import PendingSignIn
from snoozer.runtime import encryption
from snoozer.runtime.encryption import Undecryptable
from snoozer.runtime.oauth import Grant, Providers
from snoozer.runtime.oauth_clients import Name
from snoozer.runtime.secret_keys import digest

MAX_CODE_LENGTH = 4_000
MAX_STATE_LENGTH = 200


@dataclass(frozen=True, kw_only=True)
class Session:
    """The account that signs in, and its browser."""

    account_id: int
    token_hash: str = field(repr=False)


def begin(
    connection: Connection,
    session: Session,
    *,
    provider: Name,
    address: str,
    mailbox_id: int | None,
    redirect_uri: str,
    providers: Providers,
    key_ring: Sequence[str],
) -> str:
    """Keep a new sign-in; returns the provider's page to which the browser goes."""
    sign_in = providers.begin(provider, redirect_uri=redirect_uri, address=address)
    pending = PendingSignIn(
        mailbox_id=mailbox_id,
        provider=provider,
        address=address,
        verifier=encryption.encrypt(key_ring, sign_in.verifier),
    )
    mailbox_sign_ins.begin(
        connection,
        pending,
        state_hash=digest(sign_in.state),
        session_hash=session.token_hash,
        account_id=session.account_id,
    )
    return sign_in.url


def find(connection: Connection, session: Session, *, state: str) -> PendingSignIn | None:
    """The sign-in that this session began with this state; nothing is changed."""
    return mailbox_sign_ins.find(
        connection, state_hash=digest(state), session_hash=session.token_hash, account_id=session.account_id
    )


def take(connection: Connection, session: Session, *, state: str) -> PendingSignIn | None:
    """As `find`, and no later request finds it again."""
    return mailbox_sign_ins.finish(
        connection, state_hash=digest(state), session_hash=session.token_hash, account_id=session.account_id
    )


def exchange(
    pending: PendingSignIn, *, code: str, redirect_uri: str, providers: Providers, key_ring: Sequence[str]
) -> Grant | None:
    """The tokens that the provider gives for its code; None if the sign-in was encrypted with a key that is gone.
    Raises OAuthError."""
    try:
        verifier = encryption.decrypt(key_ring, pending.verifier)
    except Undecryptable:
        return None
    return providers.exchange(pending.provider, code=code, verifier=verifier, redirect_uri=redirect_uri)
