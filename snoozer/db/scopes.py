"""Rights of an API token. Write scopes do not include reading: a program that only adds snoozes needs no read
access."""

from enum import StrEnum


class Scope(StrEnum):
    """One right of a token, spelt as in OAuth (RFC 6749, 3.3)."""

    SNOOZES_READ = "snoozes:read"
    SNOOZES_WRITE = "snoozes:write"
    SETTINGS_READ = "settings:read"
    SETTINGS_WRITE = "settings:write"
    MAILBOXES_READ = "mailboxes:read"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"


ALL_SCOPES: tuple[Scope, ...] = tuple(Scope)
