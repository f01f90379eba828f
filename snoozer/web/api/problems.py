"""Every refusal of the API: RFC 9457 problem details, with `code` for programs and `detail` for people.

`errors` names each field that is wrong and why; `suggestions` are phrases that would have worked.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from snoozer.snoozing import SnoozeError

MEDIA_TYPE = "application/problem+json"
LARGEST_BODY = 64 * 1024

_KEPT = frozenset({"Allow", "Retry-After"})

_KNOWN: Mapping[int, tuple[str, str]] = {
    400: ("bad_request", "The request cannot be read."),
    401: ("unauthorized", "Send a token of yours as Authorization: Bearer <token>."),
    403: ("forbidden", "This is not yours to do."),
    404: ("not_found", "There is nothing here, or it is not yours."),
    405: ("method_not_allowed", "This path does not take that method; the Allow header names those it takes."),
    413: ("too_large", f"The body has more than {LARGEST_BODY} bytes."),
    415: ("not_json", "Send the body as JSON, with Content-Type: application/json."),
    500: ("failed", "Snoozer failed at this. Nothing was changed; the failure is in its log."),
    503: ("database_away", "The database cannot be reached now. Nothing was changed; try again in a moment."),
}


class Refused(Exception):
    """A request that is not done. `members` go into the problem details beside the usual ones."""

    def __init__(
        self, status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers or {}
        self.members = members


def fields_refused(errors: Mapping[str, str], **members: Any) -> Refused:
    """422 for a body or a query: what is wrong with each field, by its name."""
    listed = [{"field": field, "detail": detail} for field, detail in errors.items()]
    return Refused(422, "invalid_fields", " ".join(errors.values()), errors=listed, **members)


def name_refused(field: str, detail: str) -> Refused:
    """The same for a `field` whose name nobody knows, with the members that `snoozer when --json` has for it."""
    return fields_refused({field: detail}, error=f"unknown_{field}", message=detail, suggestions=[])


def of(refused: Refused) -> Response:
    """The answer that says so."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "code": refused.code,
        "detail": refused.detail,
        **refused.members,
    }
    response = Response(json.dumps(body, ensure_ascii=False), refused.status, mimetype=MEDIA_TYPE)
    response.headers.update(refused.headers)
    return response


def problem_of(error: HTTPException) -> Response:
    """The answer for what was refused before or outside a route: an unknown path, a wrong method, a failure."""
    status = error.code or 500
    code, detail = _KNOWN.get(status, (HTTPStatus(status).name.lower(), f"{HTTPStatus(status).description}."))
    headers = {name: value for name, value in error.get_headers() if name in _KEPT}
    return of(Refused(status, code, detail, headers={"Retry-After": "30"} | headers if status == 503 else headers))


def guard(blueprint: Blueprint) -> None:
    """Give the refusals of these routes their form, and no route a large body."""
    blueprint.before_request(_measure)
    blueprint.register_error_handler(Refused, of)
    blueprint.register_error_handler(SnoozeError, _of_cannot)


def _measure() -> None:
    request.max_content_length = LARGEST_BODY
    if (request.content_length or 0) > LARGEST_BODY:
        raise RequestEntityTooLarge


def _of_cannot(cannot: SnoozeError) -> Response:
    members: dict[str, Any] = {"suggestions": list(cannot.suggestions)} if cannot.suggestions else {}
    return of(Refused(422, cannot.code, cannot.message, **members))
