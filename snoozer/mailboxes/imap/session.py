"""IMAPClient over our own connection: one way to run a command and to read its reply, with errors sorted.

This module reads what IMAPClient drops: response codes around and inside the tagged reply (COPYUID), replies to a
literal that the server refuses, FETCH responses without a UID. Only this module uses private names of the pinned
version.
"""

import imaplib
import re
import ssl
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from logging import getLogger
from typing import Any

from imapclient import IMAPClient
from imapclient.imapclient import _literal
from imapclient.response_parser import parse_fetch_response, parse_response

from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.transport import MAX_MESSAGE_BYTES, MAX_REPLY_BYTES, Transport

# IMAPClient logs every line: addresses, subjects, and a password that was sent as a literal.
for _name in ("imapclient.imapclient", "imapclient.imaplib"):
    getLogger(_name).disabled = True

_NO_IMAP = "What answers at this port of the mail server is no IMAP."
_UNREADABLE = "The mail server sent what is no IMAP."
_UNPARSABLE = (ValueError, RecursionError, imaplib.IMAP4.error)
_UID = re.compile(rb"\bUID (\d+)")
# Errors while parsing a reply with valid IMAP syntax whose values break the standard.
_UNUSABLE = (*_UNPARSABLE, TypeError, LookupError, AttributeError, OverflowError)
# UIDs and UIDVALIDITY are of 32 bits.
MAX_NUMBER = 2**32 - 1
# How imaplib words a BAD response.
_BAD = re.compile(r"command error: BAD \[b(['\"])(.*)\1\]\Z", re.DOTALL)


@dataclass(frozen=True)
class Reply:
    """A command's end: whether the server did it, its words, and the untagged responses by name as they came."""

    ok: bool
    text: bytes
    untagged: dict[str, list[Any]]

    def rows(self, name: str) -> Iterator[list[Any]]:
        """The untagged responses of that name, each with its literals."""
        row: list[Any] = []
        for item in self.untagged.get(name, []):
            row.append(item)
            if not isinstance(item, tuple):
                yield row
                row = []

    def parsed(self, name: str) -> Iterator[tuple[Any, ...]]:
        """The same, parsed: nested tuples of bytes, integers and None."""
        with reading():
            rows = [parse_response(row) for row in self.rows(name)]
        yield from rows


@contextmanager
def reading() -> Iterator[None]:
    """Convert parsing errors to ImapError: the server's reply is not what the standard says."""
    try:
        yield
    except _UNUSABLE:
        # `from None`: the original error's text contains what was sent.
        raise ImapError("protocol", _UNREADABLE) from None


class _Imap4(imaplib.IMAP4):
    """The standard library's parser over our transport."""

    def __init__(self, transport: Transport, host: str) -> None:
        self._transport = transport
        super().__init__(host)

    def open(self, host: str = "", port: int = 143, timeout: float | None = None) -> None:
        self.host, self.port, self.sock = host, port, self._transport.socket

    def read(self, size: int) -> bytes:
        return self._transport.read(size)

    def readline(self) -> bytes:
        return self._transport.readline()

    def send(self, data: Any) -> None:
        self._transport.send(data)

    def shutdown(self) -> None:
        self._transport.close()

    def _get_response(self) -> Any:
        try:
            return super()._get_response()  # type: ignore[misc]
        except (ValueError, TypeError) as error:
            # For example, lengths of thousands of digits.
            raise self.abort(type(error).__name__) from None

    def _check_bye(self) -> None:
        bye = self.untagged_responses.get("BYE")
        if bye:
            self._transport.close()
            raise ImapError.from_bye(bye[-1] if isinstance(bye[-1], bytes) else b"")

    def _log(self, line: str) -> None:
        """Do not keep the last lines: they hold subjects and addresses."""


