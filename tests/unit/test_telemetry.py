"""What is exported of statements and deliveries: names, links and classes, and no value of a row."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from sqlalchemy import Engine, create_engine, event, select, text
from sqlalchemy.exc import IntegrityError

from snoozer import telemetry
from snoozer.db import statements, support
from snoozer.db.engine import TimeoutConnection, make_engine
from snoozer.db.queries import metrics as queue_metrics
from snoozer.mail.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.transport import Reply
from snoozer.queue import queue
from snoozer.queue.reminder import DeliveryOutcome, Recovered
from snoozer.telemetry import gauges, labels, spans
from snoozer.telemetry.exporting import RedactingExporter
from snoozer.telemetry.instruments import Instruments
from tests.factories import ANN, a_claim, a_snooze

REQUEST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WORKER = "host-1-4711-0123abcd"
LEASE = timedelta(seconds=90)
QUERIES = len({gauge.query for gauge in gauges.GAUGES})


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans of this process' statements and deliveries, for one test."""
    memory, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(RedactingExporter(memory)))
    tracer = tracers.get_tracer("snoozer")
    monkeypatch.setattr(telemetry.reading, "tracer", tracer)
    listeners = spans.trace_statements(tracer)
    yield memory
    for name, listener in listeners:
        event.remove(Engine, name, listener)


def names(exported: InMemorySpanExporter) -> list[str]:
    return [span.name for span in exported.get_finished_spans()]


def test_a_statement_is_named_by_its_file(engine: Engine, exported: InMemorySpanExporter) -> None:
    a_snooze(engine)
    exported.clear()
    with engine.begin() as connection:
        assert queue.claim(connection, worker=WORKER, batch_size=5, lease=LEASE)
    [span] = exported.get_finished_spans()
    assert span.name == "queue/claim"
    assert dict(span.attributes or {}) == {
        "db.system.name": "postgresql",
        "db.query.summary": "queue/claim",
        "db.response.returned_rows": 1,
    }
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.start_time < span.end_time


def test_what_finds_nothing_to_do_has_no_span(engine: Engine, exported: InMemorySpanExporter) -> None:
    with engine.begin() as connection:
        assert not queue.claim(connection, worker=WORKER, batch_size=5, lease=LEASE)
        queue.next_due(connection, known_schema=1, missed=None, buckets=None, steal_after=LEASE)
        statements.execute(connection, "housekeeping/record_run", chore="recover")
        support.read(connection, "health")
        statements.database_time(connection)
        queue_metrics.alive(connection, dead_after=LEASE)
    assert names(exported) == []


def test_within_a_request_each_statement_has_a_span_also_what_the_orm_reads(
    engine: Engine, exported: InMemorySpanExporter
) -> None:
    tracer = telemetry.reading.tracer
    assert tracer is not None
    with tracer.start_as_current_span("request") as request, engine.begin() as connection:
        assert not queue.claim(connection, worker=WORKER, batch_size=5, lease=LEASE)
        queue_metrics.alive(connection, dead_after=LEASE)
        connection.execute(select(1))
    claim, read, other, _ = exported.get_finished_spans()
    assert [claim.name, read.name, other.name] == ["queue/claim", "queries/metrics.alive", "sql"]
    assert claim.parent is not None
    assert claim.parent.span_id == request.get_span_context().span_id


def test_every_name_of_what_polls_is_one_of_a_statement() -> None:
    folders = {name.partition("/")[0] for name in spans.POLLING_STATEMENTS - {spans.UNNAMED}}
    known = {f"{folder}/{name}" for folder in folders for name in statements.names(folder)}
    assert spans.POLLING_STATEMENTS - {spans.UNNAMED} <= known
    assert all(statements.names(folder) for folder in spans.POLLING_FOLDERS - {"queries"})


def test_a_traced_connection_still_has_a_read_timeout(engine: Engine, exported: InMemorySpanExporter) -> None:
    watched = make_engine(engine.url.render_as_string(hide_password=False), name="traced")
    with watched.connect() as connection:
        connection.execute(text("SELECT 1"))
        assert isinstance(connection.connection.driver_connection, TimeoutConnection)
    watched.dispose()


