"""Receivers of OTLP on real sockets, by HTTP and by gRPC, and what they received."""

import gzip
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span

REQUESTS: dict[str, Any] = {
    "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
    "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    "/v1/logs": logs_service_pb2.ExportLogsServiceRequest,
}


@dataclass
class Collector:
    """What was received. A process that is started with its `settings` exports to it."""

    settings: Mapping[str, str] = field(default_factory=dict)
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    @property
    def everything(self) -> bytes:
        return b"".join(body for _, body in self.bodies)

    def requests(self, path: str) -> Iterator[Any]:
        """Each request of one signal, parsed."""
        for where, body in self.bodies:
            if where == path:
                yield REQUESTS[path].FromString(body)

    def spans(self) -> Iterator[Span]:
        for _, span in self.spans_of_services():
            yield span

    def spans_of_services(self) -> Iterator[tuple[dict[str, Any], Span]]:
        """Each span with the attributes of its resource."""
        for request in self.requests("/v1/traces"):
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        yield attributes(resource.resource), span

    def points(self) -> Iterator[tuple[dict[str, Any], str, Any]]:
        """Each point of a metric, with the attributes of its resource and the metric's name."""
        for request in self.requests("/v1/metrics"):
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        for point in getattr(metric, metric.WhichOneof("data")).data_points:
                            yield attributes(resource.resource), metric.name, point

    def records(self) -> Iterator[Any]:
        """Each line of a log."""
        for request in self.requests("/v1/logs"):
            for resource in request.resource_logs:
                for scope in resource.scope_logs:
                    yield from scope.log_records


def attributes(of: Any) -> dict[str, Any]:
    """The attributes of a resource, a span, a point or a record."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


def last_sums(collector: Collector, name: str) -> dict[tuple[tuple[str, Any], ...], float]:
    """What a counter came to, by its attributes: the last value of each process, and those of all processes added."""
    last: dict[tuple[Any, ...], float] = {}
    for resource, metric, point in collector.points():
        if metric == name:
            labels = tuple(sorted(attributes(point).items()))
            value = point.count if hasattr(point, "count") else point.as_int or point.as_double
            last[resource["service.instance.id"], labels] = value
    sums: dict[tuple[tuple[str, Any], ...], float] = {}
    for (_, labels), value in last.items():
        sums[labels] = sums.get(labels, 0) + value
    return sums


@contextmanager
def collect_telemetry() -> Iterator[Collector]:
    """A receiver by HTTP."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_compressed = self.headers.get("Content-Encoding") == "gzip"
            collector.headers.append(dict(self.headers.items()))
            collector.bodies.append((self.path, gzip.decompress(body) if is_compressed else body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        collector.settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{listening.server_port}"}
        yield collector
        listening.shutdown()


@contextmanager
def collect_by_grpc() -> Iterator[Collector]:
    """A receiver by gRPC."""
    collector = Collector()

    def export(path: str, response: Any) -> Any:
        class Service:
            def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - the service's own name
                collector.headers.append(dict(context.invocation_metadata()))
                collector.bodies.append((path, request.SerializeToString()))
                return response

        return Service()

    server = grpc.server(ThreadPoolExecutor(4))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(
        export("/v1/traces", trace_service_pb2.ExportTraceServiceResponse()), server
    )
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(
        export("/v1/metrics", metrics_service_pb2.ExportMetricsServiceResponse()), server
    )
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(
        export("/v1/logs", logs_service_pb2.ExportLogsServiceResponse()), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    collector.settings = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
    }
    yield collector
    server.stop(grace=None).wait()
