"""The web application: pages, links in mails, and the API."""

import atexit
import logging
import sys
import time
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
from snoozer.runtime.backoff import Backoff
from snoozer.settings import Settings, SettingsError
from snoozer.telemetry import log_format
from snoozer.web import (
    api,
    auth,
    body_limits,
    compression,
    context,
    csrf,
    errors,
    forms,
    jinja,
    known_hosts,
    language,
    quotas,
    request_counts,
    security_headers,
)
from snoozer.web.api import rate_limits
from snoozer.web.dev_mail.routes import blueprint as dev_mail
from snoozer.web.health.routes import blueprint as health
from snoozer.web.live import streams
from snoozer.web.live.routes import blueprint as live
from snoozer.web.mailboxes.connected.routes import blueprint as mailboxes
from snoozer.web.mailboxes.connected.sign_in import blueprint as mailbox_sign_in
from snoozer.web.mailboxes.mail.routes import blueprint as mailbox
from snoozer.web.notify.feeds.routes import blueprint as feeds
from snoozer.web.notify.push.routes import blueprint as push
from snoozer.web.notify.webhooks.routes import blueprint as webhooks
from snoozer.web.operators import watching
from snoozer.web.operators.accounts import blueprint as admin_accounts
from snoozer.web.operators.audit import blueprint as admin_audit
from snoozer.web.operators.breakers import blueprint as admin_breakers
from snoozer.web.operators.case_views import blueprint as admin_case_views
from snoozer.web.operators.cases import blueprint as admin_cases
from snoozer.web.operators.confirmation import blueprint as admin_confirmation
from snoozer.web.operators.mailboxes import blueprint as admin_mailboxes
from snoozer.web.operators.operations import blueprint as admin_operations
from snoozer.web.operators.overview import blueprint as admin
from snoozer.web.operators.pauses import blueprint as admin_pauses
from snoozer.web.operators.runbook import blueprint as admin_runbook
from snoozer.web.people.addresses.routes import blueprint as own_addresses
from snoozer.web.people.devices.routes import blueprint as devices
from snoozer.web.people.personal_data.deletion import blueprint as deletion
from snoozer.web.people.personal_data.routes import blueprint as personal_data
from snoozer.web.people.programs.description import blueprint as api_description
from snoozer.web.people.programs.routes import blueprint as programs
from snoozer.web.people.settings.routes import blueprint as settings_pages
from snoozer.web.people.setup import console
from snoozer.web.people.setup.routes import blueprint as setup
from snoozer.web.people.sign_in.organisation import blueprint as organisation_sign_in
from snoozer.web.people.sign_in.routes import blueprint as sign_in
from snoozer.web.pwa.routes import blueprint as pwa
from snoozer.web.share.routes import blueprint as share
from snoozer.web.snoozes.bulk.routes import blueprint as bulk
from snoozer.web.snoozes.day_shape.routes import blueprint as day_shape
from snoozer.web.snoozes.occurrences import blueprint as occurrences
from snoozer.web.snoozes.reminder_links.routes import blueprint as reminder_links
from snoozer.web.snoozes.routes import blueprint as snoozes
from snoozer.web.snoozes.search_suggestions.routes import blueprint as search_suggestions

BLUEPRINTS = (
    sign_in,
    organisation_sign_in,
    setup,
    snoozes,
    occurrences,
    mailbox,
    reminder_links,
    settings_pages,
    own_addresses,
    personal_data,
    day_shape,
    deletion,
    mailboxes,
    mailbox_sign_in,
    devices,
    feeds,
    programs,
    api_description,
    push,
    webhooks,
    share,
    pwa,
    live,
    search_suggestions,
    bulk,
    dev_mail,
    api.blueprint,
    admin,
    admin_breakers,
    admin_case_views,
    admin_cases,
    admin_accounts,
    admin_audit,
    admin_confirmation,
    admin_mailboxes,
    admin_operations,
    admin_pauses,
    admin_runbook,
    health,
)


class Site(Flask):
    """Flask whose templates escape everything, whatever the file is called, and fail on a missing variable."""

    jinja_options = {  # noqa: RUF012 - Flask's own attribute
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }

    def log_exception(self, exc_info: Any) -> None:
        """Logs the route, never the path: the paths of links hold tokens."""
        route = request.url_rule.rule if request.url_rule else "no route"
        self.logger.error("Exception on %s %s", request.method, route, exc_info=exc_info)


def create_app(*, engine: Engine, settings: Settings) -> Flask:
    """Returns the whole site on this database."""
    templates, static = str(resource_folder("templates")), str(resource_folder("static"))
    app = Site("snoozer", template_folder=templates, static_folder=static)
    app.config.update(
        SECRET_KEY=settings.keys[0],
        SECRET_KEY_FALLBACKS=list(settings.keys[1:]),
        SESSION_COOKIE_NAME=auth.cookie_name(settings, "form"),
        SESSION_COOKIE_SECURE=auth.is_secure(settings),
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SEND_FILE_MAX_AGE_DEFAULT=timedelta(days=365),
    )
    app.json.sort_keys = False  # type: ignore[attr-defined]
    if hops := settings.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops)  # type: ignore[method-assign]
    context.init_app(app, engine=engine, settings=settings)
    language.init_app(app)
    streams.init_app(app, engine=engine)
    watching.init_app(app, engine=engine, settings=settings)
    security_headers.init_app(app, settings=settings)
    compression.init_app(app)
    errors.init_app(app)
    known_hosts.init_app(app, settings=settings)
    body_limits.init_app(app)
    quotas.init_app(app)
    rate_limits.init_app(app)
    forms.init_app(app)
    csrf.init_app(app, exempt=(api.blueprint, reminder_links, push, share))
    jinja.init_app(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    return app


def required_settings() -> Settings:
    """Returns the site's settings; exits with status 2 and one sentence when one is missing or invalid."""
    try:
        return environment.load().require("database_url", "secret_key", "smtp_url", "mail_from", "base_url")
    except SettingsError as error:
        print(f"snoozer: {error}", file=sys.stderr)  # noqa: T201 - logging is not set up yet
        raise SystemExit(2) from None


def from_environment() -> Flask:
    """Returns the site that the environment describes, with telemetry; exits like `required_settings`."""
    settings = required_settings()
    log_format.configure(settings.log_format, process="web", level=logging.WARNING)
    engine = make_engine(settings.database_url.get_secret_value(), name="web", pgbouncer=settings.pgbouncer)
    atexit.register(telemetry.start(service=telemetry.WEB, engine=engine, **settings.telemetry))
    app = create_app(engine=engine, settings=settings)
    if telemetry.reading.tracer is not None:
        # Imported here, because most sites export no spans.
        from snoozer.web.request_spans import trace_requests

        trace_requests(app)
    request_counts.init_app(app)
    # Pages are already served while this waits: /healthz is 200, and /readyz is 503 until the schema exists.
    Thread(target=_after_migration, args=(engine, settings), name="schema", daemon=True).start()
    return app


def _after_migration(engine: Engine, settings: Settings) -> None:
    """Reports a missing schema, and prints the setup link once there is one."""
    backoff = Backoff(first=1.0, cap=60.0)
    while True:
        try:
            schema.wait_until_migrated(engine, stopping=Event())
            return console.print_link(engine, settings)
        except DBAPIError:
            time.sleep(backoff.next_wait())
