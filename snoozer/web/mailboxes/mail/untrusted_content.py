"""Parts of a stranger's message sent to a browser outside our pages: files to save, and the document of a frame."""

import re
import time
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Sequence
from io import BytesIO

from flask import Response, make_response, render_template, send_file

from snoozer.mail.html_sanitizer import MAX_DATA_URL, content_ids
from snoozer.mailboxes.read.mailbox import Attachment
from snoozer.translations import gettext as _
from snoozer.web.mailboxes.mail.safe_html import Busy, SafeHtml
from snoozer.web.security_headers import CONTENT_SECURITY_POLICY

# Limits for one page that shows a message as HTML.
MAX_PICTURES = 12
MAX_PICTURE_BYTES = MAX_DATA_URL * 3 // 4
# After this time no more pictures are read; it is also the timeout of each.
PICTURES_SECONDS = 5.0
_PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"})
MAX_NAME = 120
MAX_EXTENSION = 12
# The frame's document, equally safe without a frame: it runs no scripts and loads nothing; a link opens a new tab, to
# which this policy does not apply.
FRAME_SANDBOX = "allow-popups allow-popups-to-escape-sandbox"
FRAME_POLICY = (
    f"sandbox {FRAME_SANDBOX}; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'; "
    "base-uri 'none'; form-action 'none'"
)
FILE_POLICY = "default-src 'none'; sandbox"
RETRY_SECONDS = 5

SAFE_HTML = SafeHtml()

# Characters that some system forbids in a name, or that reverse the rest of it.
_UNFIT = re.compile(r'[<>:"/\\|?*]+')


def file_response(content: bytes, *, name: str) -> Response:
    """A file that no browser opens by itself, with a name that no system treats as a path (RFC 6266)."""
    response = send_file(
        BytesIO(content),
        mimetype="application/octet-stream",
        as_attachment=True,
        download_name=file_name(name),
        conditional=False,
        etag=False,
    )
    response.headers["Content-Security-Policy"] = FILE_POLICY
    response.headers["Cache-Control"] = "no-store"
    return response


def original_response(content: bytes, *, subject: str | None) -> Response:
    """The bytes of a message, named after its subject."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", subject or "").strip("-")[:60] or "message"
    return file_response(content, name=f"{name}.eml")


def file_name(name: str) -> str:
    """A stranger's file name made safe: a single path component, without invisible characters."""
    seen = "".join(char if unicodedata.category(char)[0] not in "CZ" else " " for char in name)
    plain = " ".join(_UNFIT.sub("-", seen).split()).lstrip(".-~ ").rstrip(". ")
    stem, dot, extension = plain.rpartition(".")
    if dot and stem and len(extension) <= MAX_EXTENSION:
        return f"{stem[: MAX_NAME - len(extension) - 1].rstrip('. ')}.{extension}"
    return plain[:MAX_NAME] or "attachment"


def frame_response(html: str, *, pictures: dict[str, str], account_id: int) -> Response:
    """The document of the frame that shows a message as its sender laid it out; 503 if too many are being made."""
    try:
        sanitized = SAFE_HTML.of(html, pictures=pictures, account_id=account_id)
    except Busy:
        response = frame_problem(_("Other messages are being prepared. Open this one again in a few seconds."), 503)
        response.headers["Retry-After"] = RETRY_SECONDS
        return response
    return _framed(render_template("mailboxes/mail/frame.html", sanitized=sanitized), 200)


def pictures_of(html: str, attachments: Sequence[Attachment], *, read: Callable[[Attachment], bytes]) -> dict[str, str]:
    """The pictures of the message that its HTML shows, as `data:` URLs by their Content-IDs: only a few, and no large
    ones, even if its server claims a smaller size."""
    wanted, until = content_ids(html), time.monotonic() + PICTURES_SECONDS
    shown = [
        part
        for part in attachments
        if part.content_id in wanted and part.type in _PICTURE_TYPES and part.size <= MAX_PICTURE_BYTES
    ]
    found: dict[str, str] = {}
    for part in shown[:MAX_PICTURES]:
        if time.monotonic() > until:
            break
        content = read(part)
        if len(content) <= MAX_PICTURE_BYTES:
            found[part.content_id or ""] = f"data:{part.type};base64,{b64encode(content).decode('ascii')}"
    return found


def frame_problem(sentence: str, status: int) -> Response:
    """A sentence in place of that document."""
    return _framed(render_template("mailboxes/mail/frame.html", sentence=sentence), status)


def allow_frame(response: Response) -> Response:
    """Allows our own pages to embed the frame."""
    response.headers["Content-Security-Policy"] = f"{CONTENT_SECURITY_POLICY}; frame-src 'self'"
    return response


def _framed(page: str, status: int) -> Response:
    response = make_response(page, status)
    response.headers["Content-Security-Policy"] = FRAME_POLICY
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    # Without TLS, browsers resolve the names in links beforehand: that would reveal to a sender that the message was
    # read.
    response.headers["X-DNS-Prefetch-Control"] = "off"
    return response
