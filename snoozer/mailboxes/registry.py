"""USE CASE of connected mailboxes: checked at their server, then connected, changed and disconnected.

A check never runs within a transaction: the mail server may take its time. The password leaves the request that brought
it only as it goes to the server, and encrypted into the database; so does the refresh token of a sign-in by OAuth.
"""

import socket
import ssl
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast

from sqlalchemy import Connection, Engine

from snoozer.db import mailboxes
from snoozer.db.mailboxes import Choices, NewMailbox
from snoozer.db.queries import mailboxes as queries
from snoozer.mailboxes import mail_providers
from snoozer.mailboxes.imap import connection as imap
from snoozer.mailboxes.imap.connection import DEFAULT_TIMEOUT, Connect, Login, Server, no_failpoint
from snoozer.mailboxes.imap.errors import Code, ImapError
from snoozer.mailboxes.imap.transport import NEVER
from snoozer.mailboxes.problems import Problem, explain
from snoozer.runtime import encryption, outbound
from snoozer.runtime.encryption import Undecryptable
from snoozer.runtime.failpoint import FailpointHook
from snoozer.runtime.oauth import AccessTokens, OAuthError, Providers
from snoozer.runtime.outbound import OutboundError
from snoozer.translations import N_, gettext

MAX_MAILBOXES = 10
# Timeouts for one reply, and for a whole check.
REPLY_SECONDS = 10.0
CHECK_SECONDS = 25.0

