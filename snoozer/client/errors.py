"""The possible errors of a request: each has one sentence for people."""

from collections.abc import Mapping

from pydantic import ValidationError

from snoozer.client.models import Problem


class ApiError(Exception):
    """A request was not done, or its result is unknown."""


class Unreachable(ApiError):
    """No response arrived. `may_be_done` if the request was sent: a POST is always repeated with its key, other changes
    are not."""

    def __init__(self, sentence: str, *, may_be_done: bool) -> None:
        super().__init__(sentence)
        self.may_be_done = may_be_done


class Refused(ApiError):
    """The server refused; nothing was changed. `retry_after` is in seconds, if the server named it."""

    def __init__(self, problem: Problem, *, retry_after: float | None = None) -> None:
        super().__init__(problem.detail or f"The server answered {problem.status} {problem.title}".strip())
        self.problem = problem
        self.status = problem.status
        self.code = problem.code
        self.retry_after = retry_after


class Invalid(Refused):
    """400, 413, 415, 422: the request is invalid; `problem.errors` names fields, `problem.suggestions` has phrases that
    would have worked."""


class Unauthorized(Refused):
    """401: the token is unknown, revoked or expired."""


class Forbidden(Refused):
    """403: the token may not do that, or the address is not verified."""


class NotFound(Refused):
    """404: you have no such resource."""


class Conflict(Refused):
    """409: the snooze is over."""


class PreconditionFailed(Refused):
    """412: it no longer matches the ETag in `if_match`."""


class WaitTooLong(Refused):
    """429 or 503, even after all allowed waits: `retry_after` is when it may be tried again."""


class Failed(Refused):
    """500 and more: the server failed."""


_BY_STATUS: Mapping[int, type[Refused]] = {
    **dict.fromkeys((400, 413, 415, 422, 428), Invalid),
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    **dict.fromkeys((408, 429, 503), WaitTooLong),
}


def refused(status: int, body: bytes, *, retry_after: float | None) -> Refused:
    """The error for a status and its body, which may come from a proxy."""
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:
        problem = Problem(status=status)
    if problem.status != status:
        problem = problem.model_copy(update={"status": status})
    kind = _BY_STATUS.get(status, Failed if status >= 500 else Refused)
    return kind(problem, retry_after=retry_after)
