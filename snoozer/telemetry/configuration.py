"""The OTEL_… variables: each standard variable is supported as its specification says, or refused.

The settings call `parse` with the variables. Everything that it returns is passed to the SDK by name, so that the SDK's
own reading of the environment decides nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal, TypeVar
from urllib.parse import unquote, urlsplit

LogFormat = Literal["text", "json"]
Signal = Literal["traces", "metrics", "logs"]
Exporter = Literal["otlp", "console"]
Protocol = Literal["http/protobuf", "grpc"]
Sampler = Literal[
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
]

T = TypeVar("T")

SIGNALS: tuple[Signal, ...] = ("traces", "metrics", "logs")
SAMPLERS: tuple[Sampler, ...] = (
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
)
OTLP = "OTEL_EXPORTER_OTLP"
OF_A_SIGNAL = (
    "ENDPOINT",
    "PROTOCOL",
    "HEADERS",
    "TIMEOUT",
    "COMPRESSION",
    "CERTIFICATE",
    "CLIENT_KEY",
    "CLIENT_CERTIFICATE",
    "INSECURE",
)
GRPC_PACKAGE = "opentelemetry.exporter.otlp.proto.grpc"
SUPPORTED = frozenset(
    [f"{OTLP}_{name}" for name in OF_A_SIGNAL]
    + [f"{OTLP}_{signal.upper()}_{name}" for signal in SIGNALS for name in OF_A_SIGNAL]
    + [f"OTEL_{signal.upper()}_EXPORTER" for signal in SIGNALS]
    + [f"OTEL_{kind}_{name}" for kind in ("BSP", "BLRP") for name in ("SCHEDULE_DELAY", "EXPORT_TIMEOUT")]
    + [f"OTEL_{kind}_{name}" for kind in ("BSP", "BLRP") for name in ("MAX_QUEUE_SIZE", "MAX_EXPORT_BATCH_SIZE")]
    + [
        "OTEL_SDK_DISABLED",
        "OTEL_SERVICE_NAME",
        "OTEL_RESOURCE_ATTRIBUTES",
        "OTEL_PROPAGATORS",
        "OTEL_TRACES_SAMPLER",
        "OTEL_TRACES_SAMPLER_ARG",
        "OTEL_METRIC_EXPORT_INTERVAL",
        "OTEL_METRIC_EXPORT_TIMEOUT",
        "OTEL_METRICS_EXEMPLAR_FILTER",
        f"{OTLP}_METRICS_TEMPORALITY_PREFERENCE",
    ]
)
# Variables of these families are refused if they are not supported; others that begin with OTEL_ belong to other
# programs (an operator for Kubernetes sets OTEL_POD_IP).
FAMILIES = re.compile(
    r"OTEL_(EXPORTER|TRACES|METRICS|METRIC|LOGS|LOG|BSP|BLRP|SPAN|LINK|EVENT|ATTRIBUTE|LOGRECORD|SDK|SERVICE"
    r"|PROPAGATORS|PYTHON|INSTRUMENTATION|SEMCONV|EXPERIMENTAL|CONFIG)(_\w+)?|OTEL_RESOURCE_ATTRIBUTES"
)
REMEDIES = {
    "OTEL_EXPORTER_PROMETHEUS_HOST": "Prometheus is served on loopback",
    "OTEL_EXPORTER_PROMETHEUS_PORT": "set SNOOZER_METRICS_PORT",
    "OTEL_LOG_LEVEL": "the log has one level",
}


@dataclass(frozen=True, kw_only=True)
class SignalConfig:
    """The destination of one signal. `endpoint` is the whole address of this signal; `timeout` is in seconds."""

    exporters: frozenset[Exporter] = frozenset()
    protocol: Protocol = "http/protobuf"
    endpoint: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 10.0
    is_compressed: bool = False
    certificate: str | None = None
    client_key: str | None = None
    client_certificate: str | None = None
    insecure: bool = False


@dataclass(frozen=True, kw_only=True)
class BatchConfig:
    """How a signal is gathered before it is sent; the delay in milliseconds."""

    delay: int
    queue_size: int
    batch_size: int


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which telemetry a process exports, and how. By default, none."""

    is_disabled: bool = False
    traces: SignalConfig = field(default_factory=SignalConfig)
    metrics: SignalConfig = field(default_factory=SignalConfig)
    logs: SignalConfig = field(default_factory=SignalConfig)
    service_name: str | None = None
    resource: Mapping[str, str] = field(default_factory=dict)
    sampler: Sampler = "parentbased_always_on"
    ratio: float = 1.0
    spans: BatchConfig = field(default_factory=lambda: BatchConfig(delay=5000, queue_size=2048, batch_size=512))
    records: BatchConfig = field(default_factory=lambda: BatchConfig(delay=1000, queue_size=2048, batch_size=512))
    interval: int = 60_000
    temporality: Literal["cumulative", "delta", "lowmemory"] = "cumulative"

    @property
    def exports(self) -> bool:
        """Whether anything is sent by OTLP, or to the console."""
        return not self.is_disabled and any(one.exporters for one in (self.traces, self.metrics, self.logs))


