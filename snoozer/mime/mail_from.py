"""Who reminders come from, as MAIL_FROM names it."""

from email.utils import getaddresses

from snoozer.mime import headers

_LIKE = "it looks like Snoozer <snoozer@example.org>"


def validate(mail_from: str) -> None:
    """Raises ValueError, whose text is one sentence for people, unless it is one address, with or without a name."""
    if not mail_from.strip():
        raise ValueError(f"MAIL_FROM is not set; {_LIKE}")
    if not mail_from.isprintable():
        raise ValueError(f"MAIL_FROM has characters that no address has; {_LIKE}")
    found = [address for _, address in getaddresses([mail_from])]
    if len(found) > 1 and "@" in found[0]:
        raise ValueError(f"MAIL_FROM names more than one address, and a reminder comes from one; {_LIKE}")
    if len(found) > 1:
        raise ValueError('MAIL_FROM is not an address; a name with a comma goes into quotes, as in "Snoozer, Inc." <…>')
    if headers.ascii_address(found[0]) is None:
        raise ValueError(f"MAIL_FROM is not an address; {_LIKE}")


def address(mail_from: str) -> str:
    """The bare address as SMTP and header fields have it, its domain in ASCII; empty when MAIL_FROM names none."""
    return headers.ascii_address(headers.sender(mail_from).email or "") or ""


def domain(mail_from: str) -> str:
    """The domain that reminders come from, which also ends their Message-IDs; empty when MAIL_FROM names none."""
    return address(mail_from).rpartition("@")[2]
