"""What real processes export, at real receivers: names, attributes and links, and next to nothing while idle."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.factories import a_snooze
from tests.imap.server_process import free_port
from tests.otlp import Collector, attributes, collect_by_grpc, collect_telemetry, last_sums
from tests.process.conftest import TIMEOUT, Field
from tests.web.live_site import live_site

REQUEST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STATEMENTS_OF_A_DELIVERY = {
    "queue/claim",
    "ledger/list_sendable",
    "ledger/authorise",
    "queue/finalize",
    "ledger/record",
}
GAUGES = {"queue.depth", "queue.oldest_due_seconds", "breaker.open", "workers.alive", "mailboxes.overdue", "push.due"}
RECEIVERS = {"http/protobuf": collect_telemetry, "grpc": collect_by_grpc}
# Of the clock: a minute's worth, as they are ten times as often here as they usually are.
SWEEPS, POLL = 30, 0.1
CANARY = "canary4711"
PROCESSES = ("worker", "clock", "inbound", "mailbox")


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_a_delivery_leaves_as_spans_metrics_and_logs(place: Field, protocol: str) -> None:
    collect: Callable[[], AbstractContextManager[Collector]] = RECEIVERS[protocol]
    a_snooze(place.engine, traceparent=REQUEST)
    with collect() as collector:
        more = {
            # The SDK's own parser refuses the second header, and would log it.
            "OTEL_EXPORTER_OTLP_HEADERS": f"x-tenant=ours%20here,authorization=Bearer {CANARY};",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
            "OTEL_LOGS_EXPORTER": "otlp",
            "BASE_URL": "",  # Of which a worker warns.
        }
        for command in (("worker", "--drain"), ("clock", "--once")):
            ended = place.run(*command, **collector.settings, **more)
            assert ended.returncode == 0, ended.stderr
            assert CANARY not in ended.stderr
    assert all("ours here" in headers.values() for headers in collector.headers)
    _check_spans(collector)
    _check_metrics(collector)
    records = [(record.severity_text, record.body.string_value) for record in collector.records()]
    assert any(level == "WARNING" and "BASE_URL is not set" in body for level, body in records)


def _check_spans(collector: Collector) -> None:
    spans = list(collector.spans_of_services())
    assert {span.name for _, span in spans} >= STATEMENTS_OF_A_DELIVERY
    assert not [span.name for _, span in spans if not ("/" in span.name or span.name == "queue.process")]
    [(resource, delivery)] = [(resource, span) for resource, span in spans if span.name == "queue.process"]
    assert resource["service.name"] == "snoozer-worker"
    assert resource["deployment.environment.name"] == "test"
    known = attributes(delivery)
    assert (known["verdict"], known["worker"]) == ("sent", resource["service.instance.id"])
    assert [link.trace_id.hex() for link in delivery.links] == [REQUEST.split("-")[1]]


def _check_metrics(collector: Collector) -> None:
    by_service: dict[str, set[str]] = {}
    for resource, name, _ in collector.points():
        by_service.setdefault(resource["service.name"], set()).add(name)
    assert by_service["snoozer-clock"] >= GAUGES
    assert by_service["snoozer-worker"] == {
        "queue.claimed",
        "queue.handed_back",
        "queue.lost_ownership",
        "queue.processed",
        "queue.wait",
        "queue.job_duration_ms",
        "reminders.lateness",
    }
    [labels] = last_sums(collector, "queue.processed")
    assert [name for name, _ in labels] == ["queue", "verdict", "worker"]


def test_idle_processes_leave_next_to_no_spans(place: Field, tmp_path: Path, postgres_url: str) -> None:
    with collect_telemetry() as collector, ExitStack() as running:
        settings = {"SNOOZER_INBOUND_PORT": str(free_port()), "SNOOZER_MAILBOX_POLL_SECONDS": "1"}
        settings |= collector.settings
        running.enter_context(live_site(postgres_url, tmp_path, **collector.settings))
        started = [place.start(command, **settings) for command in PROCESSES]
        try:
            _wait_for_sweeps(place, SWEEPS)
        finally:
            for process in started:
                process.terminate()
            for process in started:
                _, err = process.communicate(timeout=TIMEOUT)
                assert process.returncode == 0, err
    assert collector.bodies, "nothing was exported"
    assert {resource["service.name"] for resource, _, _ in collector.points()} >= {"snoozer-clock"}
    names = sorted(span.name for span in collector.spans())
    assert len(names) <= 10, names


def _wait_for_sweeps(place: Field, count: int) -> None:
    """Until the clock has looked for lost claims so often."""
    recovered = text("SELECT finished_at FROM housekeeping_runs WHERE chore = 'recover'")
    seen: set[object] = set()
    ends = time.monotonic() + TIMEOUT
    while len(seen) < count:
        assert time.monotonic() < ends, "the clock does nothing"
        with place.engine.connect() as connection:
            seen.add(connection.execute(recovered).scalar_one_or_none())
        time.sleep(POLL)