def parse(environment: Mapping[str, str]) -> Config:
    """The configuration in these variables. Raises ValueError with one sentence for people."""
    given = _Variables({name: value.strip() for name, value in environment.items() if value.strip()})
    given.refuse_unsupported()
    sampler = given.one_of("OTEL_TRACES_SAMPLER", SAMPLERS, default="parentbased_always_on")
    given.only("OTEL_METRICS_EXEMPLAR_FILTER", {"always_off"}, why="exemplars would hold what spans do")
    given.only("OTEL_PROPAGATORS", {"tracecontext", "baggage", "tracecontext,baggage", "baggage,tracecontext"})
    resource = given.pairs("OTEL_RESOURCE_ATTRIBUTES")
    return Config(
        is_disabled=given.boolean("OTEL_SDK_DISABLED"),
        traces=_signal(given, "traces", limit="OTEL_BSP_EXPORT_TIMEOUT"),
        metrics=_signal(given, "metrics", limit="OTEL_METRIC_EXPORT_TIMEOUT"),
        logs=_signal(given, "logs", limit="OTEL_BLRP_EXPORT_TIMEOUT"),
        service_name=given.text("OTEL_SERVICE_NAME") or resource.get("service.name"),
        resource=resource,
        sampler=sampler,
        ratio=given.ratio("OTEL_TRACES_SAMPLER_ARG") if sampler.endswith("ratio") else 1.0,
        spans=_batches(given, "BSP", delay=5000),
        records=_batches(given, "BLRP", delay=1000),
        interval=given.positive("OTEL_METRIC_EXPORT_INTERVAL", default=60_000),
        temporality=given.one_of(
            f"{OTLP}_METRICS_TEMPORALITY_PREFERENCE", ("cumulative", "delta", "lowmemory"), default="cumulative"
        ),
    )


def _signal(given: "_Variables", signal: Signal, *, limit: str) -> SignalConfig:
    chosen = f"OTEL_{signal.upper()}_EXPORTER"
    own, general = f"{OTLP}_{signal.upper()}_", f"{OTLP}_"
    # Logs are on standard error already, so they are exported only on request.
    implied = given.has(f"{own}ENDPOINT") or (given.has(f"{general}ENDPOINT") and signal != "logs")
    exporters = frozenset[Exporter]({"otlp"} if implied else ())
    if given.has(chosen):
        exporters = given.exporters(chosen, signal)

    def name(ending: str) -> str:
        return f"{own}{ending}" if given.has(f"{own}{ending}") else f"{general}{ending}"

    protocol: Protocol = given.one_of(name("PROTOCOL"), ("http/protobuf", "grpc"), default="http/protobuf")
    if protocol == "grpc" and "otlp" in exporters and not _is_installed(GRPC_PACKAGE):
        raise ValueError(f"{name('PROTOCOL')}=grpc needs what `pip install 'snoozer[grpc]'` installs")
    certificate, key = given.text(name("CLIENT_CERTIFICATE")), given.text(name("CLIENT_KEY"))
    if (certificate is None) != (key is None):
        raise ValueError(f"{name('CLIENT_CERTIFICATE')} and {name('CLIENT_KEY')} belong together, and one is set")
    endpoint = given.endpoint(name("ENDPOINT"), protocol)
    if protocol == "http/protobuf" and not given.has(f"{own}ENDPOINT"):
        endpoint = f"{endpoint.rstrip('/')}/v1/{signal}"
    return SignalConfig(
        exporters=exporters,
        protocol=protocol,
        endpoint=endpoint,
        headers=given.pairs(name("HEADERS")),
        # The SDK leaves the time limit of an export to its exporter.
        timeout=min(given.positive(name("TIMEOUT"), default=10_000), given.positive(limit, default=30_000)) / 1000,
        is_compressed=given.one_of(name("COMPRESSION"), ("none", "gzip"), default="none") == "gzip",
        certificate=given.text(name("CERTIFICATE")),
        client_key=key,
        client_certificate=certificate,
        insecure=given.boolean(name("INSECURE")),
    )


