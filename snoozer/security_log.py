"""The security log: the logger `snoozer.security`, one line an event, with ids and counts and no address or token."""

import logging
import sys
from typing import Literal

Event = Literal[
    "sign_in_asked",
    "signed_in",
    "code_refused",
    "link_refused",
    "refused",
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
    "data_exported",
    "data_imported",
    "console_sign_in",
    "token_created",
    "tokens_revoked",
    "cases_decided",
    "mailbox_connected",
    "mailbox_password_changed",
    "mailbox_signed_in",
    "mailbox_disconnected",
    "mailbox_forgotten",
]

log = logging.getLogger("snoozer.security")


class _StandardError(logging.Handler):
    """Writes to what sys.stderr is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"{self.format(record)}\n")


def start() -> None:
    """Writes the log to standard error, in a process that configures no logging of its own."""
    log.setLevel(logging.INFO)
    if not log.handlers:
        handler = _StandardError()
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        log.addHandler(handler)


def record(event: Event, **facts: int | str | None) -> None:
    """Writes one line: the event and `name=value` for each fact that is known."""
    known = "".join(f" {name}={value}" for name, value in facts.items() if value is not None)
    log.info("%s%s", event, known)
