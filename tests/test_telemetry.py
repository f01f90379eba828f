"""Telemetry counts and times; it tells nobody's address, subject or token."""

from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import IntegrityError

from snoozer.telemetry import Discreet
from tests.factories import ANN, a_snooze


def test_what_postgres_quotes_in_an_error_leaves_no_process(engine: Engine) -> None:
    told = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(Discreet(told)))
    PsycopgInstrumentor().instrument(tracer_provider=tracers)
    try:
        watched = create_engine(engine.url)
        a_snooze(engine, message_id="<secret@mail.example>")
        insert = text("INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:who, :what, now())")
        try:
            with watched.begin() as connection:
                connection.execute(insert, {"who": ANN, "what": "<secret@mail.example>"})
        except IntegrityError as refused:
            assert "secret" in str(refused.orig)
        watched.dispose()
    finally:
        PsycopgInstrumentor().uninstrument()
    spans = told.get_finished_spans()
    assert any(not span.status.is_ok for span in spans)
    everything = " ".join(span.to_json() for span in spans)
    assert "secret" not in everything
    assert ANN not in everything
