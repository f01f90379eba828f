"""Globals of all templates: filters for times and texts, the flashed messages, static files by their content."""

from functools import cache
from hashlib import sha256
from typing import Any
from uuid import uuid4

from flask import Flask, current_app, g, request, url_for

from snoozer import translations
from snoozer.db.list_changes import is_snapshot
from snoozer.resources import resource_folder
from snoozer.snoozes.recurrence import is_someday
from snoozer.timephrase.describe import span_in_words
from snoozer.translations import N_, current_language, language_of
from snoozer.translations import gettext as _
from snoozer.web import auth, context, language
from snoozer.web.front import STREAM
from snoozer.web.mailboxes.mail.untrusted_content import FRAME_SANDBOX
from snoozer.web.operators.audit_texts import actor_text
from snoozer.web.text.arrival_text import rest_text
from snoozer.web.text.browser_name import browser_in_words
from snoozer.web.text.history import group_by_day
from snoozer.web.text.initials import initials, tone
from snoozer.web.text.mailbox_state import mailbox_state
from snoozer.web.text.phrase_text import lower_first, recurrence_text, upcoming_times
from snoozer.web.text.script_messages import script_messages
from snoozer.web.text.status import Status, late_return, status_of
from snoozer.web.text.time_format import TimeFormatter, size_in_words
from snoozer.web.text.web_links import web_links

NO_SUBJECT = N_("(no subject)")
NO_SENDER = N_("(no sender)")
MAX_LINE_LENGTH = 160
THEMES = ("auto", "light", "dark")


def init_app(app: Flask) -> None:
    app.context_processor(_page_variables)
    translations.use_in_templates(app.jinja_env)
    app.jinja_env.globals.update(
        asset=asset_url,
        status_of=_status_of,
        late_return=late_return,
        mailbox_state=mailbox_state,
        flashes=context.flashes,
        new_page_id=uuid4,
        frame_sandbox=FRAME_SANDBOX,
        list_state=_list_state,
        script_messages=script_messages,
    )
    app.jinja_env.tests["someday"] = is_someday
    app.jinja_env.filters.update(
        bytes=size_in_words,
        span=span_in_words,
        subject=_subject,
        sender=_sender,
        clipped=_clipped,
        initials=initials,
        tone=tone,
        group_by_day=group_by_day,
        upcoming_times=upcoming_times,
        lower_first=lower_first,
        recurrence_text=recurrence_text,
        web_links=web_links,
        rest_text=rest_text,
        browser=browser_in_words,
        fingerprint=_fingerprint,
        actor=actor_text,
    )


def _page_variables() -> dict[str, Any]:
    """Returns the variables of every page. Does not look up the account: an error page needs no database."""
    theme, locale = auth.get_cookie("theme"), g.get("locale", language.DEFAULT)
    return {
        "account": g.get("account"),
        "times": g.get("times"),
        "delivery": g.get("delivery"),
        "leaving": g.get("leaving"),
        "troubled_mailboxes": g.get("troubled_mailboxes", ()),
        "locale": locale,
        "page_language": locale if language_of(locale) == current_language() else current_language(),
        "off_webhooks": g.get("off_webhooks", ()),
        "short_locales": language.SHORT_NAMES,
        "theme": theme if theme in THEMES else "auto",
        "shortcuts_enabled": auth.get_cookie("keys") != "off",
        "has_sink": context.settings().sink,
        "has_oidc": context.oidc_provider() is not None,
        "has_mail_sign_in": context.settings().mail_sign_in == "on",
        "sample_imap_port": context.settings().sample_imap_port,
        "current_path": _current_path(),
    }


def _list_state() -> dict[str, str]:
    """Returns a list's data for its script: the snapshot that it shows, empty if that is too long for a query, the time
    of the page, and whether a stream of its changes exists."""
    snapshot = g.get("snapshot", "")
    return {
        "seen": snapshot if is_snapshot(snapshot) else "",
        "now": g.times.now.isoformat(),
        "live": "stream" if STREAM in request.environ else "poll",
    }


def _status_of(row: Any, times: TimeFormatter) -> Status:
    return status_of(row, times=times, delivery=g.get("delivery"))


def _current_path() -> str:
    """Returns this page's path or, for the response to a form, the nearest parent path that is a page."""
    if request.method in {"GET", "HEAD"}:
        return request.full_path.rstrip("?")
    pages, path = current_app.create_url_adapter(request), request.path
    while pages and len(path) > 1 and not pages.test(path, method="GET"):
        path = path.rpartition("/")[0]
    return path or "/"


def asset_url(name: str) -> str:
    """Returns the URL of a static file; it changes with the content, so that browsers may cache it for ever."""
    return url_for("static", filename=name, v=_digest(name))


@cache
def _digest(name: str) -> str:
    return sha256((resource_folder("static") / name).read_bytes()).hexdigest()[:12]


def _subject(subject: str | None) -> str:
    return subject if subject and subject.strip() else _(NO_SUBJECT)


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_LINE_LENGTH else f"{text[:MAX_LINE_LENGTH].rstrip()}…"


def _sender(row: Any) -> str:
    """Returns the sender's name if it is known, else the address."""
    return getattr(row, "sender_name", None) or row.sender_email or _(NO_SENDER)


def _fingerprint(secret: str) -> str:
    """A digest by which a page's script recognises its data of the same text."""
    return sha256(secret.encode("utf-8")).hexdigest()[:16]
