"""Ports on loopback. A child's future port is held open, so that no other program takes it in between."""

import socket
from contextlib import nullcontext, suppress

HOST = "127.0.0.1"


def hold(port: int, *, host: str = HOST) -> socket.socket | None:
    """A listening socket on this port (0: any free port), to be inherited by a child; None if it is taken."""
    with suppress(OSError):
        return socket.create_server((host, port), backlog=512)
    return None


def of(held: socket.socket) -> int:
    """The number of a held port."""
    return int(held.getsockname()[1])


def is_free(port: int) -> bool:
    with hold(port) or nullcontext() as held:
        return held is not None


def any_free() -> int:
    with socket.create_server((HOST, 0)) as found:
        return of(found)
