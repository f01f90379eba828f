"""Security headers of every response: nothing from other hosts, nothing inline, no framing, no Referer."""

from functools import partial

from flask import Flask, Response, request

from snoozer.settings import Settings
from snoozer.web import auth

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"
# A year, for this host only: what else a domain serves is not ours to know.
STRICT_TRANSPORT_SECURITY = "max-age=31536000"


def init_app(app: Flask, *, settings: Settings) -> None:
    app.after_request(partial(_set_headers, secure=auth.is_secure(settings)))


def _set_headers(response: Response, *, secure: bool) -> Response:
    if secure:
        response.headers.setdefault("Strict-Transport-Security", STRICT_TRANSPORT_SECURITY)
    response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
    response.headers.setdefault("Referrer-Policy", "no-referrer")
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("X-Frame-Options", "DENY")
    response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
    response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("X-Robots-Tag", "noindex, nofollow")
    return response