def _batches(given: "_Variables", kind: str, *, delay: int) -> BatchConfig:
    queue_size = given.positive(f"OTEL_{kind}_MAX_QUEUE_SIZE", default=2048)
    batch_size = given.positive(f"OTEL_{kind}_MAX_EXPORT_BATCH_SIZE", default=min(512, queue_size))
    if batch_size > queue_size:
        raise ValueError(f"OTEL_{kind}_MAX_EXPORT_BATCH_SIZE is more than OTEL_{kind}_MAX_QUEUE_SIZE ({queue_size})")
    return BatchConfig(
        delay=given.positive(f"OTEL_{kind}_SCHEDULE_DELAY", default=delay), queue_size=queue_size, batch_size=batch_size
    )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


class _Variables:
    """The variables that have a value. Methods that read one raise ValueError with a sentence."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def refuse_unsupported(self) -> None:
        for name in sorted(self._variables):
            if FAMILIES.fullmatch(name) and name not in SUPPORTED:
                remedy = REMEDIES.get(name, "docs/guide/operators.md has those that are")
                raise ValueError(f"{name} is set, which is not supported; {remedy}")

    def has(self, name: str) -> bool:
        return name in self._variables

    def text(self, name: str) -> str | None:
        return self._variables.get(name)

    def boolean(self, name: str) -> bool:
        return self.one_of(name, ("true", "false"), default="false", fold=str.lower) == "true"

    def one_of(self, name: str, known: tuple[T, ...], *, default: T, fold: Callable[[str], str] = str) -> T:
        value = fold(self._variables.get(name, str(default)))
        for one in known:
            if value == one:
                return one
        raise ValueError(f"{name} is {value!r}, and may be {', '.join(map(str, known))}")

    def only(self, name: str, supported: set[str], *, why: str = "no other is supported") -> None:
        value = self._variables.get(name, "").replace(" ", "")
        if value and value not in supported:
            raise ValueError(f"{name} may be {sorted(supported)[-1]} only: {why}")

    def positive(self, name: str, *, default: int) -> int:
        value = self._variables.get(name, str(default))
        if not value.isascii() or not value.isdigit() or not 0 < int(value) < 2**31:
            raise ValueError(f"{name} is {value!r}, and must be a whole number above 0")
        return int(value)

    def ratio(self, name: str) -> float:
        value = self._variables.get(name, "1")
        try:
            ratio = float(value)
        except ValueError:
            ratio = -1.0
        if not 0 <= ratio <= 1:
            raise ValueError(f"{name} is {value!r}, and must be a number from 0 to 1")
        return ratio

    def pairs(self, name: str) -> dict[str, str]:
        """`key=value,key=value`, percent-encoded. The error's sentence quotes no value: it may be a secret."""
        found = {}
        for pair in filter(None, (part.strip() for part in self._variables.get(name, "").split(","))):
            key, equals, value = pair.partition("=")
            if not key.strip() or not equals:
                raise ValueError(f"{name} must look like key=value,key=value")
            found[unquote(key.strip())] = unquote(value.strip())
        return found

    def exporters(self, name: str, signal: Signal) -> frozenset[Exporter]:
        named = {part.strip() for part in self._variables[name].split(",")}
        nothing_more = {"none", "prometheus"} if signal == "metrics" else {"none"}
        if unknown := named - {"otlp", "console"} - nothing_more:
            raise ValueError(f"{name} is {', '.join(sorted(unknown))!r}, and may be otlp, console or none")
        known: tuple[Exporter, ...] = ("otlp", "console")
        return frozenset(one for one in known if one in named)

    def endpoint(self, name: str, protocol: Protocol) -> str:
        is_http = protocol == "http/protobuf"
        address = self._variables.get(name, "http://localhost:4318" if is_http else "http://localhost:4317")
        try:
            parts = urlsplit(address)
            is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            is_valid = False
        if is_valid and address.isprintable() and " " not in address:
            return address
        if not is_http and re.fullmatch(r"[\w.-]+:\d{1,5}", address):
            return address
        raise ValueError(f"{name} must start with http:// or https://, as in https://collector.example.org:4318")
