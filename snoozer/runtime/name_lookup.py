"""Looks up names with a timeout: `getaddrinfo` has none, and a silent name server blocks its caller for as long as the
machine's resolver waits, tens of seconds."""

import socket
import threading
from collections.abc import Sequence
from typing import Any

# Lookups that timed out go on in their threads; no more lookups than this run at once.
MAX_LOOKUPS = 64

Found = Sequence[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]]

_free = threading.BoundedSemaphore(MAX_LOOKUPS)


class LookupTimeout(OSError):
    """The name server gave no answer in time."""


def addresses(host: str, port: int, *, timeout: float) -> Found:
    """The result of `socket.getaddrinfo` for TCP. Raises OSError or UnicodeError as it does, and LookupTimeout."""
    if not _free.acquire(blocking=False):
        raise LookupTimeout
    answers: list[Found | OSError | UnicodeError] = []

    def look_up() -> None:
        try:
            answers.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP))
        except (OSError, UnicodeError) as error:
            answers.append(error)
        finally:
            _free.release()

    thread = threading.Thread(target=look_up, name="name lookup", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        _free.release()
        raise LookupTimeout from None
    thread.join(timeout)
    if not answers:
        raise LookupTimeout
    if isinstance(answers[0], Exception):
        raise answers[0]
    return answers[0]
