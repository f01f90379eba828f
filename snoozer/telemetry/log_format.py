"""How a process logs: to standard error, as text for people or one JSON object a line (SNOOZER_LOG_FORMAT).

For an exception, its class and the line that raised it are logged. Its text is left out: Postgres quotes values of
rows in it, and a mail server may write anything.
"""

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

from opentelemetry import trace

from snoozer.db.errors import error_text
from snoozer.telemetry.configuration import LogFormat

# The extras of an event's record: its name, and its facts by name. Its message contains both, for people.
EVENT, FACTS = "event", "facts"
TEXT = "%(levelname)s %(name)s: %(message)s"
SECURITY = "snoozer.security"

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def exception_lines(exception: ExceptionInfo) -> str:
    """The traceback and class of an exception and of its causes, without their texts."""
    error = exception[1]
    if error is None:
        return ""
    return "".join(_chain(error)).rstrip("\n")


class TextFormatter(logging.Formatter):
    """For people: one line, and below it where an exception was raised. Events begin with their time."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        message = super().formatMessage(record)
        return f"{self.formatTime(record)} {record.name}: {record.message}" if hasattr(record, EVENT) else message

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have left the text of its formatter there.
        record.exc_text = None
        try:
            return super().format(record)
        finally:
            record.exc_text = None

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's own name
        return exception_lines(ei)


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, process, trace_id and span_id if a span is current, the facts of
    an event, and where an exception was raised."""

    def __init__(self, *, process: str, worker: str | None = None) -> None:
        super().__init__()
        self._fixed = {"process": process} | ({} if worker is None else {"worker": worker})

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, object] = {"time": time, "level": record.levelname.lower(), "logger": record.name}
        line["message"] = getattr(record, EVENT, None) or record.getMessage()
        line |= self._fixed
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            line |= {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}
        if (facts := getattr(record, FACTS, None)) is not None:
            line[FACTS] = facts
        if record.exc_info and record.exc_info[1] is not None:
            line["error_class"] = type(record.exc_info[1]).__name__
            line["traceback"] = exception_lines(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to the sys.stderr of the moment, which may be replaced."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.terminator = "\n"

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        pass


def formatter(log_format: LogFormat, *, process: str, worker: str | None = None) -> logging.Formatter:
    """The formatter of a process of this kind."""
    return JsonFormatter(process=process, worker=worker) if log_format == "json" else TextFormatter(TEXT)


def configure(log_format: LogFormat, *, process: str, worker: str | None = None, level: int = logging.INFO) -> None:
    """Log this process from its start: everything from `level` on, and the security log. Replaces the configuration of
    an earlier call. As JSON, an exception that ends the process or one of its threads, and warnings, are lines, too."""
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, _StandardError)]:
        root.removeHandler(handler)
    handler = _StandardError()
    handler.setFormatter(formatter(log_format, process=process, worker=worker))
    root.addHandler(handler)
    root.setLevel(level)
    logging.getLogger(SECURITY).setLevel(logging.INFO)
    if log_format == "json":
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught
        threading.excepthook = lambda ended: _log_uncaught(ended.exc_type, ended.exc_value, ended.exc_traceback)


def _log_uncaught(kind: type[BaseException], error: BaseException | None, where: TracebackType | None) -> None:
    if error is None or issubclass(kind, SystemExit):
        return
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, where)
        return
    logging.getLogger("snoozer").critical("an error ended it", exc_info=(kind, error, where))


def _chain(error: BaseException) -> list[str]:
    lines: list[str] = []
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        lines += [*_chain(earlier), "\nThen:\n\n"]
    lines += ["Traceback (most recent call last):\n", *traceback.format_tb(error.__traceback__)]
    return [*lines, f"{error_text(error)}\n"]
