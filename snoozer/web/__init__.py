"""ENTRANCE for the browser, for links in mails and for programs."""

import atexit
import sys
from datetime import timedelta
from typing import Any

from flask import Flask, request
from jinja2 import StrictUndefined
from sqlalchemy import Engine
from werkzeug.middleware.proxy_fix import ProxyFix

from snoozer import settings as environment
from snoozer import telemetry
from snoozer.postgres.engine import connect
from snoozer.settings import Settings, SettingsRefused
from snoozer.shipped import folder
from snoozer.web import (
    add,
    admin,
    api,
    current,
    errors,
    forms,
    headers,
    health,
    links,
    mailbox,
    preferences,
    rendering,
    sign_in,
    sink,
    snoozes,
    traces,
    visitor,
    when,
)

# What a form may carry besides the file: fields and the borders between them.
FORM_ALLOWANCE = 64 * 1024
LARGEST_FIELDS = 256 * 1024


class Site(Flask):
    """Flask with templates that escape everything, whatever the file is called, and that name no missing variable."""

    jinja_options = {  # noqa: RUF012 - Flask's own attribute
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }

    def log_exception(self, exc_info: Any) -> None:
        """Name the route, never the path: the paths of links hold tokens."""
        route = request.url_rule.rule if request.url_rule else "no route"
        self.logger.error("Exception on %s %s", request.method, route, exc_info=exc_info)


def create_app(*, engine: Engine, settings: Settings) -> Flask:
    """The whole site on this database."""
    app = Site("snoozer", template_folder=str(folder("templates")), static_folder=str(folder("static")))
    secure = visitor.is_secure(settings)
    app.config.update(
        SECRET_KEY=settings.keys[0],
        SECRET_KEY_FALLBACKS=list(settings.keys[1:]),
        SESSION_COOKIE_NAME=visitor.cookie_name(settings, "form"),
        SESSION_COOKIE_SECURE=secure,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SEND_FILE_MAX_AGE_DEFAULT=timedelta(days=365),
        MAX_CONTENT_LENGTH=settings.largest_message + FORM_ALLOWANCE,
        MAX_FORM_MEMORY_SIZE=LARGEST_FIELDS,
        MAX_FORM_PARTS=100,
    )
    app.json.sort_keys = False  # type: ignore[attr-defined]
    if settings.trusted_proxies:
        hops = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops)  # type: ignore[method-assign]
    current.furnish(app, engine=engine, settings=settings)
    app.url_map.converters["row"] = forms.RowNumber
    headers.init_app(app)
    errors.init_app(app)
    forms.init_app(app, exempt=(api.blueprint, links.blueprint))
    rendering.init_app(app)
    for room in (sign_in, snoozes, mailbox, add, when, links, preferences, sink, api, admin, health):
        app.register_blueprint(room.blueprint)
    return app


def needed() -> Settings:
    """The site's settings; leaves with one sentence and status 2 when they make no sense."""
    try:
        return environment.load().need("database_url", "secret_key", "smtp_url", "mail_from", "base_url")
    except SettingsRefused as refused:
        print(f"snoozer: {refused}", file=sys.stderr)  # noqa: T201 - there is no page yet to say it on
        raise SystemExit(2) from None


def from_environment() -> Flask:
    """The site as the environment describes it, or the end of the process as with `needed`."""
    settings = needed()
    engine = connect(settings.database_url.get_secret_value(), name="web", pgbouncer=settings.pgbouncer)
    atexit.register(telemetry.start(service="snoozer-web", engine=engine, **settings.telemetry))
    app = create_app(engine=engine, settings=settings)
    traces.instrument(app)
    return app
