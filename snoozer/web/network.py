"""The origin of a request for quotas and the security log: an id that does not reveal the address."""

import hmac
import ipaddress

from flask import request

from snoozer.runtime.secret_keys import derive
from snoozer.web import context


def network_id() -> str:
    """Returns the same 16 characters for the same network: an IPv4 address, or 64 bits of an IPv6 address."""
    key = derive(context.settings().keys[0], purpose=b"snoozer network")
    return hmac.digest(key, _network(request.remote_addr or "").encode(), "sha256").hex()[:16]


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found.ipv4_mapped if found.version == 6 else found)
