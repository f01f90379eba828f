"""The security log: the logger `snoozer.security`, one line an event, with ids and counts and no address or token."""

import logging
from typing import Literal

from snoozer.telemetry import log_format
from snoozer.telemetry.configuration import LogFormat

Event = Literal[
    "sign_in_asked",
    "signed_in",
    "code_refused",
    "link_refused",
    "refused",
    "organisation_sign_in_refused",
    "identities_removed",
    "confirmed",
    "confirmation_refused",
    "address_shown",
    "signed_out",
    "sessions_ended",
    "token_refused",
    "quota_reached",
    "account_created",
    "role_changed",
    "account_closed",
    "account_opened",
    "account_deletion_asked",
    "account_deletion_withdrawn",
    "account_deleted",
    "address_added",
    "address_removed",
    "data_exported",
    "data_imported",
    "console_sign_in",
    "token_created",
    "tokens_revoked",
    "webhook_added",
    "webhook_removed",
    "service_added",
    "service_removed",
    "webhook_secret_rotated",
    "feed_created",
    "feed_revoked",
    "feed_refused",
    "operation_entered",
    "operation_cancelled",
    "operation_undone",
    "pause_begun",
    "pause_ended",
    "mailbox_connected",
    "mailbox_password_changed",
    "mailbox_signed_in",
    "mailbox_disconnected",
    "mailbox_forgotten",
]

log = logging.getLogger(log_format.SECURITY)


def start(style: LogFormat) -> None:
    """Writes the log to standard error, in a process that logs nothing else below a warning."""
    log_format.configure(style, process="command", level=logging.WARNING)


def record(event: Event, **facts: int | str | None) -> None:
    """Writes one line: the event, and `name=value` for each fact that is known. As JSON they are an object, `facts`."""
    known = {name: value for name, value in facts.items() if value is not None}
    words = "".join(f" {name}={value}" for name, value in known.items())
    log.info("%s%s", event, words, extra={log_format.EVENT: event, log_format.FACTS: known})
