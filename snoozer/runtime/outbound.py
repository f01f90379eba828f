"""The only way to connect to a host that a person names: resolve once, check, and connect to the checked addresses."""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Timer
from typing import Literal

from snoozer.runtime import name_lookup
from snoozer.runtime.name_lookup import LookupTimeout

# Ports that we may connect to for IMAP, and for the web (snoozer.runtime.outbound_http).
PORTS = frozenset({143, 993})
WEB_PORTS = frozenset({443})
MAX_HOST_LENGTH = 253

Code = Literal["name", "port", "refused_address", "unreachable"]
Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Listed here, because ipaddress.is_global answers differently in different releases of Python.
_PRIVATE: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",  # behind a provider's NAT
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1/128",
        "fc00::/7",
    )
)
_NEVER: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.100.100.200/32",  # metadata of a cloud, as are 168.63.129.16, 169.254.169.254 and fd00:ec2::/32
        "168.63.129.16/32",
        "169.254.0.0/16",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "fd00:ec2::/32",
        "2001::/23",  # Teredo among others
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


class OutboundError(Exception):
    """No connection was made. `code` is for programs, the text a sentence for people."""

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


def connect(
    host: str, port: int, *, allow_private: bool, timeout: float, ports: frozenset[int] = PORTS
) -> socket.socket:
    """Returns a TCP connection to a host that a person named; all its addresses together take at most `timeout`
    seconds, and so does each later read or write. Raises OutboundError.

    One address that may not be used refuses the whole name. `allow_private` allows the networks of a home or a company,
    this machine, and ports other than `ports`.
    """
    until = time.monotonic() + timeout
    addresses = resolve(host, port, allow_private=allow_private, timeout=timeout, ports=ports)
    for family, address in addresses:
        with suppress(OSError), ExitStack() as unless_connected:
            connection = unless_connected.enter_context(socket.socket(family, socket.SOCK_STREAM))
            connection.settimeout(max(until - time.monotonic(), 0.001))
            connection.connect(address)
            connection.settimeout(timeout)
            unless_connected.pop_all()
            return connection
    raise OutboundError("unreachable", f"Nothing answers at {host}, port {port}.")


def resolve(
    host: str, port: int, *, allow_private: bool, timeout: float, ports: frozenset[int] = PORTS
) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    """The addresses of a host, each of which may be connected to. Raises OutboundError."""
    if not 0 < port < 65_536 or (port not in ports and not allow_private):
        raise OutboundError("port", f"Port {port} is not one that is connected to: IMAP uses 993 or 143, the web 443.")
    if not host or len(host) > MAX_HOST_LENGTH or not host.isprintable() or any(char.isspace() for char in host):
        raise OutboundError("name", "The server needs a name, as in imap.example.org.")
    try:
        found = name_lookup.addresses(host, port, timeout=timeout)
    except LookupTimeout:
        raise OutboundError("unreachable", f"The name {host} could not be looked up in time.") from None
    except (OSError, UnicodeError):
        # UnicodeError: a part of the name is empty or longer than 63 characters.
        raise OutboundError("name", f"There is no host of the name {host}.") from None
    if not all(is_allowed(str(address[0]), allow_private=allow_private) for *_, address in found):
        raise OutboundError(
            "refused_address",
            f"{host} leads to an address of a private or reserved network, and this Snoozer does not connect to it.",
        )
    return [(family, address) for family, *_, address in found]


def is_allowed(text: str, *, allow_private: bool) -> bool:
    """Whether connections to an address may be made: public addresses, and with `allow_private` private networks; never
    link-local, multicast, reserved or metadata addresses, nor IPv6 addresses that embed one."""
    address = _innermost(ip_address(text))
    if any(address in network for network in _NEVER):
        return False
    if is_private(str(address)):
        return allow_private
    return address.version == 4 or address in _PUBLIC_V6


def is_private(text: str) -> bool:
    """Whether an address is of this machine or of a private network."""
    address = _innermost(ip_address(text))
    return any(address in network for network in _PRIVATE)


@contextmanager
def closed_after(connection: socket.socket, seconds: float) -> Iterator[None]:
    """Ends a connection that is still in use after `seconds`, however slowly its other side keeps sending; even if the
    socket has been wrapped for TLS since."""
    with connection.dup() as same:
        timer = Timer(seconds, _shut_down, [same])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _innermost(address: Address) -> Address:
    """The IPv4 address embedded in an IPv6 address, or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else address


@cache
def tls_context() -> ssl.SSLContext:
    """The system's certificate authorities, shared: a context for each connection would cost 880 kB and 58 ms."""
    return ssl.create_default_context()
