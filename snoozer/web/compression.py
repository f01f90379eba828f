"""Static files are sent compressed to browsers that accept it.

Pages are not: they hold the token of forms, which Flask-WTF does not mask for each response, beside texts of others
and of the request, so the sizes of compressed pages would tell it letter by letter (BREACH, CVE-2013-3587).
"""

import gzip
from functools import lru_cache

from flask import Flask, Response, request

# Pictures and fonts are compressed already.
_TYPES = frozenset({"text/css", "text/javascript", "application/javascript", "image/svg+xml"})
# What fits into one packet anyway.
MIN_BYTES = 1_000


def init_app(app: Flask) -> None:
    app.after_request(_compress)


def _compress(response: Response) -> Response:
    if request.endpoint != "static" or response.mimetype not in _TYPES:
        return response
    response.vary.add("Accept-Encoding")
    if response.status_code != 200 or not request.accept_encodings["gzip"]:
        return response
    response.direct_passthrough = False
    content = response.get_data()
    if len(content) < MIN_BYTES:
        return response
    response.set_data(_compressed(content))
    response.content_encoding = "gzip"
    # Other bytes than the file's: the tag is weak, and no range is taken of them (RFC 9110, 8.8.3).
    tag, _ = response.get_etag()
    if tag is not None:
        response.set_etag(tag, weak=True)
    response.headers.pop("Accept-Ranges", None)
    return response


@lru_cache(maxsize=64)
def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