_NO_IDLE = N_(
    "The server does not report changes by itself, so a message that you move is noticed within some minutes."
)
_NO_MOVE = N_(
    "The server cannot move messages in one step, so an original stays marked as deleted until a mail program "
    "cleans up."
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a check. `problem` is None if the mailbox works; `notes` are sentences about what its server cannot
    do, `left_out` names of times for which it has no folder."""

    problem: Problem | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def no_room() -> str:
    """A sentence for a person who has connected the maximum number of mailboxes."""
    return gettext("%(count)s mailboxes are connected, which is the limit. Disconnect one first.", count=MAX_MAILBOXES)


class NotConnected(Exception):
    """The account may connect no mailbox. The text is a sentence for people."""


@dataclass(frozen=True, kw_only=True)
class RefreshToken:
    """The refresh token of a sign-in at a provider, from which access tokens are made."""

    provider: str
    text: str = field(repr=False)


class StoredMailbox(Protocol):
    """A mailbox as it was read from the database. `secret` is the encrypted password, or the refresh token where
    `login_method` is the name of a provider."""

    @property
    def id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def security(self) -> Literal["tls", "starttls", "plain"]: ...
    @property
    def username(self) -> str: ...
    @property
    def login_method(self) -> str: ...
    @property
    def secret(self) -> bytes: ...


class Logins:
    """Makes logins of stored secrets. A process has one, which keeps access tokens in memory; threads share it."""

    def __init__(self, engine: Engine, *, key_ring: Sequence[str], providers: Providers) -> None:
        self._engine, self._ring, self._providers = engine, key_ring, providers
        self._tokens = AccessTokens()
        # Refresh tokens that could not be stored because the database was away, with the secret that each replaces.
        self._unstored: dict[int, tuple[bytes, str]] = {}

    def login(self, mailbox: StoredMailbox) -> Login:
        """By password, or by an access token that is valid for some minutes at least. Raises ImapError (`login`,
        `sign_in`, `oauth_client`, `oauth_away`, `gone`)."""
        if mailbox.login_method == "password":
            return Login(mailbox.username, self._decrypted(mailbox.secret, code="login"))
        with self._tokens.lock(mailbox.id):
            return Login(mailbox.username, access_token=self._access_token(mailbox.id))

    def forget(self, mailbox: StoredMailbox) -> None:
        """The server refused the access token: the next login uses a new one."""
        self._tokens.forget(mailbox.id)

    def _access_token(self, id: int) -> str:
        name, secret = self._stored(id)
        if known := self._tokens.find(id, secret=secret):
            return known
        refresh_token = stored = self._decrypted(secret, code="sign_in")
        if (unstored := self._unstored.get(id)) and unstored[0] == secret:
            refresh_token = unstored[1]
        try:
            grant = self._providers.refresh(name, refresh_token=refresh_token)
        except OAuthError as error:
            if error.code == "sign_in" and self._stored(id)[1] != secret:
                # In the meantime, another process stored a newer token, or the owner signed in again.
                return self._access_token(id)
            raise ImapError(_OAUTH_CODES[error.code], str(error)) from None
        if grant.refresh_token != stored or not encryption.is_current(self._ring, secret):
            self._unstored[id] = (secret, grant.refresh_token)
            secret = self._replaced(id, secret, grant.refresh_token)
            del self._unstored[id]
        self._tokens.keep(id, secret=secret, grant=grant)
        return grant.access_token

    def _stored(self, id: int) -> tuple[str, bytes]:
        with self._engine.begin() as connection:
            row = queries.secret(connection, id=id)
        if row is None or row.login_method == "password":
            raise ImapError("gone", "The mailbox was disconnected, or its login was changed.")
        return row.login_method, bytes(row.secret)

    def _replaced(self, id: int, known: bytes, refresh_token: str) -> bytes:
        secret = encryption.encrypt(self._ring, refresh_token)
        with self._engine.begin() as connection:
            return secret if mailboxes.replace_secret(connection, id=id, known=known, secret=secret) else known

    def _decrypted(self, secret: bytes, *, code: Code) -> str:
        try:
            return encryption.decrypt(self._ring, secret)
        except Undecryptable as error:
            raise ImapError(code, str(error)) from None


_OAUTH_CODES: dict[str, Code] = {
    "sign_in": "sign_in",
    "client": "oauth_client",
    "away": "oauth_away",
    "no_refresh_token": "sign_in",
}


def server_of(mailbox: StoredMailbox) -> Server:
    """The server of a stored mailbox."""
    return Server(mailbox.host, mailbox.port, mailbox.security)


def open_mailbox(
    mailbox: StoredMailbox,
    logins: Logins,
    *,
    connect: Connect,
    timeout: float = DEFAULT_TIMEOUT,
    tls: ssl.SSLContext | None = None,
    without: Collection[str] = (),
    failpoint: FailpointHook = no_failpoint,
    deadline: float = NEVER,
) -> imap.Connection:
    """Return a connection to a stored mailbox, logged in; `connect` comes from `connector`. If its server refuses an
    access token, it is replaced once. `without` names server capabilities that must not be used; no reply is waited for
    beyond `deadline`, by the monotonic clock. Raises ImapError."""
    server = server_of(mailbox)

    def opened() -> imap.Connection:
        login = logins.login(mailbox)
        return imap.open(
            server,
            login,
            connect=connect,
            timeout=timeout,
            tls=tls,
            without=without,
            failpoint=failpoint,
            deadline=deadline,
        )

    try:
        return opened()
    except ImapError as error:
        if error.code != "token":
            raise
    # The provider withdrew the token early.
    logins.forget(mailbox)
    return opened()


def check(
    server: Server,
    login: Login,
    *,
    labels: Sequence[str],
    allow_private: bool,
    tls: ssl.SSLContext | None = None,
    seconds: float = CHECK_SECONDS,
) -> Report:
    """Log in, look whether the inbox can be changed, and make the folders Snoozed, Snooze and one below it for each of
    `labels`. Takes at most about `seconds`, however slow the server is."""
    if refused := _refusal(server, login, allow_private=allow_private):
        return Report(problem=explain(refused, host=server.host, port=server.port))
    connect_once = connector(server, allow_private=allow_private)
    try:
        with ExitStack() as stack:

            def connect_for_a_time(host: str, port: int, timeout: float) -> socket.socket:
                connection = connect_once(host, port, timeout)
                stack.enter_context(outbound.closed_after(connection, seconds))
                return connection

            with imap.open(server, login, connect=connect_for_a_time, timeout=REPLY_SECONDS, tls=tls) as mailbox:
                return _look(mailbox, server, labels=labels)
    except ImapError as error:
        return Report(problem=explain(error.code, host=server.host, port=server.port))


def connector(server: Server, *, allow_private: bool) -> Connect:
    """Return the function that connects to mailboxes: it checks addresses (snoozer.runtime.outbound), and closes a
    connection without TLS unless it is in a private network. It raises ImapError."""

    def connect(host: str, port: int, timeout: float) -> socket.socket:
        try:
            connection = outbound.connect(host, port, allow_private=allow_private, timeout=timeout)
        except OutboundError as error:
            code = "refused_address" if error.code == "port" else error.code
            raise ImapError(cast(Code, code), error.sentence) from error
        if server.security == "plain" and not outbound.is_private(connection.getpeername()[0]):
            connection.close()
            raise ImapError("tls", "Without TLS the password would travel in the clear.")
        return connection

    return connect


def has_room(connection: Connection, *, account_id: int, server: Server, username: str) -> bool:
    """Whether the account may connect this mailbox; asked before a check, which makes folders in it."""
    rows = queries.connected(connection, account_id=account_id)
    return sum((row.host, row.username) != (server.host, username) for row in rows) < MAX_MAILBOXES


def connect(
    connection: Connection,
    *,
    account_id: int,
    address: str,
    server: Server,
    login: Login,
    key_ring: Sequence[str],
    refresh_token: RefreshToken | None = None,
) -> int:
    """Connect a mailbox that was checked; a mailbox that its server and user name identify as known is connected again.
    It is then logged in to by the password, or by `refresh_token`. Returns its id. Raises NotConnected."""
    if not mailboxes.lock_owner(connection, account_id=account_id):
        raise NotConnected(gettext("This account is closed, so no mailbox can be connected to it."))
    if mailboxes.is_taken(connection, host=server.host, username=login.username, account_id=account_id):
        raise NotConnected(
            gettext("Another account of this Snoozer has connected this mailbox. Disconnect it there first.")
        )
    mailbox = NewMailbox(
        address=address,
        host=server.host,
        port=server.port,
        security=server.security,
        username=login.username,
        login_method=refresh_token.provider if refresh_token else "password",
        secret=encryption.encrypt(key_ring, refresh_token.text if refresh_token else login.password),
    )
    id = mailboxes.connect(connection, account_id=account_id, mailbox=mailbox, most=MAX_MAILBOXES)
    if id is None:
        raise NotConnected(no_room())
    return id


def change_password(
    connection: Connection, *, id: int, account_id: int, password: str, key_ring: Sequence[str]
) -> bool:
    """Store a password that was checked; the mailbox is watched again. Returns False when this person has no such
    mailbox."""
    secret = encryption.encrypt(key_ring, password)
    return mailboxes.change_secret(connection, id=id, account_id=account_id, secret=secret)


def sign_in_again(
    connection: Connection, *, id: int, account_id: int, refresh_token: RefreshToken, key_ring: Sequence[str]
) -> bool:
    """Store a refresh token whose access token was checked; the mailbox is watched again. Returns False when this
    person has no such mailbox."""
    secret = encryption.encrypt(key_ring, refresh_token.text)
    return mailboxes.change_secret(
        connection, id=id, account_id=account_id, secret=secret, login_method=refresh_token.provider
    )


def choose(connection: Connection, *, id: int, account_id: int, choices: Choices) -> bool:
    """Change which event brings messages back, and which flag snoozes; takes effect within moments. Returns False if
    this person has no such mailbox."""
    return mailboxes.choose(connection, id=id, account_id=account_id, choices=choices)


def forget(connection: Connection, *, id: int, account_id: int) -> bool:
    """Forget a mailbox that is being disconnected, if its server is no longer reachable: its snoozed messages stay in
    the folder Snoozed. Returns False if this person has no such mailbox."""
    return mailboxes.forget(connection, id=id, account_id=account_id)


def encrypt_anew(connection: Connection, *, id: int, secret: bytes, key_ring: Sequence[str]) -> bool:
    """Encrypt the password of a mailbox with the newest key if it has an older one, unless the password changed in the
    meantime. Returns whether it was stored. Raises Undecryptable."""
    _, anew = encryption.reopen(key_ring, secret)
    return anew is not None and mailboxes.replace_secret(connection, id=id, known=secret, secret=anew)


def disconnect(connection: Connection, *, id: int, account_id: int) -> bool:
    """Return the snoozed messages of the mailbox, then forget it; the process that watches it does both. Returns False
    if this person has no such mailbox."""
    return mailboxes.leave(connection, id=id, account_id=account_id)


def _refusal(server: Server, login: Login, *, allow_private: bool) -> str | None:
    """Check the settings of a server, without connecting to it; return the reason to refuse it."""
    if server.port not in outbound.PORTS and not allow_private:
        return "port"
    if server.security == "plain" and not allow_private:
        return "insecure"
    provider = mail_providers.of_server(server.host)
    is_refused = provider is not None and not provider.takes_passwords and login.access_token is None
    return "no_passwords" if is_refused else None


def _look(mailbox: imap.Connection, server: Server, *, labels: Sequence[str]) -> Report:
    if not mailbox.select("INBOX").can_delete:
        return Report(problem=explain("read_only", host=server.host, port=server.port))
    ours = mailbox.create_folders(labels)
    notes = [
        text
        for text, is_needed in (
            (_NO_IDLE, not mailbox.supports("IDLE")),
            (_NO_MOVE, not mailbox.supports("MOVE") and not mailbox.supports("UIDPLUS")),
        )
        if is_needed
    ]
    return Report(notes=tuple(notes), left_out=ours.left_out)
