"""USE CASE of quotas: how much one person, token, mailbox or network may use in a period, for all processes together.

What is refused is not counted: the caller's transaction, in which it would have been counted, is rolled back.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from snoozer.db import quotas
from snoozer.translations import N_, gettext

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MEBIBYTE = 1024 * 1024
# What the rows of a message take, however small it is.
MIN_UPLOAD = 4096


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most of each quota; 0 is no limit."""

    snoozes_per_minute: int
    snoozes_per_day: int
    token_snoozes_per_minute: int
    upload_bytes_per_day: int
    failed_tokens_per_minute: int
    sign_ins_per_hour: int
    mails_per_day: int
    mail_bytes_per_day: int
    mailbox_checks_per_hour: int
    exports_per_hour: int
    imported_snoozes_per_day: int


@dataclass(frozen=True)
class Quota:
    """A field of Limits: its name, its period (at most a day), and what it counts, in words."""

    name: str
    period: timedelta
    words: str


class QuotaReached(Exception):
    """More than a quota allows; `retry_after` is in seconds. The text is a sentence for people."""

    def __init__(self, quota: Quota, *, most: int, retry_after: int) -> None:
        many = f"{most / MEBIBYTE:,.3g} MB" if "bytes" in quota.name else f"{most:,}"
        super().__init__(gettext("The limit is %(many)s %(what)s.", many=many, what=gettext(quota.words)))
        self.name = quota.name
        self.retry_after = retry_after


_TOKEN_SNOOZES = Quota("token_snoozes_per_minute", MINUTE, N_("snoozes a minute for one token"))
_SNOOZES = Quota("snoozes_per_minute", MINUTE, N_("snoozes a minute"))
_SNOOZES_OF_DAY = Quota("snoozes_per_day", DAY, N_("snoozes a day"))
_UPLOADS = Quota("upload_bytes_per_day", DAY, N_("of message files a day"))
_MAILS = Quota("mails_per_day", DAY, N_("mails a day"))
_MAIL_BYTES = Quota("mail_bytes_per_day", DAY, N_("of mail a day"))
_FAILED_TOKENS = Quota("failed_tokens_per_minute", MINUTE, N_("requests a minute with invalid tokens from one network"))
_MAILBOX_CHECKS = Quota("mailbox_checks_per_hour", HOUR, N_("connections an hour to mail servers that you name"))
_EXPORTS = Quota("exports_per_hour", HOUR, N_("downloads of everything an hour"))
_IMPORTED = Quota("imported_snoozes_per_day", DAY, N_("imported snoozes a day"))
_SIGN_INS = Quota("sign_ins_per_hour", HOUR, N_("sign-in mails an hour for one network"))


def spend_snooze(connection: Connection, limits: Limits, *, user_email: str, token: str | None = None) -> None:
    """Count one snooze of a person, and of the API token that makes it. Raises QuotaReached."""
    if token is not None:
        _spend(connection, limits, _TOKEN_SNOOZES, token)
    _spend(connection, limits, _SNOOZES, user_email)
    _spend(connection, limits, _SNOOZES_OF_DAY, user_email)


def spend_snoozes(connection: Connection, limits: Limits, *, user_email: str, count: int) -> None:
    """Count one act of a person that snoozes `count` messages: once in its minute, and each in its day. Raises
    QuotaReached."""
    _spend(connection, limits, _SNOOZES, user_email)
    _spend(connection, limits, _SNOOZES_OF_DAY, user_email, amount=count)


def spend_upload(connection: Connection, limits: Limits, *, user_email: str, size: int) -> None:
    """Count the bytes of message files that a person adds, at least MIN_UPLOAD. Raises QuotaReached."""
    _spend(connection, limits, _UPLOADS, user_email, amount=max(size, MIN_UPLOAD))


def spend_mail(connection: Connection, limits: Limits, *, user_email: str, size: int) -> None:
    """Count a mail from outside to one mailbox. Raises QuotaReached."""
    _spend(connection, limits, _MAILS, user_email)
    _spend(connection, limits, _MAIL_BYTES, user_email, amount=size)


def spend_mailbox_check(connection: Connection, limits: Limits, *, user_email: str) -> None:
    """Count a look for a person's mail server, or a login there. Raises QuotaReached."""
    _spend(connection, limits, _MAILBOX_CHECKS, user_email)


def spend_export(connection: Connection, limits: Limits, *, user_email: str) -> None:
    """Count a file of all that a person has. Raises QuotaReached."""
    _spend(connection, limits, _EXPORTS, user_email)


def spend_import(connection: Connection, limits: Limits, *, user_email: str, rows: int) -> None:
    """Count the snoozes that a person imports. Raises QuotaReached."""
    _spend(connection, limits, _IMPORTED, user_email, amount=rows)


def spend_failed_token(connection: Connection, limits: Limits, *, network: str) -> None:
    """Count a request with an invalid API token. Raises QuotaReached."""
    _spend(connection, limits, _FAILED_TOKENS, network)


def spend_sign_in(connection: Connection, limits: Limits, *, network: str) -> None:
    """Count a request for a sign-in mail. Raises QuotaReached."""
    _spend(connection, limits, _SIGN_INS, network)


def _spend(connection: Connection, limits: Limits, quota: Quota, subject: str, *, amount: int = 1) -> None:
    most: int = getattr(limits, quota.name)
    if most == 0:
        return
    # Stored as a hash: the table needs no address and no token.
    hashed = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()
    spent = quotas.spend(connection, quota=quota.name, subject=hashed, period=quota.period, amount=amount, most=most)
    if not spent.was_added:
        raise QuotaReached(quota, most=most, retry_after=spent.retry_after)
