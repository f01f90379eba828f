"""Spans of SQL statements, named by their files (`queue/claim`) or by the function in `db/queries` that reads.

Within a request each statement has a span. Elsewhere only statements that did something have one: a process that waits
for work polls all the time, and those queries belong to no trace.
"""

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext

from snoozer.db.errors import sqlstate_of
from snoozer.db.statements import NAME_OPTION

QUERIES = "snoozer.db.queries."
UNNAMED = "sql"

# Statements that poll while nothing happens: whole folders of `db/sql`, and single statements.
POLLING_FOLDERS = frozenset(
    {
        "health_checks",
        "housekeeping",
        "list_changes",
        "mailbox_leases",
        "minutes",
        "peek",
        "queries",
        "session",
        "support",
        "timeline",
        "workers",
    }
)
POLLING_STATEMENTS = frozenset(
    {
        "accounts/prune_expired",
        "archive/create_partitions",
        "archive/list_archivable",
        "archive/upcoming_months",
        "breaker/permit",
        "breaker/succeed",
        "deletions/next",
        "ledger/list_sought",
        "messages/list_without_snippet",
        "messages/list_work",
        "messages/next_returns",
        "queue/extend",
        UNNAMED,
    }
)


Listener = Callable[..., None]


def trace_statements(tracer: trace.Tracer) -> list[tuple[str, Listener]]:
    """Trace the statements of all engines of this process from now on; returns the listeners, by event."""

    def begin(connection: Connection, cursor: Any, sql: str, parameters: Any, context: Any, many: bool) -> None:
        context.began_at = time.time_ns()

    def end(connection: Connection, cursor: Any, sql: str, parameters: Any, context: Any, many: bool) -> None:
        name = _name(context)
        if trace.get_current_span().get_span_context().is_valid or (cursor.rowcount > 0 and not is_polling(name)):
            _add_span(tracer, name, context, rows=cursor.rowcount)

    def fail(problem: ExceptionContext) -> None:
        # Without an execution context no statement was executed: there is no connection, or a commit failed.
        if problem.execution_context is not None:
            kind = sqlstate_of(problem.original_exception) or type(problem.original_exception).__name__
            _add_span(tracer, _name(problem.execution_context), problem.execution_context, error=kind)

    listeners: list[tuple[str, Listener]] = [
        ("before_cursor_execute", begin),
        ("after_cursor_execute", end),
        ("handle_error", fail),
    ]
    for name, listener in listeners:
        event.listen(Engine, name, listener)
    return listeners


def is_polling(name: str) -> bool:
    """Whether a statement is executed repeatedly even while nothing happens."""
    return name in POLLING_STATEMENTS or name.partition("/")[0] in POLLING_FOLDERS


def _add_span(
    tracer: trace.Tracer, name: str, context: Any, *, rows: int | None = None, error: str | None = None
) -> None:
    """A span from the statement's begin until now. It contains neither the statement's text nor a value."""
    attributes: dict[str, str | int] = {"db.system.name": "postgresql", "db.query.summary": name}
    if rows is not None and rows >= 0:
        attributes["db.response.returned_rows"] = rows
    began = getattr(context, "began_at", None)
    span = tracer.start_span(name, kind=SpanKind.CLIENT, start_time=began, attributes=attributes)
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def _name(context: Any) -> str:
    name = context.execution_options.get(NAME_OPTION)
    return str(name) if name else _reader(sys._getframe(2))


def _reader(frame: FrameType | None) -> str:
    """The function in `db/queries` that built the statement."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(QUERIES):
            return f"queries/{module.removeprefix(QUERIES)}.{frame.f_code.co_name}"
        frame = frame.f_back
    return UNNAMED
