"""Find a case by what an operator types: a number, a Message-ID or its hash, a fingerprint, a domain, an address."""

import re

from sqlalchemy import Connection, func, or_, select

from snoozer.db.models import Send, Snooze
from snoozer.db.queries.case_filter import IS_CASE, Filter, InvalidFilter, error_fingerprint, of_snooze

MAX_TYPED_LENGTH = 1_000

_ID = re.compile(r"#?([1-9][0-9]{0,18})")
_HASH = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)
_MAX_ID = 2**63 - 1


def find(connection: Connection, typed: str) -> int | Filter | None:
    """The id of the snooze with this number or whose reminder has this Message-ID, or a filter of the matching cases;
    None if nothing matches."""
    number = _ID.fullmatch(typed)
    if number is not None and int(number[1]) <= _MAX_ID:
        return connection.execute(select(Snooze.id).where(Snooze.id == int(number[1]))).scalar_one_or_none()
    if _HASH.fullmatch(typed):
        return _of_hash(connection, typed.lower())
    if "@" in typed.removeprefix("@"):
        return _of_message_id(connection, typed) or person(connection, typed)
    try:
        domain = Filter.from_args({"domain": typed})
    except InvalidFilter:
        return None
    known = select(Snooze.id).where(*domain.conditions()).limit(1)
    return domain if connection.execute(known).first() else None


def person(connection: Connection, email: str) -> Filter | None:
    """The person with exactly this address, as typed or in small letters, by one of their snoozes: a case if there is
    one."""
    theirs = select(Snooze.id).where(Snooze.user_email.in_({email, email.lower()})).limit(1)
    for found in (theirs.where(IS_CASE), theirs):
        id = connection.execute(found).scalar_one_or_none()
        if id is not None:
            return Filter(person=id)
    return None


def email_of(connection: Connection, filter: Filter) -> str | None:
    """The address of the filter's person; None if the snooze is gone."""
    if filter.person is None:
        return None
    email: str | None = connection.execute(select(of_snooze("user_email", filter.person))).scalar_one()
    return email


def _of_hash(connection: Connection, digits: str) -> Filter | None:
    alike = select(Snooze.id).where(IS_CASE, error_fingerprint == digits).limit(1)
    if connection.execute(alike).first():
        return Filter(reason=digits)
    about = select(Snooze.id).where(IS_CASE, func.md5(Snooze.message_id) == digits).limit(1)
    id = connection.execute(about).scalar_one_or_none()
    return None if id is None else Filter(message=id)


def _of_message_id(connection: Connection, typed: str) -> int | Filter | None:
    """By the Message-ID of a reminder that was made, else of the message that was snoozed, with or without brackets."""
    bare = typed.removeprefix("<").removesuffix(">")
    forms = (bare, f"<{bare}>")
    sent = select(Send.snooze_id).where(Send.reminder_message_id.in_(forms)).limit(1)
    id: int | None = connection.execute(sent).scalar_one_or_none()
    if id is not None:
        return id
    hashes = or_(*(func.md5(Snooze.message_id) == func.md5(form) for form in forms))
    about = select(Snooze.id).where(IS_CASE, hashes, Snooze.message_id.in_(forms)).limit(1)
    case = connection.execute(about).scalar_one_or_none()
    return None if case is None else Filter(message=case)