def test_values_that_postgres_quotes_in_an_error_are_not_exported(
    engine: Engine, exported: InMemorySpanExporter
) -> None:
    watched = create_engine(engine.url)
    a_snooze(engine, message_id="<secret@mail.example>")
    insert = text("INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:who, :what, now())")
    try:
        with watched.begin() as connection:
            connection.execute(insert, {"who": ANN, "what": "<secret@mail.example>"})
    except IntegrityError as error:
        assert "secret" in str(error.orig)
    watched.dispose()
    [failed] = [span for span in exported.get_finished_spans() if not span.status.is_ok]
    assert (failed.attributes or {})["error.type"] == "23505"
    everything = " ".join(span.to_json() for span in exported.get_finished_spans())
    assert "secret" not in everything
    assert ANN not in everything


def a_delivery(traceparent: str | None = None) -> trace.Span:
    return telemetry.delivery_span(traceparent=traceparent, snooze_id=42, worker=WORKER)


def end(span: trace.Span, outcome: DeliveryOutcome, error: str | None = None) -> None:
    telemetry.end_delivery(span, outcome, error=error, seconds=0.5, claim=a_claim(42), accepted=0.25)


def test_a_delivery_is_a_span_linked_to_the_request_that_snoozed_the_message(exported: InMemorySpanExporter) -> None:
    for traceparent in (REQUEST, None, "nonsense"):
        end(a_delivery(traceparent), DeliveryOutcome.SENT)
    linked, *others = exported.get_finished_spans()
    assert linked.name == "queue.process"
    assert dict(linked.attributes or {}) == {
        "queue": "email_snoozes",
        "job.id": 42,
        "worker": WORKER,
        "verdict": "sent",
    }
    assert linked.status.status_code is StatusCode.UNSET
    assert [f"{link.context.trace_id:032x}" for link in linked.links] == [REQUEST.split("-")[1]]
    assert [list(span.links) for span in others] == [[], []]


def test_a_delivery_that_failed_is_an_error_of_a_class(exported: InMemorySpanExporter) -> None:
    end(a_delivery(), DeliveryOutcome.RELEASED, "4.2")
    end(a_delivery(), DeliveryOutcome.UNCERTAIN_CASE)
    end(a_delivery(), DeliveryOutcome.LOST, "4.2")
    verdicts = [
        ((span.attributes or {})["verdict"], (span.attributes or {}).get("error.type"), span.status.status_code)
        for span in exported.get_finished_spans()
    ]
    assert verdicts == [
        ("released", "4.2", StatusCode.ERROR),
        ("uncertain_case", "other", StatusCode.ERROR),
        ("lost", None, StatusCode.UNSET),
    ]


def test_without_tracing_a_delivery_is_no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry.reading, "tracer", None)
    assert not a_delivery(REQUEST).get_span_context().is_valid


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Rejected("rcpt", Reply(550, ("5.1.1 no such user ann@x.example",))), "5.1"),
        (Rejected("data", Reply(452, ("4.2.2 full",))), "4.2"),
        (Rejected("rcpt", Reply(550, ("5.999.4711 chosen by a stranger",))), "5xx"),
        (Rejected("rcpt", Reply(451, ("greylisted, call +49 30 4711",))), "4xx"),
        (NoReplyAfterData("ann@x.example"), "no_reply"),
        (ServerUnavailable("ann@x.example"), "server_unavailable"),
        (KeyError("ann@x.example"), "KeyError"),
    ],
)
def test_what_went_wrong_is_a_class_and_never_a_text(error: Exception, expected: str) -> None:
    assert labels.error_class(error) == expected


@pytest.mark.parametrize(
    ("worker", "host"),
    [
        (WORKER, "host-1"),
        ("host-4711-0123abcd@boot:4026.4711.99", "host"),
        ("another-worker", "other"),
        ("", "other"),
        (None, "other"),
    ],
)
def test_metrics_name_the_host_of_a_worker_and_not_its_process(worker: str | None, host: str) -> None:
    assert labels.host_of(worker) == host


