"""Examples of responses, generated from their schemas: a field's own example, else a common value by name or by format.
New fields are therefore included automatically."""

from collections.abc import Mapping
from typing import Any

_VALUES: Mapping[str, Any] = {
    "id": 17,
    "snooze_id": 17,
    "message_id": "<offer@mail.example>",
    "subject": "Offer",
    "sender_email": "bob@mail.example",
    "note": "Both floors.",
    "email": "ann@mail.example",
    "address": "ann@mail.example",
    "host": "imap.mail.example",
    "url": "https://example.org/hook",
    "self": "https://snoozer.example/api/v1/snoozes/17",
    "page": "https://snoozer.example/snoozes/17",
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "act": "cancel",
    "undo": "0b9e7c1a-2f44-4a57-9d0e-4c1f7d1f8a11",
    "status": 200,
    "done": 1,
    "max_attempts": 5,
    "priority": 0,
    "kind": "instant",
    "label": "Morning",
    "phrase": "tomorrow 8am",
    "answer_ms": 41,
    "body": '{"type":"snooze.sent","timestamp":"2026-03-06T07:00:01Z","data":{"id":17}}',
    "working_days": [1, 2, 3, 4, 5],
    "work_from": "09:00",
    "work_until": "17:00",
    "quiet_from": "22:00",
    "quiet_until": "07:00",
    "detail": {},
    "left": {"cancelled": 1},
    "reading": "Friday 6 March, 08:00, Europe/Berlin.",
    "verified": True,
    "enabled": True,
    "own": True,
}
_FORMATS: Mapping[str, Any] = {
    "date-time": "2026-03-06T08:00:00+01:00",
    "uri": "https://snoozer.example/api/v1/snoozes",
}
# Fields that are null in the normal case.
_NULL = frozenset(
    {"late_because", "off_at", "off_reason", "last_error_at", "problem_since", "next_try_at", "next", "alternative"}
    | {"recurrence", "quiet_until_off"}
)
# A set of states that may appear in one example.
_STATES = frozenset({"asleep", "sent", "delivered"})
# Fields of some responses only: the reason of a refusal, and the additions of a change.
_SELDOM = frozenset({"problem", "event", "flags"})
_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


def of(schema: Mapping[str, Any], named: Mapping[str, Any], *, name: str = "") -> Any:
    """An example of this schema, which may refer to `named` ones; `name` is that of its field."""
    if "$ref" in schema:
        return of(named[schema["$ref"].rpartition("/")[2]], named)
    if "anyOf" in schema:
        return None if name in _NULL else of(schema["anyOf"][0], named, name=name)
    given = schema.get("type", "")
    types: list[str] = given if isinstance(given, list) else [given]
    if "null" in types and name in _NULL:
        return None
    if schema.get("examples"):
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return next((value for value in schema["enum"] if value in _STATES), schema["enum"][0])
    known = _VALUES.get(name)
    if known is not None and type(known) is _TYPES.get(types[0]):
        return known
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    return None if "null" in types else _plain(types[0], schema, named)


def _plain(kind: str, schema: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
    match kind:
        case "object":
            fields = schema.get("properties", {})
            seldom = _SELDOM - set(schema.get("required", ()))
            return {field: of(fields[field], named, name=field) for field in fields if field not in seldom}
        case "array":
            return [of(schema["items"], named)] if {"$ref", "enum"} & set(schema["items"]) else []
        case "boolean":
            return False
        case "integer" | "number":
            return 0
    return "…"
