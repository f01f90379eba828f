"""`Idempotency-Key`: a repeated request is done once and gets the first response again, for a day.

Only successes are stored. A refusal changes nothing, so the same key may be tried again with a better body.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from flask import Response, request
from pydantic import BaseModel
from sqlalchemy import Connection

from snoozer.db import accounts
from snoozer.runtime import encryption
from snoozer.web import context
from snoozer.web.api import preconditions
from snoozer.web.api.problems import Refused

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
MAX_KEY_LENGTH = 255


def run_once(
    connection: Connection,
    *,
    account_id: int,
    body: dict[str, Any],
    act: Callable[[], tuple[int, BaseModel]],
    secret_lasts: Callable[[int], bool] | None = None,
) -> Response:
    """Returns the response to `act`, or the stored response if the same key and `body` were sent before. A response
    with a secret is stored encrypted, and returned while `secret_lasts` is true of its `id`.

    Requests with one key wait for each other: if two run at the same time, one acts and the other gets its response.
    The If-Match of a repeated request is not checked again, because its first run changed the ETag.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return respond(*act())
    if not (0 < len(key) <= MAX_KEY_LENGTH and key.isascii() and key.isprintable()):
        raise Refused(422, "bad_idempotency_key", f"{HEADER} takes 1 to {MAX_KEY_LENGTH} printable ASCII characters.")
    accounts.lock_response(connection, account_id=account_id, key=key)
    canonical = json.dumps([request.method, request.path, body], sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    stored = accounts.saved_response(connection, account_id=account_id, key=key)
    if stored is None:
        status, reply = act()
        plain = reply.model_dump_json(exclude_unset=True)
        saved = encryption.encrypt(context.settings().keys, plain).decode() if secret_lasts else plain
        accounts.save_response(
            connection, account_id=account_id, key=key, request_sha256=digest, status=status, body=saved
        )
        return _response(status, plain)
    if stored.request_sha256 != digest:
        detail = f"This {HEADER} came with another body before. Use a new key for a new request."
        raise Refused(422, "idempotency_key_reused", detail)
    plain = _opened(stored.body) if secret_lasts else stored.body
    if secret_lasts and not secret_lasts(json.loads(plain)["id"]):
        raise Refused(409, "answer_lost", "It was done, and what it made was removed since. Use a new key.")
    response = _response(stored.status, plain)
    response.headers[REPLAYED] = "true"
    return response


def is_replayed(response: Response) -> bool:
    """Whether it is the response to an earlier request, so that this one did not act."""
    return REPLAYED in response.headers


def respond(status: int, reply: BaseModel) -> Response:
    """Returns `reply` as JSON with its ETag; with 201, Location holds the URL of the new resource. A GET with the ETag
    in If-None-Match gets 304."""
    return _response(status, reply.model_dump_json(exclude_unset=True))


def _opened(body: str) -> str:
    """Raises Refused with 409 if the keys that encrypted it are gone."""
    try:
        return encryption.decrypt(context.settings().keys, body.encode())
    except encryption.Undecryptable:
        raise Refused(409, "answer_lost", "It was done, and its answer cannot be read any more. Ask again.") from None


def _response(status: int, plain: str) -> Response:
    """A response with its own `etag` and `links.self` uses them; otherwise the ETag is computed from its bytes."""
    response = Response(plain, status, mimetype="application/json")
    reply = json.loads(plain) if status == 201 or '"etag":' in plain else {}
    if status == 201 and "links" in reply:
        response.headers["Location"] = reply["links"]["self"]
    if "etag" in reply:
        return preconditions.answer(response, reply["etag"])
    return preconditions.answer(response, preconditions.body_etag(plain)) if request.method == "GET" else response
