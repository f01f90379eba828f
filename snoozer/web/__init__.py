"""ENTRANCE for the browser, for links in mails and for programs."""

import atexit
import sys
from contextlib import suppress
from datetime import timedelta
from threading import Event, Thread
from typing import Any

from flask import Flask, request
from jinja2 import StrictUndefined
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from werkzeug.middleware.proxy_fix import ProxyFix

from snoozer import settings as environment
from snoozer import telemetry
from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.resources import resource_folder
from snoozer.settings import Settings, SettingsError
from snoozer.web import admin, api, auth, context, errors, forms, jinja, security_headers, tracing
from snoozer.web.add.routes import blueprint as add_blueprint
from snoozer.web.dev_mail.routes import blueprint as dev_mail_blueprint
from snoozer.web.health.routes import blueprint as health_blueprint
from snoozer.web.mailbox.routes import blueprint as mailbox_blueprint
from snoozer.web.reminder_links.routes import blueprint as reminder_links_blueprint
from snoozer.web.settings.routes import blueprint as settings_blueprint
from snoozer.web.sign_in.routes import blueprint as sign_in_blueprint
from snoozer.web.snoozes import preview
from snoozer.web.snoozes.routes import blueprint as snoozes_blueprint

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
    app = Site(
        "snoozer", template_folder=str(resource_folder("templates")), static_folder=str(resource_folder("static"))
    )
    secure = auth.is_secure(settings)
    app.config.update(
        SECRET_KEY=settings.keys[0],
        SECRET_KEY_FALLBACKS=list(settings.keys[1:]),
        SESSION_COOKIE_NAME=auth.cookie_name(settings, "form"),
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
    context.furnish(app, engine=engine, settings=settings)
    app.url_map.converters["row"] = forms.RowNumber
    security_headers.init_app(app)
    errors.init_app(app)
    forms.init_app(app, exempt=(api.blueprint, reminder_links_blueprint))
    jinja.init_app(app)
    for blueprint in (
        sign_in_blueprint,
        snoozes_blueprint,
        mailbox_blueprint,
        add_blueprint,
        preview.blueprint,
        reminder_links_blueprint,
        settings_blueprint,
        dev_mail_blueprint,
        api.blueprint,
        admin.blueprint,
        health_blueprint,
    ):
        app.register_blueprint(blueprint)
    return app


def needed() -> Settings:
    """The site's settings; leaves with one sentence and status 2 when they make no sense."""
    try:
        return environment.load().require("database_url", "secret_key", "smtp_url", "mail_from", "base_url")
    except SettingsError as refused:
        print(f"snoozer: {refused}", file=sys.stderr)  # noqa: T201 - there is no page yet to say it on
        raise SystemExit(2) from None


def from_environment() -> Flask:
    """The site as the environment describes it, or the end of the process as with `needed`."""
    settings = needed()
    engine = make_engine(settings.database_url.get_secret_value(), name="web", pgbouncer=settings.pgbouncer)
    atexit.register(telemetry.start(service="snoozer-web", engine=engine, **settings.telemetry))
    app = create_app(engine=engine, settings=settings)
    tracing.instrument(app)
    # Pages are served meanwhile: /healthz is 200, and /readyz is 503 until the schema is there.
    Thread(target=_report_missing_schema, args=(engine,), name="schema", daemon=True).start()
    return app


def _report_missing_schema(engine: Engine) -> None:
    with suppress(DBAPIError):
        schema.wait_until_migrated(engine, stopping=Event())
