"""Checks of mailboxes at their servers: few at a time, counted for the person, and never within a transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from snoozer.db.models import Account
from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.mailboxes.problems import explain
from snoozer.mailboxes.registry import Report
from snoozer.people import quotas
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import saved_times
from snoozer.web.people.settings.presets import Pair, default_presets

# Each check occupies a thread, of which the process has sixteen, while it waits for a foreign server.
MAX_CHECKS_AT_ONCE = 4
slots = BoundedSemaphore(MAX_CHECKS_AT_ONCE)


class Busy(Exception):
    """The maximum number of checks is running."""


@contextmanager
def one_check(account: Account) -> Iterator[None]:
    """Hold a slot for a check, counted for the person. Raises Busy or QuotaReached."""
    if not slots.acquire(blocking=False):
        raise Busy
    try:
        with context.transaction() as connection:
            quotas.spend_mailbox_check(connection, context.settings().limits, user_email=account.email)
        yield
    finally:
        slots.release()


def check(account: Account, server: Server, login: Login) -> Report:
    """Logs in, and makes the folders of the person's presets. Raises QuotaReached."""
    try:
        with one_check(account):
            return look(account, server, login)
    except Busy:
        return Report(problem=explain("busy", host=server.host, port=server.port))


def look(account: Account, server: Server, login: Login) -> Report:
    """The same as part of a check."""
    labels = [label for label, _ in presets(account)]
    return registry.check(server, login, labels=labels, allow_private=context.settings().allow_private_mailboxes)


def presets(account: Account) -> tuple[Pair, ...]:
    """The times that have folders."""
    return saved_times().presets or default_presets(account.locale)


def in_words(report: Report) -> str:
    """The information for a person about a mailbox that works."""
    left_out = (
        [_("No folder could be made for: %(names)s.", names=", ".join(report.left_out))] if report.left_out else []
    )
    return " ".join([*map(_, report.notes), *left_out])
