"""Telemetry exports counts and times, and no address, subject or token."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import IntegrityError

from snoozer import telemetry
from snoozer.db.engine import TimeoutConnection, make_engine
from snoozer.telemetry_export import RedactingExporter
from tests.factories import ANN, a_snooze

REQUEST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans of statements, for one test."""
    exported, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(RedactingExporter(exported)))
    # Uninstrumenting leaves a method bound to psycopg's own class, which would open no TimeoutConnection; undoing this
    # restores the real one.
    monkeypatch.setattr(psycopg.Connection, "connect", vars(psycopg.Connection)["connect"])
    PsycopgInstrumentor().instrument(tracer_provider=tracers)
    yield exported
    PsycopgInstrumentor().uninstrument()


def test_a_traced_connection_still_has_a_read_timeout(engine: Engine, spans: InMemorySpanExporter) -> None:
    watched = make_engine(engine.url.render_as_string(hide_password=False), name="traced")
    with watched.connect() as connection:
        connection.execute(text("SELECT 1"))
        assert isinstance(connection.connection.driver_connection, TimeoutConnection)
    watched.dispose()
    assert spans.get_finished_spans()


def test_values_that_postgres_quotes_in_an_error_are_not_exported(engine: Engine, spans: InMemorySpanExporter) -> None:
    watched = create_engine(engine.url)
    a_snooze(engine, message_id="<secret@mail.example>")
    insert = text("INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:who, :what, now())")
    try:
        with watched.begin() as connection:
            connection.execute(insert, {"who": ANN, "what": "<secret@mail.example>"})
    except IntegrityError as error:
        assert "secret" in str(error.orig)
    watched.dispose()
    finished = spans.get_finished_spans()
    assert any(not span.status.is_ok for span in finished)
    everything = " ".join(span.to_json() for span in finished)
    assert "secret" not in everything
    assert ANN not in everything


def test_a_delivery_is_a_span_linked_to_the_request_that_snoozed_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    exported = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exported))
    monkeypatch.setattr(telemetry.tracing, "tracer", tracers.get_tracer("snoozer"))
    for traceparent in (REQUEST, None, "nonsense"):
        span = telemetry.delivery_span(traceparent=traceparent, snooze_id=42)
        assert span.is_recording()
        span.end()
    linked, *others = exported.get_finished_spans()
    assert linked.name == "queue.process"
    assert dict(linked.attributes or {}) == {"queue": "email_snoozes", "job.id": 42}
    assert [f"{link.context.trace_id:032x}" for link in linked.links] == [REQUEST.split("-")[1]]
    assert [list(span.links) for span in others] == [[], []]


def test_without_tracing_a_delivery_is_no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry.tracing, "tracer", None)
    assert not telemetry.delivery_span(traceparent=REQUEST, snooze_id=42).get_span_context().is_valid


def gauges_of(engine: Engine) -> InMemoryMetricReader:
    """A reader of all gauges of this database."""
    reader = InMemoryMetricReader()
    telemetry.register_gauges(engine, MeterProvider(metric_readers=[reader]).get_meter("snoozer"))
    return reader


def test_all_gauges_together_execute_each_query_once(engine: Engine) -> None:
    executed: list[str] = []
    watched = create_engine(engine.url)
    event.listen(watched, "before_cursor_execute", lambda *args: executed.append(args[2]))
    data = gauges_of(watched).get_metrics_data()
    assert data is not None
    assert len(data.resource_metrics[0].scope_metrics[0].metrics) > len(executed) == 4
    watched.dispose()


def test_without_the_database_gauges_try_each_query_once_and_have_no_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = make_engine("postgresql+psycopg://reader@127.0.0.1:9/none", name="away")
    tried: list[object] = []
    connect = TimeoutConnection.connect

    def count_and_connect(*args: Any, **options: Any) -> TimeoutConnection:
        tried.append(args)
        return connect(*args, **options)

    monkeypatch.setattr(TimeoutConnection, "connect", count_and_connect)
    data = gauges_of(away).get_metrics_data()
    assert data is None or not data.resource_metrics
    assert len(tried) == 4
