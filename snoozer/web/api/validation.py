"""What a request says, checked field by field before anything is done with it."""

import json
import re
from collections.abc import Collection
from datetime import datetime
from typing import Any

from flask import request
from werkzeug.exceptions import RequestEntityTooLarge

from snoozer.domain.reminder import MAX_NOTE_LENGTH
from snoozer.mime import headers
from snoozer.snoozing import MAX_MESSAGE_ID_OCTETS
from snoozer.timephrase import locales, zones
from snoozer.web.api.problems import LARGEST_BODY, Refused, fields_refused, name_refused

LONGEST_SUBJECT = 998
LONGEST_TEXT = 8192
# Fields with a limit of their own say that one, whatever is wrong with them.
_LIMITS = {
    "message_id": f"{MAX_MESSAGE_ID_OCTETS} octets",
    "subject": f"{LONGEST_SUBJECT} characters",
    "note": f"{MAX_NOTE_LENGTH} characters",
}

_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?P<offset>[Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


def of_body(allowed: Collection[str]) -> dict[str, str | None]:
    """The JSON object in the body: texts and nulls, under `allowed` names. Refused with 400, 413, 415 or 422."""
    if request.mimetype != "application/json":
        raise Refused(415, "not_json", "Send the body as JSON, with Content-Type: application/json.")
    sent = request.get_data()
    if request.content_length is None and len(sent) >= LARGEST_BODY:  # One that comes in chunks is cut there, silently.
        raise RequestEntityTooLarge
    try:
        body = json.loads(sent, object_pairs_hook=_once_each, parse_constant=_no_number)
    except (ValueError, RecursionError) as broken:
        raise Refused(400, "bad_json", f"The body is not JSON: {_safe(str(broken))}.") from None
    if not isinstance(body, dict):
        raise Refused(422, "not_an_object", 'The body is JSON, but not an object such as {"message_id": "..."}.')
    return _checked(body, allowed=allowed)


def of_query(allowed: Collection[str]) -> dict[str, str | None]:
    """The query's parameters under `allowed` names, each at most once. Refused with 422."""
    twice = {name: f"{name} is given twice." for name in request.args if len(request.args.getlist(name)) > 1}
    if twice:
        raise fields_refused({_safe(name): _safe(detail) for name, detail in twice.items()})
    return _checked(request.args.to_dict(), allowed=allowed)


def zone_of(name: str | None, *, default: str) -> str:
    """The zone of that name as the tz database spells it."""
    if name is None:
        return default
    zone = zones.canonical(name)
    if zone is None:
        raise name_refused("zone", "zone must be an IANA name such as Europe/Berlin, or UTC.")
    return zone


def locale_of(name: str | None, *, default: str) -> str:
    """The locale, as en_GB."""
    if name is None:
        return default
    locale = locales.canonical(name)
    if locale is None:
        raise name_refused("locale", "locale must be a language and a country such as en_GB or de_DE.")
    return locale


def instant_of(text: str, *, field: str) -> datetime:
    """An ISO 8601 date and time; naive when it has no offset."""
    if _INSTANT.fullmatch(text):
        try:
            return datetime.fromisoformat(text.upper())
        except ValueError:
            raise fields_refused({field: f"{field} names a date or time that does not exist."}) from None
    raise fields_refused({field: f"{field} must be a date and time such as 2027-03-21T09:00:00+01:00."})


def subject_of(text: str | None) -> str | None:
    """A subject as a person reads it, in one line."""
    if text is not None and len(text) > LONGEST_SUBJECT:
        raise fields_refused({"subject": f"subject has more than {LONGEST_SUBJECT} characters."})
    return headers.sanitize_line(text) or None if text is not None else None


def address_of(text: str | None) -> str | None:
    """A bare mail address."""
    if text is None:
        return None
    address = headers.address(text)
    if address is None:
        raise fields_refused({"sender_email": "sender_email must be a bare address such as ann@example.org."})
    return address


def _checked(given: dict[str, Any], *, allowed: Collection[str]) -> dict[str, str | None]:
    wrong: dict[str, str] = {}
    for name, value in given.items():
        if name not in allowed:
            known = ", ".join(sorted(allowed))
            wrong[_safe(name)] = f"{_safe(name)} is not a field here; the fields are {known}."
        elif value is not None and not isinstance(value, str):
            wrong[name] = f"{name} must be a text."
        elif value is not None and (len(value) > LONGEST_TEXT or not _is_text(value)):
            wrong[name] = _no_text(name)
    if wrong:
        raise fields_refused(wrong)
    return given


def _no_text(name: str) -> str:
    limit = _LIMITS.get(name, f"{LONGEST_TEXT} characters")
    return f"{name} must be a text of at most {limit}, without NUL or halves of characters."


def _is_text(value: str) -> bool:
    """Can it be stored? Neither NUL nor half of a surrogate pair can."""
    return "\x00" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def _safe(text: str) -> str:
    """A name somebody sent, fit to be said back."""
    return headers.sanitize_line(text.encode("utf-8", "replace").decode(), limit=80)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return named


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")
