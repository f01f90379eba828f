"""`/api/v1/openapi.json`: the API described for programs. The text is kept by hand beside this file, and tests hold it
against the routes."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from flask import Response

from snoozer.web.api import serializers
from snoozer.web.api.idempotency import answer


def describe() -> Response:
    """GET: the description, open to everybody; it holds nothing of anybody."""
    return answer(200, description() | {"servers": [{"url": serializers.absolute("/api/v1")}]})


@cache
def description() -> dict[str, Any]:
    """The description without the address of this site."""
    kept: dict[str, Any] = json.loads(files("snoozer.web.api").joinpath("openapi.json").read_text(encoding="utf-8"))
    return kept
