"""`Idempotency-Key`: a request that is repeated is done once and answered alike, for a day.

Only what was done is remembered. A refusal changes nothing, so the same key may be tried again with a better body.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from flask import Response, request
from sqlalchemy import Connection

from snoozer.db import accounts
from snoozer.web.api.problems import Refused

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
LONGEST_KEY = 255


def once(
    connection: Connection, *, account_id: int, body: dict[str, Any], act: Callable[[], tuple[int, dict[str, Any]]]
) -> Response:
    """Do `act`, or answer what the same request was answered before.

    Requests with one key wait for each other, so of two at the same time one acts and the other hears its answer.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return answer(*act())
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise Refused(422, "bad_idempotency_key", f"{HEADER} takes 1 to {LONGEST_KEY} printable ASCII characters.")
    accounts.lock_response(connection, account_id=account_id, key=key)
    asked = _digest(body)
    before = accounts.saved_response(connection, account_id=account_id, key=key)
    if before is None:
        status, told = act()
        accounts.save_response(
            connection, account_id=account_id, key=key, request_sha256=asked, status=status, body=json.dumps(told)
        )
        return answer(status, told)
    if before.request_sha256 != asked:
        raise Refused(
            422,
            "idempotency_key_reused",
            f"This {HEADER} came with another body before. Use a new key for a new request.",
        )
    response = answer(before.status, json.loads(before.body))
    response.headers[REPLAYED] = "true"
    return response


def answer(status: int, body: dict[str, Any]) -> Response:
    """A JSON answer; a new thing also has its address in Location."""
    response = Response(json.dumps(body, ensure_ascii=False), status, mimetype="application/json")
    if status == 201:
        response.headers["Location"] = body["links"]["self"]
    return response


def _digest(body: dict[str, Any]) -> str:
    """The request, however its JSON was spaced and ordered."""
    canonical = json.dumps([request.method, request.path, body], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
