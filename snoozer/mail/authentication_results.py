"""RULE: whether the receiving mail server proved by DMARC that a mail is from the address that it names.

Everybody can write the field (RFC 8601), so only the topmost field of the configured host counts, and that host has
to remove others with its name. The text is read strictly: an odd one is no proof, and neither is a field below it. An
address that is not ASCII before the @ is not proven either, because another person may have its normal form (the Kelvin
sign becomes a K).
"""

import re
from email.utils import getaddresses

from snoozer.mail import headers
from snoozer.mail.structure import Headers

_MAX_LENGTH = 10_000


def proven_sender(head: Headers, *, authserv_id: str) -> str | None:
    """The one address of From in lower case, if DMARC passed for its domain; None otherwise."""
    senders = [value for name, value in head.fields if name == "from"]
    if not authserv_id or len(senders) != 1:
        return None
    found = getaddresses([headers.raw_text(senders[0])])
    is_ascii = len(found) == 1 and found[0][1].rpartition("@")[0].isascii()
    address = headers.address(found[0][1]) if is_ascii else None
    if address is None or headers.sender(senders[0]).email != address:
        return None
    judged = _judged(head, authserv_id)
    return address.lower() if judged == address.rpartition("@")[2].lower() else None


def _judged(head: Headers, authserv_id: str) -> str | None:
    """The domain for which DMARC passed, by the topmost field of this host."""
    for value in (value for name, value in head.fields if name == "authentication-results"):
        host, *results = _plain(headers.raw_text(value)).split(";")
        if not host.split() or re.search(r"[^a-z0-9._-]", host.split()[0], re.IGNORECASE):
            return None
        if host.split()[0].lower() == authserv_id.lower():
            dmarc = [result.split() for result in results if re.match(r"\s*dmarc\s*=", result, re.IGNORECASE)]
            words = [word.lower() for word in dmarc[0]] if len(dmarc) == 1 else []
            domains = [word.partition("=")[2] for word in words if word.startswith("header.from=")]
            return domains[0] if words[:1] == ["dmarc=pass"] and len(domains) == 1 else None
    return None


def _plain(value: str) -> str:
    """The value without quoted texts and comments, in which a sender may have chosen the words; empty if one does not
    end."""
    plain: list[str] = []
    depth, quoted, chars = 0, False, iter(value[:_MAX_LENGTH])
    for char in chars:
        if char == "\\":
            next(chars, None)
        elif quoted:
            quoted = char != '"'
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth < 0:
                return ""
        elif char == '"' and not depth:
            quoted = True
        elif not depth:
            plain.append(char)
    return "" if quoted or depth or len(value) > _MAX_LENGTH else "".join(plain)