class Session(IMAPClient):  # type: ignore[misc]
    """A greeted connection. `without` names capabilities that are treated as if the server did not have them."""

    def __init__(self, transport: Transport, host: str, *, without: Collection[str] = ()) -> None:
        self.transport = transport
        self._without = frozenset(name.upper() for name in without)
        self._offered: tuple[bytes, ...] | None = None
        try:
            super().__init__(host, ssl=False)
        except imaplib.IMAP4.error as error:
            transport.close()
            raise _greeting_failed(error) from None
        self._imap.debug = 0

    def _create_IMAP4(self) -> _Imap4:  # noqa: N802  # of IMAPClient
        return _Imap4(self.transport, self.host)

    def _set_read_timeout(self) -> None:
        """Do nothing: the transport ends every wait."""

    def capabilities(self) -> tuple[bytes, ...]:
        offered = self._offered or tuple(str(name).encode() for name in self._imap.capabilities)
        return tuple(name for name in offered if name.decode("ascii", "replace") not in self._without)

    def masks(self, capability: str) -> bool:
        return capability in self._without

    def ask_capabilities(self) -> None:
        """Ask for the capabilities again: some servers offer more after TLS and after the login."""
        reply = self.run("CAPABILITY")
        offered = [word for row in reply.untagged.get("CAPABILITY", []) for word in bytes(row).upper().split()]
        if not reply.ok or not offered:
            raise ImapError.from_reply("did not say what it can do", reply.text)
        self._offered = tuple(offered)

    @property
    def is_logged_in(self) -> bool:
        return bool(self._imap.state != "NONAUTH")

    def start_tls(self, context: ssl.SSLContext) -> None:
        """STARTTLS. Raise ImapError if it fails: the session never continues without TLS."""
        if self.is_logged_in or not self.has_capability("STARTTLS"):
            raise ImapError("tls", "The mail server offers no STARTTLS at this port.")
        reply = self.run("STARTTLS")
        if not reply.ok:
            raise ImapError("tls", "The mail server refused STARTTLS.")
        self.transport.start_tls(context, self.host)

    def run(self, command: str, *args: bytes, uid: bool = False) -> Reply:
        """One command to its end. Raises ImapError when the connection dies or the reply is no IMAP; NO and BAD are
        replies."""
        self._begin(max_bytes=MAX_MESSAGE_BYTES if command == "FETCH" else MAX_REPLY_BYTES)
        try:
            status, data = self._raw_command(command.encode(), list(args), uid=uid)
        except imaplib.IMAP4.error as error:
            return self._ended_by(error)
        return self._reply(status, data)

    def run_in_a_row(self, commands: Sequence[tuple[str, bytes, bytes]]) -> list[Reply]:
        """Several commands sent at once, then their replies; the untagged responses are in the last one."""
        self._begin()
        tags = [self._imap._command(*command) for command in commands]
        return [self._end_of(name, tag) for tag, (name, *_) in zip(tags, commands, strict=True)]

    def run_at_once(self, commands: Sequence[tuple[bytes, ...]]) -> list[Reply]:
        """Several commands about the selected folder, without literals, in one round trip. Each reply has the untagged
        responses of all."""
        self._begin()
        tags = [self._imap._new_tag() for _ in commands]
        for tag, words in zip(tags, commands, strict=True):
            self._imap.send(b" ".join([tag, *words]) + b"\r\n")
        ends = [self._end_of(words[0].decode(), tag) for tag, words in zip(tags, commands, strict=True)]
        untagged = ends[-1].untagged
        return [replace(end, untagged=untagged) for end in ends]

    def _end_of(self, command: str, tag: bytes) -> Reply:
        try:
            status, data = self._imap._command_complete(command, tag)
        except imaplib.IMAP4.abort as error:
            raise self._broken(error) from None
        except imaplib.IMAP4.error as error:
            return self._ended_by(error)
        return self._reply(status, data)

    def authenticate(self, mechanism: str, response: bytes) -> Reply:
        """AUTHENTICATE with one response; any further challenge gets an empty one."""
        self._begin()
        answers = iter([response])
        try:
            status, data = self._imap.authenticate(mechanism, lambda _: next(answers, b""))
        except imaplib.IMAP4.error as error:
            return self._ended_by(error)
        return self._reply(status, data)

    def logged_in(self) -> None:
        """Must be called after a LOGIN that `run` sent."""
        self._imap.state = "AUTH"

    def begin(self, command: str) -> tuple[bytes, list[bytes]]:
        """A command that waits for "+" (IDLE): its tag, and the lines that came before the "+". Raises ImapError."""
        self._begin()
        tag: bytes = self._imap._command(command)
        lines: list[bytes] = []
        try:
            while (line := self._imap._get_response()) is not None:
                if ended := self._imap.tagged_commands.get(tag):
                    raise ImapError.from_reply(f"refused {command}", ended[1][0])
                lines.append(line)
        except imaplib.IMAP4.error as error:
            raise self._broken(error) from None
        del self._imap.tagged_commands[tag]
        return tag, lines

    def _begin(self, *, max_bytes: int = MAX_REPLY_BYTES) -> None:
        self._imap.untagged_responses = {}
        self._imap.tagged_commands = {}
        self.transport.begin_reply(max_bytes=max_bytes)

    def _reply(self, status: str, data: Sequence[Any]) -> Reply:
        untagged = dict(self._imap.untagged_responses)
        if self.masks("UIDPLUS"):
            untagged.pop("COPYUID", None)
            untagged.pop("APPENDUID", None)
        text = data[-1] if data and isinstance(data[-1], bytes) else b""
        return Reply(ok=status == "OK", text=text, untagged=untagged)

    def _ended_by(self, error: imaplib.IMAP4.error) -> Reply:
        """The reply in an exception: BAD, or a NO to the announcement of a literal."""
        ended = [result for result in self._imap.tagged_commands.values() if result]
        if isinstance(error, imaplib.IMAP4.abort):
            if not ended:
                raise self._broken(error) from None
            return self._reply("NO", ended[-1][1])
        bad = _BAD.search(str(error))
        return self._reply("BAD", [(bad[2] if bad else str(error)).encode("utf-8", "replace")])

    def _broken(self, error: Exception) -> ImapError:
        self.transport.close()
        return ImapError("protocol", _UNREADABLE)


