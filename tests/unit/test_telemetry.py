"""Telemetry counts and times; it tells nobody's address, subject or token."""

from collections.abc import Iterator
from threading import Event
from typing import Any

import psycopg
import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import IntegrityError

from snoozer import telemetry
from snoozer.db.engine import make_engine
from snoozer.db.timeouts import TimeoutConnection
from snoozer.telemetry import RedactingExporter
from tests.factories import ANN, a_snooze

REQUEST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What statements tell that are traced, as long as a test lasts."""
    told, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(RedactingExporter(told)))
    # Uninstrumenting leaves a method bound to psycopg's own class, by which Line would open no lines; this, undone,
    # puts the real one back.
    monkeypatch.setattr(psycopg.Connection, "connect", vars(psycopg.Connection)["connect"])
    PsycopgInstrumentor().instrument(tracer_provider=tracers)
    yield told
    PsycopgInstrumentor().uninstrument()


def test_a_connection_that_is_traced_is_given_up_all_the_same(engine: Engine, told: InMemorySpanExporter) -> None:
    watched = make_engine(engine.url.render_as_string(hide_password=False), name="traced")
    with watched.connect() as connection:
        connection.execute(text("SELECT 1"))
        assert isinstance(connection.connection.driver_connection, TimeoutConnection)
    watched.dispose()
    assert told.get_finished_spans()


def test_what_postgres_quotes_in_an_error_leaves_no_process(engine: Engine, told: InMemorySpanExporter) -> None:
    watched = create_engine(engine.url)
    a_snooze(engine, message_id="<secret@mail.example>")
    insert = text("INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:who, :what, now())")
    try:
        with watched.begin() as connection:
            connection.execute(insert, {"who": ANN, "what": "<secret@mail.example>"})
    except IntegrityError as refused:
        assert "secret" in str(refused.orig)
    watched.dispose()
    spans = told.get_finished_spans()
    assert any(not span.status.is_ok for span in spans)
    everything = " ".join(span.to_json() for span in spans)
    assert "secret" not in everything
    assert ANN not in everything


def test_a_delivery_is_a_span_linked_to_the_request_that_put_the_message_away(monkeypatch: pytest.MonkeyPatch) -> None:
    told = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(told))
    traced = Event()
    traced.set()
    monkeypatch.setattr(telemetry, "_traced", traced)
    monkeypatch.setattr(telemetry, "_tracer", tracers.get_tracer("snoozer"))
    for traceparent in (REQUEST, None, "nonsense"):
        with telemetry.delivery_span(traceparent=traceparent, snooze_id=42):
            assert trace.get_current_span().is_recording()
    linked, *others = told.get_finished_spans()
    assert linked.name == "queue.process"
    assert dict(linked.attributes or {}) == {"queue": "email_snoozes", "job.id": 42}
    assert [f"{link.context.trace_id:032x}" for link in linked.links] == [REQUEST.split("-")[1]]
    assert [list(span.links) for span in others] == [[], []]


def test_where_nobody_traces_a_delivery_is_no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_traced", Event())
    with telemetry.delivery_span(traceparent=REQUEST, snooze_id=42):
        assert not trace.get_current_span().get_span_context().is_valid


def gauges_of(engine: Engine) -> InMemoryMetricReader:
    """Every gauge, watching this database."""
    reader = InMemoryMetricReader()
    telemetry.register_gauges(engine, MeterProvider(metric_readers=[reader]).get_meter("snoozer"))
    return reader


def test_all_gauges_together_ask_the_database_each_question_once(engine: Engine) -> None:
    asked: list[str] = []
    watched = create_engine(engine.url)
    event.listen(watched, "before_cursor_execute", lambda *about: asked.append(about[2]))
    told = gauges_of(watched).get_metrics_data()
    assert told is not None
    assert len(told.resource_metrics[0].scope_metrics[0].metrics) > len(asked) == 2
    watched.dispose()


def test_while_the_database_is_away_gauges_try_it_once_a_question_and_say_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = make_engine("postgresql+psycopg://nobody@127.0.0.1:9/none", name="away")
    tried: list[object] = []
    opens = TimeoutConnection.connect

    def open_and_tell(*about: Any, **more: Any) -> TimeoutConnection:
        tried.append(about)
        return opens(*about, **more)

    monkeypatch.setattr(TimeoutConnection, "connect", open_and_tell)
    told = gauges_of(away).get_metrics_data()
    assert told is None or not told.resource_metrics
    assert len(tried) == 2
