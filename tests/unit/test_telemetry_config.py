"""Every standard variable of OpenTelemetry is supported, or refused with one sentence; none is ignored."""

from importlib import import_module

import pytest

from snoozer.telemetry import configuration
from snoozer.telemetry.configuration import SUPPORTED, parse

# Modules of the API, the SDK and the instrumentation with the names of what they read.
MODULES = (
    "opentelemetry.environment_variables",
    "opentelemetry.sdk.environment_variables",
    "opentelemetry.instrumentation.environment_variables",
)
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
HTTP = {ENDPOINT: "https://collector.example:4318/otlp/"}


def named() -> set[str]:
    """All names of variables in these modules."""
    values = [value for module in MODULES for value in vars(import_module(module)).values()]
    return {value for value in values if isinstance(value, str) and value.startswith("OTEL_")}


def test_what_the_sdk_reads_is_supported_or_refused() -> None:
    names = named()
    assert len(names) > 80
    for name in sorted(names - SUPPORTED):
        with pytest.raises(ValueError, match=f"{name} is set, which is not supported; "):
            parse({name: "x"})


def test_variables_of_other_programs_are_left_alone() -> None:
    assert parse(
        {"OTEL_POD_IP": "10.0.0.7", "OTEL_RESOURCE_ATTRIBUTES_POD_NAME": "x", "OTEL_SERVICE_NAME": " "}
    ) == parse({})


def test_nothing_is_exported_unless_something_says_so() -> None:
    assert not parse({}).exports
    assert not parse({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "prometheus"}).exports


def test_an_endpoint_is_that_of_traces_and_metrics_and_logs_are_asked_for() -> None:
    config = parse(HTTP)
    assert config.exports
    assert config.traces.endpoint == "https://collector.example:4318/otlp/v1/traces"
    assert config.metrics.endpoint == "https://collector.example:4318/otlp/v1/metrics"
    assert [sorted(one.exporters) for one in (config.traces, config.metrics, config.logs)] == [["otlp"], ["otlp"], []]
    assert parse(HTTP | {"OTEL_LOGS_EXPORTER": "otlp"}).logs.endpoint.endswith("/otlp/v1/logs")


def test_a_signal_has_settings_of_its_own() -> None:
    config = parse(
        {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces.example/in",
            "OTEL_EXPORTER_OTLP_HEADERS": "a=1",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "Authorization=Basic%20eA%3D%3D, b=2",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            "OTEL_METRICS_EXPORTER": "otlp,console",
            "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "collector.example:4317",
        }
    )
    assert config.traces.endpoint == "http://traces.example/in"
    assert config.traces.headers == {"Authorization": "Basic eA==", "b": "2"}
    assert (config.traces.timeout, config.traces.is_compressed, config.traces.protocol) == (2.5, True, "http/protobuf")
    assert (config.metrics.protocol, config.metrics.endpoint) == ("grpc", "collector.example:4317")
    assert config.metrics.exporters == {"otlp", "console"}
    assert "eA==" not in repr(config)


def test_sampling_and_the_resource() -> None:
    config = parse(
        {
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "0.25",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.name=later,x=a%2Cb",
        }
    )
    assert (config.sampler, config.ratio, config.service_name) == ("parentbased_traceidratio", 0.25, "later")
    assert config.resource["x"] == "a,b"
    assert parse({"OTEL_RESOURCE_ATTRIBUTES": "service.name=a", "OTEL_SERVICE_NAME": "b"}).service_name == "b"


@pytest.mark.parametrize(
    ("signal", "name"),
    [
        ("traces", "OTEL_BSP_EXPORT_TIMEOUT"),
        ("metrics", "OTEL_METRIC_EXPORT_TIMEOUT"),
        ("logs", "OTEL_BLRP_EXPORT_TIMEOUT"),
    ],
)
def test_an_export_is_limited_by_the_shorter_of_its_timeouts(signal: str, name: str) -> None:
    given = HTTP | {"OTEL_EXPORTER_OTLP_TIMEOUT": "8000"}
    timeouts = [getattr(parse(given | more), signal).timeout for more in ({}, {name: "3000"}, {name: "9000"})]
    assert timeouts == [8.0, 3.0, 8.0]
    with pytest.raises(ValueError, match=f"{name} is 'soon', and must be a whole number"):
        parse({name: "soon"})


def test_a_disabled_sdk_exports_nothing() -> None:
    assert not parse(HTTP | {"OTEL_SDK_DISABLED": "True"}).exports


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (ENDPOINT, "foo", f"{ENDPOINT} must start with http:// or https://, as in https://collector.example.org:4318"),
        (ENDPOINT, "http://", f"{ENDPOINT} must start with http"),
        (ENDPOINT, "http://x:abc", f"{ENDPOINT} must start with http"),
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "http/json",
            "OTEL_EXPORTER_OTLP_PROTOCOL is 'http/json', and may be http/prot",
        ),
        ("OTEL_TRACES_EXPORTER", "zipkin", "OTEL_TRACES_EXPORTER is 'zipkin', and may be otlp, console or none"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote", "OTEL_TRACES_SAMPLER is 'jaeger_remote', and may be always_on, "),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "OTEL_EXPORTER_OTLP_TIMEOUT is 'soon', and must be a whole number"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "0", "OTEL_METRIC_EXPORT_INTERVAL is '0', and must be a whole number above 0"),
        ("OTEL_SDK_DISABLED", "yes", "OTEL_SDK_DISABLED is 'yes', and may be true, false"),
        ("OTEL_PROPAGATORS", "b3", "OTEL_PROPAGATORS may be tracecontext,baggage only"),
        ("OTEL_METRICS_EXEMPLAR_FILTER", "always_on", "OTEL_METRICS_EXEMPLAR_FILTER may be always_off only: exemplars"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "9999", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE is more than OTEL_BSP_MAX_QUEUE_SI"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "k", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_"),
        ("OTEL_EXPORTER_OTLP_ENDPONT", "http://x", "OTEL_EXPORTER_OTLP_ENDPONT is set, which is not supported"),
    ],
)
def test_what_is_invalid_is_refused_with_one_sentence(name: str, value: str, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse({name: value})
    assert str(refused.value).startswith(sentence)


def test_headers_that_are_invalid_are_not_quoted() -> None:
    with pytest.raises(ValueError, match=r"^OTEL_EXPORTER_OTLP_HEADERS must look like key=value,key=value$"):
        parse(HTTP | {"OTEL_EXPORTER_OTLP_HEADERS": "secret"})


def test_a_ratio_is_from_0_to_1() -> None:
    with pytest.raises(ValueError, match="OTEL_TRACES_SAMPLER_ARG is '2', and must be a number from 0 to 1"):
        parse({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"})


def test_grpc_is_refused_where_its_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "GRPC_PACKAGE", "opentelemetry.exporter.otlp.proto.nowhere")
    with pytest.raises(
        ValueError, match=r"^OTEL_EXPORTER_OTLP_PROTOCOL=grpc needs what `pip install 'snoozer\[grpc\]'"
    ):
        parse({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", ENDPOINT: "http://x:4317"})
    assert not parse({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}).exports
