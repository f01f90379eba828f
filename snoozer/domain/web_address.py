"""What makes the address of a site on the web."""

from urllib.parse import urlsplit


def checked(address: str, *, setting: str) -> str:
    """The address without a slash at its end. ValueError, whose text is one sentence for people, when it is none."""
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"{setting} must start with http:// or https://, as in https://snooze.example.org")
    try:
        host = urlsplit(address).hostname
    except ValueError:
        host = None
    if not host:
        raise ValueError(f"{setting} names no host, as in https://snooze.example.org")
    return address.rstrip("/")