def counted(reader: InMemoryMetricReader) -> dict[tuple[str, tuple[tuple[str, Any], ...]], Any]:
    """Each count, and of histograms the count and the sum, by the metric and its attributes."""
    data: Any = reader.get_metrics_data()
    return {
        (metric.name, tuple(sorted(point.attributes.items()))): (
            point.value if hasattr(point, "value") else (point.count, point.sum)
        )
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    }


def test_counters_have_the_worker_the_verdict_and_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = InMemoryMetricReader()
    meter = MeterProvider(metric_readers=[reader]).get_meter("tests")
    monkeypatch.setattr(telemetry.reading, "instruments", Instruments(meter, worker=WORKER))
    promised = datetime(2026, 3, 5, 9, 0, tzinfo=UTC)
    claim = a_claim(42, remind_at=promised)
    claim = type(claim)(
        **vars(claim)
        | {"claimed_at": promised + timedelta(hours=9, seconds=3), "late_from": promised + timedelta(hours=9)}
    )
    telemetry.count_claimed([claim])
    for outcome, error in (
        (DeliveryOutcome.SENT, None),
        (DeliveryOutcome.RETIRED, "5.1"),
        (DeliveryOutcome.UNCERTAIN_CASE, "no_reply"),
        (DeliveryOutcome.LOST, None),
        (DeliveryOutcome.UNCLAIMED, "server_unavailable"),
    ):
        telemetry.end_delivery(trace.INVALID_SPAN, outcome, error=error, seconds=0.5, claim=claim, accepted=0.25)
    telemetry.count_sweep(recovered=[Recovered(id=1, worker="h-2-0123abcd", uncertain=False, retired=True)], retired=2)
    host, row = ("worker", "host-1"), ("queue", "email_snoozes")
    assert counted(reader) == {
        ("queue.claimed", (row, host)): 1,
        ("queue.wait", (row, host)): (1, 3),
        ("queue.processed", (row, ("verdict", "sent"), host)): 1,
        ("queue.failed", (("error.type", "5.1"), row, ("verdict", "retired"), host)): 1,
        ("queue.failed", (("error.type", "no_reply"), row, ("verdict", "uncertain_case"), host)): 1,
        ("queue.lost_ownership", (row, host)): 1,
        ("queue.handed_back", (row, host)): 1,
        ("queue.retired", (("error.type", "5.1"), row, host)): 1,
        ("queue.retired", (("error.type", "no_reply"), row, host)): 1,
        ("queue.retired", (("error.type", "attempts_spent"), row, host)): 2,
        ("queue.retired", (("error.type", "worker_lost"), row, ("worker", "h"))): 1,
        ("queue.stale_recovered", (row, ("worker", "h"))): 1,
        ("reminders.lateness", (row, host)): (1, 3.25),
        ("queue.job_duration_ms", (row, host)): (5, 2500),
    }


def test_counters_of_a_worker_begin_at_zero() -> None:
    """A rate does not see a first count that is the first value."""
    reader = InMemoryMetricReader()
    Instruments(MeterProvider(metric_readers=[reader]).get_meter("tests"), worker=WORKER)
    assert {name: value for (name, _), value in counted(reader).items()} == {
        "queue.claimed": 0,
        "queue.processed": 0,
        "queue.handed_back": 0,
        "queue.lost_ownership": 0,
    }


def gauges_of(engine: Engine) -> InMemoryMetricReader:
    """A reader of all gauges of this database."""
    reader = InMemoryMetricReader()
    gauges.register(engine, MeterProvider(metric_readers=[reader]).get_meter("snoozer"), dead_after=LEASE)
    return reader


def test_all_gauges_together_execute_each_query_once(engine: Engine) -> None:
    executed: list[str] = []
    watched = create_engine(engine.url)
    event.listen(watched, "before_cursor_execute", lambda *args: executed.append(args[2]))
    data = gauges_of(watched).get_metrics_data()
    assert data is not None
    queries = [statement for statement in executed if not statement.startswith("-- session/limits\n")]
    assert len(data.resource_metrics[0].scope_metrics[0].metrics) > len(queries) == QUERIES
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
    assert len(tried) == QUERIES
