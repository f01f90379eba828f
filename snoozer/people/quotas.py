"""USE CASE of quotas: how much one person, token, mailbox or network may use in a period, for all processes together.

Refused uses are not counted: the caller's transaction, in which they would have been counted, is rolled back.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from snoozer.db import quotas
from snoozer.people.limits import MEBIBYTE, Limits
from snoozer.translations import N_, gettext

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
# A process takes this fraction of the rest of a quota of requests at a time.
SHARE = 32
# The storage for the rows of a message, however small it is.
MIN_UPLOAD = 4096


@dataclass(frozen=True)
class Quota:
    """A field of Limits: its name, its period (at most a day), and what it counts, in words."""

    name: str
    period: timedelta
    words: str


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The rest of a quota, and in how many seconds its next period begins."""

    quota: Quota
    most: int
    left: int
    reset: int


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of a quota that a process counts by itself, until the period ends in `seconds_left`; `left` remains for
    other processes. Without a limit `taken` is None, and the share is valid for a minute."""

    quota: Quota
    most: int
    taken: int | None
    left: int
    seconds_left: float


class QuotaReached(Exception):
    """More than a quota allows; `retry_after` is in seconds. The text is a sentence for people."""

    def __init__(self, quota: Quota, *, most: int, retry_after: int) -> None:
        many = f"{most / MEBIBYTE:,.3g} MB" if "bytes" in quota.name else f"{most:,}"
        super().__init__(gettext("The limit is %(many)s %(what)s.", many=many, what=gettext(quota.words)))
        self.name = quota.name
        self.standing = Standing(quota=quota, most=most, left=0, reset=retry_after)
        self.retry_after = retry_after


_TOKEN_SNOOZES = Quota("token_snoozes_per_minute", MINUTE, N_("snoozes a minute for one token"))
_SNOOZES = Quota("snoozes_per_minute", MINUTE, N_("snoozes a minute"))
_SNOOZES_OF_DAY = Quota("snoozes_per_day", DAY, N_("snoozes a day"))
TOKEN_REQUESTS = Quota("token_requests_per_minute", MINUTE, N_("requests a minute for one token"))
REQUESTS = Quota("requests_per_minute", MINUTE, N_("requests a minute by programs"))
_UPLOADS = Quota("upload_bytes_per_day", DAY, N_("of message files a day"))
_MAILS = Quota("mails_per_day", DAY, N_("mails a day"))
_MAIL_BYTES = Quota("mail_bytes_per_day", DAY, N_("of mail a day"))
_FAILED_TOKENS = Quota("failed_tokens_per_minute", MINUTE, N_("requests a minute with invalid tokens from one network"))
_MAILBOX_CHECKS = Quota("mailbox_checks_per_hour", HOUR, N_("connections an hour to mail servers that you name"))
_EXPORTS = Quota("exports_per_hour", HOUR, N_("downloads of everything an hour"))
_IMPORTED = Quota("imported_snoozes_per_day", DAY, N_("imported snoozes a day"))
_SIGN_INS = Quota("sign_ins_per_hour", HOUR, N_("sign-in mails an hour for one network"))


def spend_snooze(
    connection: Connection, limits: Limits, *, user_email: str, token: str | None = None
) -> list[Standing]:
    """Count one snooze of a person, and of the API token that makes it. Returns the remaining amounts. Raises
    QuotaReached."""
    standings = [] if token is None else [_spend(connection, limits, _TOKEN_SNOOZES, token)]
    standings += [_spend(connection, limits, quota, user_email) for quota in (_SNOOZES, _SNOOZES_OF_DAY)]
    return [standing for standing in standings if standing is not None]


def share_of_requests(
    connection: Connection, limits: Limits, *, user_email: str, token: str, wanted: Mapping[str, int | None]
) -> list[Share]:
    """Take some of a person's and a token's requests per minute, for a process that counts its requests itself and
    returns when they are used up. `wanted` maps the names of the quotas to the amount known to be left. Raises
    QuotaReached."""
    subjects = ((TOKEN_REQUESTS, token), (REQUESTS, user_email))
    return [
        _share(connection, limits, quota, subject, left=wanted[quota.name])
        for quota, subject in subjects
        if quota.name in wanted
    ]


def _share(connection: Connection, limits: Limits, quota: Quota, subject: str, *, left: int | None) -> Share:
    """A fraction of the rest, which gets smaller towards the end: no quota is exceeded, and other processes hold little
    of it unused."""
    most: int = getattr(limits, quota.name)
    if most == 0:
        return Share(quota=quota, most=0, taken=None, left=0, seconds_left=quota.period.total_seconds())
    wanted = max(1, (most if left is None else left) // SHARE)
    spent = _add(connection, quota, subject, amount=wanted, most=most)
    if not spent.was_added and wanted > 1:
        wanted, spent = 1, _add(connection, quota, subject, amount=1, most=most)
    if not spent.was_added:
        raise QuotaReached(quota, most=most, retry_after=spent.retry_after)
    return Share(quota=quota, most=most, taken=wanted, left=most - (spent.used or 0), seconds_left=spent.seconds_left)


def spend_snoozes(
    connection: Connection, limits: Limits, *, user_email: str, count: int, token: str | None = None
) -> list[Standing]:
    """Count one act of a person, or of their API token, that snoozes `count` messages: once per minute, and each
    message per day. Returns the remaining amounts. Raises QuotaReached."""
    standings = [] if token is None else [_spend(connection, limits, _TOKEN_SNOOZES, token)]
    standings.append(_spend(connection, limits, _SNOOZES, user_email))
    standings.append(_spend(connection, limits, _SNOOZES_OF_DAY, user_email, amount=count))
    return [standing for standing in standings if standing is not None]


def spend_upload(connection: Connection, limits: Limits, *, user_email: str, size: int) -> None:
    """Count the bytes of message files that a person adds, at least MIN_UPLOAD. Raises QuotaReached."""
    _spend(connection, limits, _UPLOADS, user_email, amount=max(size, MIN_UPLOAD))


def spend_mail(connection: Connection, limits: Limits, *, user_email: str, size: int) -> None:
    """Count a mail from outside to one mailbox. Raises QuotaReached."""
    _spend(connection, limits, _MAILS, user_email)
    _spend(connection, limits, _MAIL_BYTES, user_email, amount=size)


def spend_mailbox_check(connection: Connection, limits: Limits, *, user_email: str) -> None:
    """Count a search for a person's mail server, or a login there. Raises QuotaReached."""
    _spend(connection, limits, _MAILBOX_CHECKS, user_email)


def spend_export(connection: Connection, limits: Limits, *, user_email: str) -> None:
    """Count an export of all data of a person. Raises QuotaReached."""
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


def _spend(connection: Connection, limits: Limits, quota: Quota, subject: str, *, amount: int = 1) -> Standing | None:
    """Return the remaining amount; None without a limit."""
    most: int = getattr(limits, quota.name)
    if most == 0:
        return None
    spent = _add(connection, quota, subject, amount=amount, most=most)
    if not spent.was_added:
        raise QuotaReached(quota, most=most, retry_after=spent.retry_after)
    return Standing(quota=quota, most=most, left=most - (spent.used or 0), reset=spent.retry_after)


def _add(connection: Connection, quota: Quota, subject: str, *, amount: int, most: int) -> quotas.Spent:
    # Stored as a hash: the table needs no address and no token.
    hashed = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()
    return quotas.spend(connection, quota=quota.name, subject=hashed, period=quota.period, amount=amount, most=most)
