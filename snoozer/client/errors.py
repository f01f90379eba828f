"""What a request can end with: each error has one sentence for people."""

from collections.abc import Mapping

from pydantic import ValidationError

from snoozer.client.models import Problem


class ApiError(Exception):
    """A request was not done, or it is not known whether it was."""


class Unreachable(ApiError):
    """No answer came. `may_be_done` where the request was sent: a POST is repeated with its key in any case, other
    changes are not."""

    def __init__(self, sentence: str, *, may_be_done: bool) -> None:
        super().__init__(sentence)
        self.may_be_done = may_be_done


class Refused(ApiError):
    """The server refused; nothing was changed. `retry_after` is in seconds, where the server named it."""

    def __init__(self, problem: Problem, *, retry_after: float | None = None) -> None:
        super().__init__(problem.detail or f"The server answered {problem.status} {problem.title}".strip())
        self.problem = problem
        self.status = problem.status
        self.code = problem.code
        self.retry_after = retry_after


class Invalid(Refused):
    """400, 413, 415, 422: the request has to be another one; `problem.errors` names fields, `problem.suggestions` has
    phrases that would have worked."""


class Unauthorized(Refused):
    """401: the token is unknown, revoked or expired."""


class Forbidden(Refused):
    """403: the token may not do that, or the address is not verified."""


class NotFound(Refused):
    """404: there is no such thing of yours."""


class Conflict(Refused):
    """409: the snooze is over."""


class PreconditionFailed(Refused):
    """412: it is not any more what `if_match` names."""


class WaitTooLong(Refused):
    """429 or 503, still after all waits that were allowed: `retry_after` says when it may be tried again."""


class Failed(Refused):
    """500 and more: the server failed at this."""


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
    """The error of a status and its body, which may come from something before the server."""
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:
        problem = Problem(status=status)
    if problem.status != status:
        problem = problem.model_copy(update={"status": status})
    kind = _BY_STATUS.get(status, Failed if status >= 500 else Refused)
    return kind(problem, retry_after=retry_after)
