"""What `snoozer doctor` says of the settings: their values without secrets, and what is wrong with them."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from pydantic import SecretStr
from sqlalchemy.engine import make_url

from snoozer.cli.check_result import Finding, advice, right, skipped, wrong
from snoozer.mime import headers
from snoozer.settings import Settings, SettingsError
from snoozer.smtp.url import is_loopback

# Names that nobody's mail reaches from outside (RFC 2606, RFC 6762).
_PRIVATE = (".local", ".localhost", ".test", ".example", ".invalid", ".internal")
# Nor these, though a mail server may be told to take them for any other (RFC 2606).
_SAMPLES = (".example.com", ".example.net", ".example.org")


def told(settings: Settings) -> dict[str, str]:
    """Every setting by its name, as it is in force. Secrets and whatever may hold one are left out."""
    return {
        str(field.alias): _shown(str(field.alias), getattr(settings, name))
        for name, field in type(settings).model_fields.items()
    }


def of_settings(settings: Settings) -> Iterator[Finding]:
    """What processes would refuse to start with or without, and where the links in mails lead."""
    yield _secret_key(settings)
    yield from _sender(settings)
    yield _links(settings)


def sender_domain(settings: Settings) -> str:
    """The domain that reminders come from; empty when MAIL_FROM names none."""
    return headers.mail_from_domain(settings.mail_from).lower()


def is_private(domain: str) -> bool:
    """A name that only this machine or this network knows."""
    return is_loopback(domain) or f".{domain}".endswith(_PRIVATE) or "." not in domain


def _secret_key(settings: Settings) -> Finding:
    check = "secret key"
    if not settings.keys:
        return skipped(check, "SECRET_KEY is not set here; web and workers do not start without it.")
    try:
        settings.require("secret_key")
    except SettingsError as refused:
        return wrong(check, f"{refused}.", "Links in mails could be forged: set a key of its own.")
    return right(check, f"A key ring of {len(settings.keys)}.")


def _sender(settings: Settings) -> Iterator[Finding]:
    try:
        settings.require("mail_from")
    except SettingsError as refused:
        if settings.mail_from:
            yield wrong("sender", f"{refused}.", "Correct MAIL_FROM; web and workers do not start with this one.")


def _links(settings: Settings) -> Finding:
    check, do = "links in mails", "Set BASE_URL for web and workers to what people type to reach the pages."
    if settings.local_links_warning:
        domain, says = sender_domain(settings), f"{settings.local_links_warning}."
        on_trial = is_private(domain) or f".{domain}".endswith(_SAMPLES)
        return advice(check, says, do) if on_trial else wrong(check, says, do)
    if is_loopback(urlsplit(settings.base_url).hostname or ""):
        return advice(check, f"They lead to {settings.base_url}, which opens on this machine only.", do)
    return right(check, f"They lead to {settings.base_url}.")


def _shown(name: str, value: object) -> str:
    if value is None or value in ("", ()):
        return "–"
    if isinstance(value, tuple):
        return f"{len(value)} hidden"
    if name == "DATABASE_URL" and isinstance(value, SecretStr):
        return make_url(value.get_secret_value()).set(query={}).render_as_string(hide_password=True)
    if isinstance(value, SecretStr):
        parts = urlsplit(value.get_secret_value())
        return f"{parts.scheme}://…{(parts.netloc.rpartition('@')[2])}" if parts.netloc else "hidden"
    if name == "OTEL_EXPORTER_OTLP_ENDPOINT":
        return "set"
    return str(value)
