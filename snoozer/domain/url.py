"""What makes the address of a site on the web."""

from urllib.parse import urlsplit


def validate(address: str, *, setting: str) -> str:
    """The address without a slash at its end. ValueError, whose text is one sentence for people, when it is none."""
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError(f"{setting} must start with http:// or https://, as in https://snooze.example.org")
    if not address.isprintable() or " " in address:
        raise ValueError(f"{setting} holds a blank or another character that no address on the web can hold")
    try:
        host = urlsplit(address).hostname
    except ValueError:
        host = None
    if not host:
        raise ValueError(f"{setting} names no host, as in https://snooze.example.org")
    return address.rstrip("/")


def validate_base(address: str, *, setting: str) -> str:
    """The same for an address that paths are put behind, and that stands in mails."""
    if set(address) & set("?#@"):
        raise ValueError(f"{setting} is a host and perhaps a path, without user, password, ? and #")
    return validate(address, setting=setting)
