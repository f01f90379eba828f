"""Snoozer's registrations at Google and Microsoft: the operator's settings, and the providers' endpoints."""

from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

Name = Literal["google", "microsoft"]
Security = Literal["tls", "starttls", "plain"]

_SECURITIES: dict[str, tuple[Security, int]] = {
    "imaps": ("tls", 993),
    "imap+starttls": ("starttls", 143),
    "imap": ("plain", 143),
}


@dataclass(frozen=True, kw_only=True)
class Client:
    """A registration, and where the provider's mailboxes are. `extra` are parameters specific to the provider, without
    which it gives no refresh token, or does not let a person with several accounts choose one."""

    name: Name
    title: str
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    authorize_url: str
    token_url: str
    scope: str
    host: str
    port: int = 993
    security: Security = "tls"
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Registration:
    """The settings of one provider, each of which may be missing. The addresses replace the usual ones: national clouds
    have their own."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    authorize_url: str | None = None
    token_url: str | None = None
    imap_url: str | None = None


_PROVIDERS: dict[Name, Client] = {
    "google": Client(
        name="google",
        title="Google",
        authorize_url="https://accounts.google.com/o/oauth2/v2/auth",
        token_url="https://oauth2.googleapis.com/token",  # noqa: S106 - an address
        scope="https://mail.google.com/",
        host="imap.gmail.com",
        extra=(("access_type", "offline"), ("prompt", "consent")),
    ),
    "microsoft": Client(
        name="microsoft",
        title="Microsoft",
        authorize_url="https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        token_url="https://login.microsoftonline.com/common/oauth2/v2.0/token",  # noqa: S106 - an address
        scope="https://outlook.office.com/IMAP.AccessAsUser.All offline_access",
        host="outlook.office365.com",
        extra=(("prompt", "select_account"),),
    ),
}
NAMES: tuple[Name, ...] = tuple(_PROVIDERS)


def configured(name: Name, registration: Registration, *, allow_private: bool) -> Client | None:
    """The provider as an operator configured it, None without a registration. Raises ValueError with one sentence for
    people if half of it is missing or an address is wrong."""
    prefix = f"SNOOZER_OAUTH_{name.upper()}"
    missing = [each for each in ("client_id", "client_secret") if not getattr(registration, each)]
    if len(missing) == 1:
        raise ValueError(
            f"{prefix}_{missing[0].upper()} is not set, and without it people cannot sign in at "
            f"{_PROVIDERS[name].title}; set {prefix}_CLIENT_ID and {prefix}_CLIENT_SECRET, or neither"
        )
    client = replace(
        _PROVIDERS[name],
        client_id=registration.client_id,
        client_secret=registration.client_secret,
        authorize_url=_web(registration.authorize_url, f"{prefix}_AUTHORIZE_URL", allow_private=allow_private)
        or _PROVIDERS[name].authorize_url,
        token_url=_web(registration.token_url, f"{prefix}_TOKEN_URL", allow_private=allow_private)
        or _PROVIDERS[name].token_url,
    )
    if registration.imap_url:
        client = _at(client, registration.imap_url, f"{prefix}_IMAP_URL", allow_private=allow_private)
    return client if registration.client_id else None


def _web(url: str | None, setting: str, *, allow_private: bool) -> str | None:
    if url is None:
        return None
    schemes = ("https", "http") if allow_private else ("https",)
    parts = _split(url)
    if parts is None or parts[0] not in schemes:
        raise ValueError(f"{setting} must be an address that starts with https://")
    return url


def _at(client: Client, url: str, setting: str, *, allow_private: bool) -> Client:
    parts = _split(url)
    known = _SECURITIES.get(parts[0]) if parts else None
    if parts is None or known is None or (known[0] == "plain" and not allow_private):
        raise ValueError(
            f"{setting} must look like imaps://outlook.office365.us or imap+starttls://mail.example.org:143"
        )
    return replace(client, host=parts[1], port=parts[2] or known[1], security=known[0])


def _split(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port; None if the text is not a URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or not url.isascii() or not url.isprintable() or " " in url or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port
