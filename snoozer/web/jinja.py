"""What every template can say: times in the person's zone, names for what has none, files by their content."""

from functools import cache
from hashlib import sha256
from typing import Any

from flask import Flask, current_app, g, request, url_for

from snoozer.resources import resource_folder
from snoozer.timephrase.describe import span_in_words
from snoozer.web import auth, context
from snoozer.web.flash import said
from snoozer.web.text.history import by_day
from snoozer.web.text.phrase_text import following, lowered, rhythm_words
from snoozer.web.text.status import standing
from snoozer.web.text.time_format import bytes_in_words

NO_SUBJECT = "(no subject)"
NO_SENDER = "(no sender)"
LINE = 160
THEMES = ("auto", "light", "dark")


def init_app(app: Flask) -> None:
    app.context_processor(_known)
    app.jinja_env.globals.update(asset=_asset, standing=standing, toasts=said)
    app.jinja_env.filters.update(
        bytes=bytes_in_words,
        span=span_in_words,
        subject=_subject,
        sender=_sender,
        clipped=_clipped,
        groupby_day=by_day,
        following=following,
        lowered=lowered,
        rhythm=rhythm_words,
    )


def theme() -> str:
    """Light or dark where the person chose one, else as their device says."""
    chosen = auth.cookie("theme")
    return chosen if chosen in THEMES else "auto"


def keys() -> bool:
    """Single letters act on pages, unless the person switched that off in this browser."""
    return auth.cookie("keys") != "off"


def _known() -> dict[str, Any]:
    """Variables of every page. An error page is shown without asking the database who is looking."""
    person = g.get("account")
    return {
        "account": person,
        "clock": g.get("clock"),
        "theme": theme(),
        "keys": keys(),
        "has_sink": context.settings().sink,
        "here": _here(),
    }


def _here() -> str:
    """Where choosing colours leads back to: this page or, from a form's answer, the nearest page above its address."""
    if request.method in {"GET", "HEAD"}:
        return request.full_path.rstrip("?")
    pages, path = current_app.create_url_adapter(request), request.path
    while pages and len(path) > 1 and not pages.test(path, method="GET"):
        path = path.rpartition("/")[0]
    return path or "/"


def _asset(name: str) -> str:
    return url_for("static", filename=name, v=_digest(name))


@cache
def _digest(name: str) -> str:
    return sha256((resource_folder("static") / name).read_bytes()).hexdigest()[:12]


def _subject(subject: str | None) -> str:
    return subject if subject and subject.strip() else NO_SUBJECT


def _clipped(words: str) -> str:
    """What one line of a list can show of it."""
    return words if len(words) <= LINE else f"{words[:LINE].rstrip()}…"


def _sender(row: Any) -> str:
    """Who wrote it: the name where there is one, else the address."""
    return getattr(row, "sender_name", None) or row.sender_email or NO_SENDER
