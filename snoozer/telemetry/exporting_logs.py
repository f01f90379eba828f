"""Logs by OTLP or to the console, in addition to standard error. Imported only if OTEL_LOGS_EXPORTER asks for it."""

import logging
import sys
from collections.abc import Callable
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, ConsoleLogRecordExporter
from opentelemetry.sdk.resources import Resource

from snoozer.telemetry.configuration import BatchConfig
from snoozer.telemetry.log_format import EVENT, FACTS, exception_lines

# Loggers of the sending code itself: sending their records would cause more records.
OWN_LOGGERS = ("opentelemetry", "urllib3", "grpc")
SEVERITIES = (
    (logging.CRITICAL, SeverityNumber.FATAL),
    (logging.ERROR, SeverityNumber.ERROR),
    (logging.WARNING, SeverityNumber.WARN),
    (logging.INFO, SeverityNumber.INFO),
)


def start(resource: Resource, *, exporter: Any, console: bool, batches: BatchConfig) -> Callable[[], None]:
    """Export log records from now on; returns a function that sends the rest at the end."""
    provider = LoggerProvider(resource=resource)
    for one in [exporter, ConsoleLogRecordExporter(out=sys.stdout) if console else None]:
        if one is not None:
            processor = BatchLogRecordProcessor(
                one,
                schedule_delay_millis=batches.delay,
                max_export_batch_size=batches.batch_size,
                max_queue_size=batches.queue_size,
            )
            provider.add_log_record_processor(processor)
    handler = _Handler(provider)
    logging.getLogger().addHandler(handler)

    def stop() -> None:
        logging.getLogger().removeHandler(handler)
        provider.shutdown()

    return stop


class _Handler(logging.Handler):
    def __init__(self, provider: LoggerProvider) -> None:
        super().__init__()
        self._provider = provider

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(OWN_LOGGERS):
            return
        attributes = {f"snoozer.{name}": value for name, value in getattr(record, FACTS, {}).items()}
        if record.exc_info and record.exc_info[1] is not None:
            attributes["exception.type"] = type(record.exc_info[1]).__name__
            attributes["exception.stacktrace"] = exception_lines(record.exc_info)
        severity = next((number for level, number in SEVERITIES if record.levelno >= level), SeverityNumber.DEBUG)
        self._provider.get_logger(record.name).emit(
            LogRecord(
                timestamp=int(record.created * 1_000_000_000),
                severity_text=record.levelname,
                severity_number=severity,
                body=getattr(record, EVENT, None) or record.getMessage(),
                attributes=attributes,
            )
        )
