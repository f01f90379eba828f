"""The one exception for errors of a mailbox at its server; its codes are sorted by what a program or a
person can do."""

import re
import socket
import ssl
from typing import Literal, Self

from snoozer.mail import headers

Code = Literal[
    "name",  # the server's name leads nowhere
    "unreachable",
    "refused_address",  # by the check of outbound connections
    "certificate",
    "tls",
    "login",
    "token",  # the server refuses the access token
    "sign_in",  # the provider gives no access token before its owner signs in again
    "oauth_client",  # the provider does not know this Snoozer
    "oauth_away",  # the provider gives no access tokens at the moment
    "throttled",
    "protocol",
    "gone",  # the connection is dead: open another one
    "quota",
    "no_folder",
    "denied",
    "uidvalidity",  # the UIDs that are known of the folder mean nothing any more
]

MAX_REPLY_LENGTH = 300
# The longest wait that we accept from a server's request to slow down.
MAX_WAIT_SECONDS = 3_600.0

_CODE = re.compile(r"\[([A-Z][A-Z0-9-]*)[^\]]*\]", re.IGNORECASE)
_BY_CODE: dict[str, Code] = {
    "UNAVAILABLE": "throttled",
    "INUSE": "throttled",
    "LIMIT": "throttled",
    "THROTTLED": "throttled",
    "SERVERBUG": "throttled",
    "AUTHENTICATIONFAILED": "login",
    "AUTHORIZATIONFAILED": "login",
    "EXPIRED": "login",
    "WEBALERT": "login",
    "PRIVACYREQUIRED": "tls",
    "OVERQUOTA": "quota",
    "TRYCREATE": "no_folder",
    "NONEXISTENT": "no_folder",
    "NOPERM": "denied",
    "READ-ONLY": "denied",
    "CANNOT": "denied",
}
# "User is authenticated but not connected" is what Microsoft replies while it throttles or while a right is missing.
_THROTTLING = re.compile(
    r"too many|throttl|rate limit|try (?:again|later)|temporar|authenticated but not connected"
    r"|(?:maximum|max\.?) (?:number|connections)|exceed\w* .*(?:connection|session|bandwidth|command)"
    r"|server (?:is )?busy",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"over ?quota|quota (?:is )?exceeded|mailbox (?:is )?full", re.IGNORECASE)
_DENIED = re.compile(r"permission denied|not permitted|access denied|read-only", re.IGNORECASE)
_NO_FOLDER = re.compile(r"(?:mailbox|folder) (?:does(?:n't| not)|not) (?:exist|found)|no such (?:mailbox|folder)", re.I)
_BACKOFF = re.compile(r"Backoff Time: (\d{1,9}) ?(?:ms|milliseconds)?", re.IGNORECASE)
_AGAIN_IN = re.compile(r"\b(?:in|after) (\d{1,6}) ?(ms|milliseconds?|s|sec\w*|m|min\w*)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"']+@[^\s<>()\[\],;:\"']+")


class ImapError(Exception):
    """`code` is for programs, `sentence` for people; neither holds an address or a password.

    `seconds` is how long the server asks us to stay away, if it says so.
    """

    def __init__(self, code: Code, sentence: str, *, seconds: float | None = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.seconds = seconds

    @classmethod
    def from_reply(cls, did: str, reply: bytes | str) -> Self:
        """The server's NO or BAD to something we asked for. `did` begins the sentence: "refused to move messages"."""
        text = _text(reply)
        code = _sorted(text, otherwise="protocol")
        return cls(code, f"The mail server {did}: {_shown(text)}", seconds=_seconds(text))

    @classmethod
    def from_login(cls, reply: bytes | str, *, by_token: bool = False) -> Self:
        """The server's NO or BAD to a login. Its text is not repeated: it may hold what was sent."""
        text = _text(reply)
        code = _sorted(text, otherwise="login")
        if code == "throttled":
            return cls(code, "The mail server accepts no login at the moment.", seconds=_seconds(text))
        if code == "tls":
            return cls(code, "The mail server accepts a password over TLS only.")
        if by_token:
            return cls("token", "The mail server did not accept this sign-in.")
        return cls("login", "The mail server did not accept this name and password.")

    @classmethod
    def from_bye(cls, reply: bytes | str) -> Self:
        """The server ends the connection."""
        text = _text(reply)
        code: Code = "throttled" if _sorted(text, otherwise="gone") == "throttled" else "gone"
        return cls(code, f"The mail server ended the connection: {_shown(text)}", seconds=_seconds(text))


def connecting_failed(error: OSError | UnicodeError) -> ImapError:
    """The error for a failed connection to the server."""
    if isinstance(error, socket.gaierror | UnicodeError):
        return ImapError("name", "There is no mail server of this name.")
    if isinstance(error, TimeoutError):
        return ImapError("unreachable", "The mail server did not answer in time.")
    if isinstance(error, ConnectionRefusedError):
        return ImapError("unreachable", "Nothing answers at this port of the mail server.")
    return ImapError("unreachable", "The mail server cannot be reached.")


def handshake_failed(error: OSError | ValueError) -> ImapError:
    """The error for a failed TLS handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return ImapError("certificate", f"The mail server's certificate was not accepted: {error.verify_message}.")
    if isinstance(error, TimeoutError):
        return ImapError("tls", "TLS with the mail server was not ready in time.")
    return ImapError("tls", "The mail server does not speak TLS at this port.")


def response_codes(reply: bytes | str) -> frozenset[str]:
    """The codes in brackets of a reply's text, such as CANNOT (RFC 5530)."""
    return frozenset(found.upper() for found in _CODE.findall(_text(reply)))


def _sorted(text: str, *, otherwise: Code) -> Code:
    for code in response_codes(text):
        known = _BY_CODE.get(code)
        if known is not None:
            return known
    for pattern, meaning in _BY_TEXT:
        if pattern.search(text):
            return meaning
    return otherwise


_BY_TEXT: tuple[tuple[re.Pattern[str], Code], ...] = (
    (_THROTTLING, "throttled"),
    (_QUOTA, "quota"),
    (_NO_FOLDER, "no_folder"),
    (_DENIED, "denied"),
)


def _seconds(text: str) -> float | None:
    if found := _BACKOFF.search(text):
        return min(int(found[1]) / 1_000, MAX_WAIT_SECONDS)
    if found := _AGAIN_IN.search(text):
        unit = found[2].lower()
        factor = 0.001 if unit in ("ms", "millisecond", "milliseconds") else 60 if unit.startswith("m") else 1
        return min(int(found[1]) * factor, MAX_WAIT_SECONDS)
    return None


def _text(reply: bytes | str) -> str:
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply


def _shown(text: str) -> str:
    """The server's words on one line, every address masked."""
    masked = _ADDRESS.sub("…@…", headers.sanitize_line(text, limit=4 * MAX_REPLY_LENGTH))
    return headers.sanitize_line(masked, limit=MAX_REPLY_LENGTH) or "no reason given."
