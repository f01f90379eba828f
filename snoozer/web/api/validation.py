"""Reads a request into its model, and turns pydantic's errors into the API's problem details."""

import json
import re
from typing import Any, TypeVar, get_origin

from flask import request
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from snoozer.mail import headers
from snoozer.web.api.models.fields import Request
from snoozer.web.api.problems import Refused, invalid_fields

RequestModel = TypeVar("RequestModel", bound=Request)

# A sentence for pydantic's own error: `phrase` is the only required field.
_MISSING = "is missing: say a time, such as tomorrow 8am."


def json_object() -> dict[str, Any]:
    """Returns the JSON object in the body. Raises Refused with 400, 415 or 422."""
    if request.mimetype != "application/json":
        raise Refused(415, "not_json", "Send the body as JSON, with Content-Type: application/json.")
    try:
        body = json.loads(request.get_data(), object_pairs_hook=_unique, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "bad_json", f"The body is not JSON: {_printable(str(error))}.") from None
    if not isinstance(body, dict):
        raise Refused(422, "not_an_object", 'The body is JSON, but not an object such as {"message_id": "..."}.')
    return body


def optional_object() -> dict[str, Any]:
    """Returns the JSON object in the body of an act that may come without one; empty then. Raises Refused."""
    return json_object() if request.get_data() else {}


def query_of(model: type[RequestModel]) -> RequestModel:
    """Returns the query as a `model`. Raises Refused with 422, also for a parameter that is given twice and is not a
    list."""
    lists = {name for name, field in model.model_fields.items() if get_origin(field.annotation) is list}
    repeated = [name for name in request.args if name not in lists and len(request.args.getlist(name)) > 1]
    if repeated:
        raise invalid_fields({_printable(name): _printable(f"{name} is given twice.") for name in repeated})
    given = {name: request.args.getlist(name) if name in lists else value for name, value in request.args.items()}
    return validate(model, given)


def validate(model: type[RequestModel], given: dict[str, Any]) -> RequestModel:
    """Returns `given` as a `model`. Raises Refused with 422, naming each wrong field in the order they were given."""
    # pydantic refuses a whole object, without a field, when a name holds half a surrogate pair.
    named = {name.encode("utf-8", "replace").decode(): value for name, value in given.items()}
    try:
        return model.model_validate(named)
    except ValidationError as invalid:
        errors, order = invalid.errors(), list(named)
    wrong: dict[str, str] = {}
    members: dict[str, Any] = {}
    for error in sorted(errors, key=lambda error: order.index(_field(error)) if _field(error) in named else -1):
        field = _printable(_field(error))
        wrong[field] = _sentence(error, field=field, known=sorted(model.model_fields))
        if error["type"] in {"unknown_zone", "unknown_locale"}:  # These also have the members of `snoozer when --json`.
            members = {"error": error["type"], "message": wrong[field], "suggestions": []}
    raise invalid_fields(wrong, **members)


def _field(error: ErrorDetails) -> str:
    return str(error["loc"][0] if error["loc"] else error["ctx"]["field"])


def _sentence(error: ErrorDetails, *, field: str, known: list[str]) -> str:
    if error["type"] == "extra_forbidden":
        return f"{field} is not a field here; the fields are {', '.join(known)}."
    if error["type"] == "sentence":
        return error["msg"]
    if error["type"] == "literal_error":
        choices = re.findall("'([^']+)'", error["ctx"]["expected"])
        return f"{field} must be one of {', '.join(choices)}."
    return f"{field} {_MISSING if error['type'] == 'missing' else error['msg']}"


def _printable(text: str) -> str:
    """Text from a request, fit to be repeated in one line of a response."""
    return headers.sanitize_line(text.encode("utf-8", "replace").decode(), limit=80)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return named


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")
