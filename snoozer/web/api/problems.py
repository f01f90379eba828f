"""Every refusal of the API as RFC 9457 problem details."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.exceptions import HTTPException, ServiceUnavailable

from snoozer.snoozes.input import SnoozeError
from snoozer.web.api.models.problem import Problem
from snoozer.web.front import Refusal

MEDIA_TYPE = "application/problem+json"

_BY_STATUS: Mapping[int, tuple[str, str]] = {
    400: ("bad_request", "The request cannot be read."),
    401: ("unauthorized", "Send a token of yours as Authorization: Bearer <token>."),
    403: ("forbidden", "This is not yours to do."),
    404: ("not_found", "There is nothing here, or it is not yours."),
    405: ("method_not_allowed", "This path does not take that method; the Allow header names those it takes."),
    412: ("changed", "It has changed since the state that If-Match names."),
    413: ("too_large", "The body has more bytes than this path takes."),
    415: ("not_json", "Send the body as JSON, with Content-Type: application/json."),
    421: ("wrong_host", "The Host header is not Snoozer's: use the address that BASE_URL names."),
    500: ("failed", "Snoozer failed at this. Nothing was changed; the failure is in its log."),
    503: ("database_away", "The database cannot be reached now. Nothing was changed; try again in a moment."),
}


class Refused(Exception):
    """A refused request. `members` are added to the usual members of the problem details."""

    def __init__(
        self, status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.headers = headers
        title = HTTPStatus(status).phrase
        self.problem = Problem(type="about:blank", title=title, status=status, code=code, detail=detail, **members)


class OtherSchema(ServiceUnavailable):
    """The database has the schema of another release than this process."""

    description = "Snoozer is being upgraded. Nothing was changed; try again in a moment."


def invalid_fields(errors: Mapping[str, str], **members: Any) -> Refused:
    """Returns a 422 for a body or a query with wrong fields; `errors` holds a sentence for each field's name."""
    listed = [{"field": field, "detail": detail} for field, detail in errors.items()]
    return Refused(422, "invalid_fields", " ".join(errors.values()), errors=listed, **members)


def response_of(refused: Refused) -> Response:
    """The response with the problem details."""
    body = refused.problem.model_dump_json(exclude_unset=True)
    return Response(body, refused.problem.status, refused.headers, mimetype=MEDIA_TYPE)


def problem_of(error: HTTPException) -> Response:
    """The response to an error before or outside a route: an unknown path, a wrong method, a failure."""
    status = error.code or 500
    code, detail = _BY_STATUS.get(status, (HTTPStatus(status).name.lower(), f"{HTTPStatus(status).description}."))
    if isinstance(error, OtherSchema):
        code, detail = "upgrading", OtherSchema.description
    if status == 413 and request.max_content_length is not None:
        detail = f"The body has more than {request.max_content_length} bytes."
    headers = {"Retry-After": "30"} if status == 503 else {}
    headers |= {name: value for name, value in error.get_headers() if name in {"Allow", "Retry-After"}}
    return response_of(Refused(status, code, detail, headers=headers))


def describe(path: str, refusal: Refusal) -> tuple[str, str]:
    """Returns the media type and the text for a request that reached no route: a problem for a path of the API."""
    if not path.startswith("/api/"):
        return "text/plain; charset=utf-8", f"{refusal.text}\n"
    problem = Refused(refusal.status, refusal.code, refusal.text).problem
    return MEDIA_TYPE, problem.model_dump_json(exclude_unset=True)


def register(blueprint: Blueprint) -> None:
    """Adds the error handlers to `blueprint`."""
    blueprint.register_error_handler(Refused, response_of)
    blueprint.register_error_handler(SnoozeError, _response_of_snooze_error)


def refused(error: SnoozeError) -> Refused:
    """Returns a 422 for a time, a note or a message that is invalid."""
    members: dict[str, Any] = {"suggestions": list(error.suggestions)} if error.suggestions else {}
    return Refused(422, error.code, error.message, **members)


def _response_of_snooze_error(error: SnoozeError) -> Response:
    return response_of(refused(error))
