"""`Idempotency-Key`: a repeated request is done once and gets the first response again, for a day.

Only what was done is stored. A refusal changes nothing, so the same key may be tried again with a better body.
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
    has_secret: bool = False,
) -> Response:
    """Returns the response to `act`, or the stored one when the same key and `body` came before. One that `has_secret`
    is stored encrypted.

    Requests with one key wait for each other: of two at the same time one acts and the other gets its response. A
    repeated request is not judged by its If-Match again: what it changed is no longer as that says.
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
        saved = encryption.encrypt(context.settings().keys, plain).decode() if has_secret else plain
        accounts.save_response(
            connection, account_id=account_id, key=key, request_sha256=digest, status=status, body=saved
        )
        return _response(status, plain)
    if stored.request_sha256 != digest:
        detail = f"This {HEADER} came with another body before. Use a new key for a new request."
        raise Refused(422, "idempotency_key_reused", detail)
    response = _response(stored.status, _opened(stored.body) if has_secret else stored.body)
    response.headers[REPLAYED] = "true"
    return response


def is_replayed(response: Response) -> bool:
    """Whether it is the response to an earlier request, so that nothing was done by this one."""
    return REPLAYED in response.headers


def respond(status: int, reply: BaseModel) -> Response:
    """Returns `reply` as JSON with its ETag; with 201, Location holds the address of what is new. A reading client that
    names the ETag in If-None-Match gets 304."""
    return _response(status, reply.model_dump_json(exclude_unset=True))


def _opened(body: str) -> str:
    """Raises Refused with 409 where the keys that encrypted it are gone."""
    try:
        return encryption.decrypt(context.settings().keys, body.encode())
    except encryption.Undecryptable:
        raise Refused(409, "answer_lost", "It was done, and its answer cannot be read any more. Ask anew.") from None


def _response(status: int, plain: str) -> Response:
    """What has an `etag` and `links.self` of its own is known by these, and any other answer by its bytes."""
    response = Response(plain, status, mimetype="application/json")
    reply = json.loads(plain) if status == 201 or '"etag":' in plain else {}
    if status == 201 and "links" in reply:
        response.headers["Location"] = reply["links"]["self"]
    if "etag" in reply:
        return preconditions.answer(response, reply["etag"])
    return preconditions.answer(response, preconditions.body_etag(plain)) if request.method == "GET" else response
