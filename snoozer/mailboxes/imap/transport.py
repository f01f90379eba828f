"""Bytes of an IMAP connection: a connected socket, TLS, a read buffer of our own, and an end to every wait.

The buffer is ours because a selector sees the socket only: it would not report bytes that were already read, or that
lie decrypted inside the TLS object. Raises ImapError.
"""

import socket
import ssl
import time
from contextlib import suppress

from snoozer.mailboxes.imap.errors import ImapError, handshake_failed

MAX_LINE_BYTES = 1_000_000
# Limit for one reply that shows messages; twice the largest mail that servers accept.
MAX_MESSAGE_BYTES = 128 * 1024 * 1024
# Limit for any other reply, and for everything except message bytes in such a reply: lists of folders and numbers,
# structures. Parsed, it takes many times as much memory.
MAX_REPLY_BYTES = 8 * 1024 * 1024
MAX_REPLY_LINES = 100_000
# Limit for the events of one IDLE, which are read by a thread that all mailboxes share.
MAX_EVENT_BYTES = 1024 * 1024
# A reply may take this many times the timeout, as long as bytes keep coming.
MAX_SLOWNESS = 10

NEVER = float("inf")

_CHUNK = 65_536


class Transport:
    """One connection. After an error it is closed, and everything raises `gone`. No reply is waited for beyond
    `deadline`, by the monotonic clock."""

    def __init__(self, connected: socket.socket, *, timeout: float, deadline: float = NEVER) -> None:
        self.socket = connected
        self.alive = True
        self.deadline = deadline
        # When the server was heard last, and since when a thread has waited for it; None while none waits.
        self.heard_at = time.monotonic()
        self.waits_since: float | None = None
        self._timeout = timeout
        self._buffer = bytearray()
        self._unsent = bytearray()
        self._reply_ends = 0.0
        self._reply_bytes = self._reply_lines = self._reply_text = 0
        self._max_bytes = MAX_REPLY_BYTES
        self._partial_since: float | None = None
        self.begin_reply()

    def begin_reply(self, *, max_bytes: int = MAX_REPLY_BYTES) -> None:
        """A new command begins: reset the limits of time and bytes for its reply."""
        self._reply_ends = time.monotonic() + MAX_SLOWNESS * self._timeout
        self._reply_bytes = self._reply_lines = self._reply_text = 0
        self._max_bytes = max_bytes

    def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Do the handshake, and verify the certificate for the server's name."""
        if self._buffer:
            raise self._fail(ImapError("tls", "The mail server sent something before TLS began."))
        try:
            self.socket.settimeout(self._timeout)
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        except (OSError, ValueError) as error:
            raise self._fail(handshake_failed(error)) from error

    def send(self, data: bytes) -> None:
        """Buffer data until a reply is awaited, or until `flush`: a command in pieces would cost 40 ms each."""
        self._unsent += data
        if len(self._unsent) > _CHUNK:
            self.flush()

    def flush(self) -> None:
        """Return when the operating system has every byte."""
        self._require_alive()
        data, self._unsent = self._unsent, bytearray()
        try:
            self.socket.settimeout(self._timeout)
            self.socket.sendall(data)
        except OSError as error:
            raise self._fail(ImapError("gone", "The connection to the mail server broke.")) from error

    def send_last(self, data: bytes) -> None:
        """Send as much as the operating system takes at once; never raises, never waits."""
        if self.alive:
            with suppress(OSError):
                self.socket.setblocking(False)
                self.socket.send(self._unsent + data)

    def readline(self) -> bytes:
        """One line with its end."""
        self._reply_lines += 1
        if self._reply_lines > MAX_REPLY_LINES:
            raise self._fail(ImapError("protocol", "The mail server's reply did not end."))
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > MAX_LINE_BYTES:
                raise self._fail(ImapError("protocol", "The mail server sent a line without an end."))
            self._receive()
        self._reply_text += end + 1
        if self._reply_text > MAX_REPLY_BYTES:
            raise self._fail(ImapError("protocol", "The mail server's reply did not end."))
        return self._take(end + 1)

    def read(self, size: int) -> bytes:
        """Read exactly this many bytes."""
        if size > self._max_bytes - self._reply_bytes + len(self._buffer):
            raise self._fail(ImapError("protocol", "The mail server sent more than a message may be long."))
        while len(self._buffer) < size:
            self._receive()
        return self._take(size)

    def has_input(self) -> bool:
        """Whether there is a line that a selector would not report: it was read, or decrypted, already."""
        pending = self.socket.pending() if isinstance(self.socket, ssl.SSLSocket) else 0
        return b"\n" in self._buffer or pending > 0

    def available_lines(self) -> list[bytes]:
        """The complete lines received so far, without waiting. Raises ImapError if the connection ended, or if the rest
        of a line did not arrive within the timeout."""
        ended = self._drain()
        lines = []
        while (end := self._buffer.find(b"\n")) >= 0:
            lines.append(self._take(end + 1))
        if ended and not lines:
            raise self._fail(ImapError("gone", "The mail server hung up."))
        self._check_partial(new=bool(lines))
        return lines

    def close(self) -> None:
        """Never raises, never waits."""
        self.alive = False
        with suppress(OSError):
            self.socket.close()

    def _drain(self) -> bool:
        """Read all available bytes into the buffer. Return True at the end of the stream."""
        self._require_alive()
        try:
            self.socket.setblocking(False)
            while data := self.socket.recv(_CHUNK):
                self._accept(data, limit=MAX_EVENT_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError:
            return True
        return True

    def _check_partial(self, *, new: bool) -> None:
        now = time.monotonic()
        if not self._buffer:
            self._partial_since = None
        elif self._partial_since is None or new:
            self._partial_since = now
        elif now - self._partial_since > self._timeout:
            raise self._fail(ImapError("gone", "The mail server sent half a line and nothing more."))

    def _receive(self) -> None:
        """Read some more bytes into the buffer."""
        self._require_alive()
        if self._unsent:
            self.flush()
        left = min(self._timeout, min(self._reply_ends, self.deadline) - time.monotonic())
        if left <= 0:
            raise self._fail(ImapError("gone", "The mail server's reply did not end."))
        try:
            self.socket.settimeout(left)
            self.waits_since = time.monotonic()
            data = self.socket.recv(_CHUNK)
        except TimeoutError as error:
            raise self._fail(ImapError("gone", "The mail server gave no answer in time.")) from error
        except OSError as error:
            raise self._fail(ImapError("gone", "The connection to the mail server broke.")) from error
        finally:
            self.waits_since = None
        if not data:
            raise self._fail(ImapError("gone", "The mail server hung up."))
        self._accept(data)

    def _accept(self, data: bytes, *, limit: int | None = None) -> None:
        self.heard_at = time.monotonic()
        self._buffer += data
        self._reply_bytes += len(data)
        if self._reply_bytes > (limit or self._max_bytes):
            raise self._fail(ImapError("protocol", "The mail server's reply did not end."))

    def _take(self, size: int) -> bytes:
        with memoryview(self._buffer) as held:
            taken = bytes(held[:size])
        del self._buffer[:size]
        return taken

    def _require_alive(self) -> None:
        if not self.alive:
            raise ImapError("gone", "The connection to the mail server is closed.")

    def _fail(self, error: ImapError) -> ImapError:
        self.close()
        return error
