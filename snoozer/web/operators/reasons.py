"""The reason of an operator's act: a form's field `why`, stored with the act, without addresses."""

from flask import request
from opentelemetry import trace

from snoozer.web.forms import one_line
from snoozer.web.text.redaction import without_addresses

MAX_REASON_LENGTH = 500


def given_reason() -> str | None:
    """The reason in the form, on one line; None if it is empty."""
    text = request.form.get("why", "")[:MAX_REASON_LENGTH]
    return one_line(without_addresses(text), max_length=MAX_REASON_LENGTH)


def request_id() -> str | None:
    """The trace id that identifies this request in the audit log; None if it is not traced."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None
