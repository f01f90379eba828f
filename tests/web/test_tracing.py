"""What telemetry holds of requests: method, route and status. Nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from sqlalchemy import Engine, text

from snoozer.settings import Settings
from snoozer.telemetry.exporting import RedactingExporter
from tests.factories import HOUR, a_kept_message, now
from tests.otlp import collect_telemetry
from tests.web.live_site import LiveSite, live_site
from tests.web.reminders import a_link, a_sent_reminder

SECRET = "canary4711"
ODD_PATHS = (
    f"/nowhere/{SECRET}",
    f"/R/{SECRET}",
    f"//{SECRET}",
    f"/r//{SECRET}/",
    f"/r/%ff%00{SECRET}",
    f"/r/{SECRET}/..;/x",
    f"http://{SECRET}.example/r/{SECRET}",
)


def everywhere(app: Flask) -> Iterator[tuple[str, str]]:
    """Yields each route by each method, and paths without a route, with a secret wherever one fits."""
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<row:\w+>", "1", rule.rule)
        path = re.sub(r"<[^>]+>", SECRET, path)
        for method in ("GET", "POST", "DELETE"):
            yield method, f"{path}?phrase={SECRET}"
    for path in ODD_PATHS:
        yield "GET", path


def visit(site: LiveSite, app: Flask) -> None:
    for method, path in everywhere(app):
        status, _ = site.request(path, method=method, user_agent=SECRET, referer=f"http://{SECRET}")
        assert status < 500, (method, path)


def test_no_token_and_no_phrase_is_exported_with_a_trace(
    app: Flask, postgres_url: str, tmp_path: Path, engine: Engine
) -> None:
    with collect_telemetry() as collector:
        with live_site(postgres_url, tmp_path, **collector.settings) as site:
            visit(site, app)
            site.request("/nowhere", host=f"{SECRET}.example")
            site.request("/nowhere", method=SECRET.upper())
        spans = list(collector.spans())
    assert SECRET.encode() not in collector.everything.lower()
    names = {span.name for span in spans}
    assert {"GET /r/<token>", "GET /r/<token>/<act>", "POST /sign-in/<token>", "GET /api/v1/when"} <= names
    assert {"GET (no route)", "DELETE (no route)", "_OTHER (no route)"} <= names


def test_a_row_holds_the_trace_of_the_request_that_created_it(
    ann: FlaskClient, settings: Settings, engine: Engine
) -> None:
    link = a_link(engine, settings, a_sent_reminder(engine))
    paths = ("/add", f"/mailbox/{a_kept_message(engine)}/snooze", f"{link}/again")
    with TracerProvider().get_tracer("request").start_as_current_span("request") as span:
        for path in paths:
            ann.post(path, data={"subject": "Lease", "at": (now() + HOUR).isoformat()})
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT traceparent FROM email_snoozes WHERE NOT inactive")).scalars().all()
    assert len(rows) == len(paths)
    assert {str(row).split("-")[1] for row in rows} == {f"{span.get_span_context().trace_id:032x}"}


def test_no_error_message_of_a_page_is_exported() -> None:
    exported = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(RedactingExporter(exported)))
    tracer = tracers.get_tracer("opentelemetry.instrumentation.flask")
    with (
        pytest.raises(ValueError, match=SECRET),
        tracer.start_as_current_span(
            f"GET /r/{SECRET}",
            kind=SpanKind.SERVER,
            attributes={"http.method": "GET", "http.target": f"/r/{SECRET}", "url.full": f"http://x/r/{SECRET}"},
        ),
    ):
        raise ValueError(f"/r/{SECRET}")
    [span] = exported.get_finished_spans()
    assert (span.name, dict(span.attributes or {})) == ("GET (no route)", {"http.method": "GET"})
    assert SECRET not in span.to_json()


def test_unknown_hosts_and_methods_add_no_time_series(postgres_url: str, tmp_path: Path, engine: Engine) -> None:
    with live_site(postgres_url, tmp_path) as site:
        for method in ("GET", "BREW"):
            site.request("/sign-in", method=method)
        site.request("/sign-in", host="stranger.example")
        before = _series(site)
        for number in range(20):
            site.request("/sign-in", host=f"stranger{number}.example:{8000 + number}")
            site.request("/sign-in", method=f"BREW{number}")
        after = _series(site)
    assert before
    assert after == before


def _series(site: LiveSite) -> set[str]:
    _, page = site.request("/metrics")
    return {line.rpartition(" ")[0] for line in page.splitlines() if line.startswith("http_server")}
