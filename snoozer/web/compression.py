"""Pages, styles and scripts are sent compressed to browsers that accept it.

The token of forms is masked in each page (`csrf`), and the size of a compressed page differs by a random amount each
time, so that sizes do not reveal other contents of a page (BREACH, CVE-2013-3587; Heal the Breach, 2022).
"""

import gzip
import secrets
from functools import lru_cache
from io import BytesIO

from flask import Flask, Response, request

# Pictures and fonts are compressed already.
_STATIC = frozenset({"text/css", "text/javascript", "application/javascript", "image/svg+xml"})
_PAGE = "text/html"
# A smaller response fits into one packet anyway.
MIN_BYTES = 1_000
MAX_PADDING = 100
# Half the time of level 9 for a page that is a tenth larger.
_PAGE_LEVEL = 5


def init_app(app: Flask) -> None:
    app.after_request(_compress)


def _compress(response: Response) -> Response:
    is_static = request.endpoint == "static" and response.mimetype in _STATIC
    if not is_static and (response.mimetype != _PAGE or response.is_streamed):
        return response
    response.vary.add("Accept-Encoding")
    if (is_static and response.status_code != 200) or not request.accept_encodings["gzip"]:
        return response
    response.direct_passthrough = False
    content = response.get_data()
    if len(content) < MIN_BYTES:
        return response
    response.set_data(_compressed(content) if is_static else _padded(content))
    response.content_encoding = "gzip"
    # The bytes differ from the file's: the tag is weak, and no range applies (RFC 9110, 8.8.3).
    tag, _ = response.get_etag()
    if tag is not None:
        response.set_etag(tag, weak=True)
    response.headers.pop("Accept-Ranges", None)
    return response


@lru_cache(maxsize=64)
def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _padded(content: bytes) -> bytes:
    """Compresses the body, with a file name of random length in its header, which all readers skip (RFC 1952, 2.3)."""
    written = BytesIO()
    name = "p" * secrets.randbelow(MAX_PADDING)
    with gzip.GzipFile(name, "wb", compresslevel=_PAGE_LEVEL, fileobj=written, mtime=0) as file:
        file.write(content)
    return written.getvalue()
