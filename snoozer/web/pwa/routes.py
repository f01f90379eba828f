"""The parts of an installable app: its manifest, its service worker, and the offline page.

The worker caches styles, scripts, icons and that page, never a page with personal data.
"""

import hashlib
import json
from functools import cache

from flask import Blueprint, Response, g, make_response, render_template, url_for
from flask.typing import ResponseReturnValue

from snoozer.resources import resource_folder
from snoozer.web.jinja import asset_url

blueprint = Blueprint("pwa", __name__)

NAME = "Snoozer"
BACKGROUND = "#f6f4ef"
_KEPT = ("*.css", "*.js", "*.svg", "icons/*.png")
_WORKER = "sw.js"


@blueprint.get("/manifest.webmanifest")
def manifest() -> ResponseReturnValue:
    """Equal for all people; browsers request it without cookies."""
    icons = [
        {"src": asset_url("snoozer.svg"), "type": "image/svg+xml", "sizes": "any", "purpose": "any"},
        *(_icon(f"{size}", size, "any") for size in (192, 512)),
        *(_icon(f"maskable-{size}", size, "maskable") for size in (192, 512)),
    ]
    content = {
        "id": "/mailbox",
        "name": NAME,
        "short_name": NAME,
        "description": "Put a message away and get it back at its time.",
        "start_url": url_for("mailbox.browse"),
        "scope": "/",
        "display": "standalone",
        "background_color": BACKGROUND,
        "theme_color": BACKGROUND,
        "icons": icons,
        "shortcuts": [
            {"name": "Mailbox", "url": url_for("mailbox.browse")},
            {"name": "Asleep", "url": url_for("snoozes.home")},
            {"name": "Add", "url": url_for("mailbox.add")},
        ],
        # By POST: shared text must not be in a URL, which browsers remember and proxies log.
        "share_target": {
            "action": url_for("share.receive"),
            "method": "POST",
            "enctype": "multipart/form-data",
            "params": {
                "title": "title",
                "text": "text",
                "url": "url",
                "files": [{"name": "message", "accept": ["message/rfc822", ".eml"]}],
            },
        },
    }
    return Response(json.dumps(content, indent=1), mimetype="application/manifest+json")


@blueprint.get("/sw.js")
def service_worker() -> ResponseReturnValue:
    """Served at the top of the site, because a worker's scope is the folder of its script. Its bytes change with the
    cached files, by which browsers detect a new version."""
    return Response(f"{_shell()}{_script()}", mimetype="text/javascript")


@blueprint.get("/offline")
def offline() -> ResponseReturnValue:
    """The page that an installed app shows if the site is unreachable. No form, no name: browsers cache it."""
    response = make_response(render_template("pwa/offline.html"))
    response.content_language.add(g.locale.replace("_", "-"))
    return response


def _icon(name: str, size: int, purpose: str) -> dict[str, str]:
    source = asset_url(f"icons/{name}.png")
    return {"src": source, "type": "image/png", "sizes": f"{size}x{size}", "purpose": purpose}


def _shell() -> str:
    folder = resource_folder("static")
    names = sorted(path.relative_to(folder).as_posix() for pattern in _KEPT for path in folder.glob(pattern))
    files = [asset_url(name) for name in names if name != _WORKER]
    page = (resource_folder("templates") / "pwa" / "offline.html").read_text(encoding="utf-8")
    version = hashlib.sha256("\n".join([*files, page, _script()]).encode()).hexdigest()[:12]
    return f"const SHELL = {json.dumps({'version': version, 'files': files, 'offline': url_for('.offline')})};\n"


@cache
def _script() -> str:
    return (resource_folder("static") / _WORKER).read_text(encoding="utf-8")
