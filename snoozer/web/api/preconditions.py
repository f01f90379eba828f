"""`If-Match` and `If-None-Match` (RFC 9110, 13): a change is made to the state that its client saw, or not at all."""

import hashlib
import json
from collections.abc import Iterable

from flask import Response, request

from snoozer.db.queries import Found
from snoozer.db.state_words import public_state
from snoozer.queue.promise import OPTIONS
from snoozer.web.api.problems import Refused
from snoozer.web.text.version import version_of

# An ETag changes with every change of the answer, also by a worker, so it has more than the version of the pages.
_BESIDE_VERSION = (
    *("id", "subject", "sender_email", "remind_at", "deferred_until", "wall_time", "time_kind", "inactive"),
    *("claimed_at", "attempts", "last_error_at", "updated_at", *OPTIONS),
)


def snooze_etag(row: Found) -> str:
    """The strong ETag of a snooze: another one whenever the row or its state is another one."""
    values = [
        public_state(row.state, row.why),
        version_of(row),
        *(getattr(row, name) for name in _BESIDE_VERSION),
    ]
    return _quoted(json.dumps(values, default=str, sort_keys=True))


def body_etag(body: str) -> str:
    """The strong ETag of an answer by its bytes."""
    return _quoted(body)


def list_etag(etags: Iterable[str]) -> str:
    """The strong ETag of a list of snoozes: it changes whenever the ETag of a snooze does."""
    return _quoted("".join(etags))


def check(etag: str) -> None:
    """Raises Refused with 412 if `If-Match` names other states only. The caller must have locked the row."""
    if "If-Match" not in request.headers:
        return
    if not request.if_match.contains(etag.strip('"')):
        detail = "It has changed since the state that If-Match names, so nothing was done. Read it again."
        raise Refused(412, "changed", detail, headers={"ETag": etag})


def answer(response: Response, etag: str) -> Response:
    """The response with its ETag; an empty 304 for a reading client that has it already."""
    response.headers["ETag"] = etag
    if request.method in {"GET", "HEAD"} and response.status_code == 200:
        response.make_conditional(request)
    return response


def _quoted(text: str) -> str:
    return f'"{hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]}"'
