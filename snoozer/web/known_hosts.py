"""The names under which the site is served: the host of BASE_URL, and this machine's own. Requests for others are
refused with 421, so that a page never acts under a foreign name (DNS rebinding, cache poisoning)."""

from urllib.parse import urlsplit

from flask import Flask, abort, request

from snoozer.settings import Settings
from snoozer.web.auth import LOOPBACK

# Monitoring asks for the address of a process or a container.
OPEN_TO_EVERY_HOST = "health"


def init_app(app: Flask, *, settings: Settings) -> None:
    # The redirect from a double slash would be absolute, with the scheme of the request and the name that it gives.
    app.url_map.merge_slashes = False
    names = {*LOOPBACK, _ascii(urlsplit(settings.base_url).hostname or "")}

    @app.before_request
    def refuse_unknown_hosts() -> None:
        given = request.headers.get("Host")
        if given is None:
            if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1":
                abort(400)
        elif request.blueprint != OPEN_TO_EVERY_HOST:
            if not request.host:
                abort(400)
            if _name(request.host) not in names:
                abort(421)


def _name(host: str) -> str:
    return (urlsplit(f"//{host}").hostname or "").removesuffix(".")


def _ascii(name: str) -> str:
    try:
        return name.encode("idna").decode("ascii").removesuffix(".")
    except UnicodeError:
        return name