def quoted(text: str) -> bytes:
    """A folder's raw name, or any other text, as an argument: quoted, or as a literal if necessary."""
    data = text.encode("utf-8", "surrogateescape")
    if any(byte > 126 or byte < 32 for byte in data):
        literal: bytes = _literal(data)
        return literal
    return b'"' + data.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def as_literal(data: bytes) -> bytes:
    """An argument that is always sent as a literal."""
    literal: bytes = _literal(data)
    return literal


def fetched(reply: Reply) -> dict[int, dict[bytes, Any]]:
    """The FETCH responses by UID.

    Responses without a UID are dropped: they carry only the message's number in the folder, and other programs' changes
    of flags come in this form at any time.
    """
    found: dict[int, dict[bytes, Any]] = {}
    with reading():
        for row in reply.rows("FETCH"):
            for values in parse_fetch_response(row, normalise_times=False, uid_is_key=False).values():
                if b"UID" in values:
                    found.setdefault(values[b"UID"], {}).update(values)
    return found


def fetched_leniently(reply: Reply) -> dict[int, dict[bytes, Any]]:
    """As `fetched`, for replies with structures of strangers' messages; unparsable ones keep only their UID."""
    found: dict[int, dict[bytes, Any]] = {}
    for row in reply.rows("FETCH"):
        try:
            for values in parse_fetch_response(row, normalise_times=False, uid_is_key=False).values():
                if b"UID" in values:
                    found.setdefault(values[b"UID"], {}).update(values)
        except (*_UNPARSABLE, LookupError, TypeError, AttributeError):
            around_literals = b" ".join(item[0] if isinstance(item, tuple) else item for item in row)
            if uid := _UID.search(around_literals):
                found.setdefault(int(uid[1]), {})
    return found


def _greeting_failed(error: imaplib.IMAP4.error) -> ImapError:
    greeting = error.args[0] if error.args else b""
    if isinstance(greeting, bytes) and greeting.upper().startswith(b"* BYE"):
        return ImapError.from_bye(greeting[5:].strip())
    return ImapError("protocol", _NO_IMAP)
