"""Why an operator acts: a form's field `why`, kept with the act, without addresses."""

from flask import request
from opentelemetry import trace

from snoozer.web.forms import one_line
from snoozer.web.text.redaction import without_addresses

MAX_REASON_LENGTH = 500


def given_reason() -> str | None:
    """The reason that the form gives, on one line; None where it gives none."""
    text = request.form.get("why", "")[:MAX_REASON_LENGTH]
    return one_line(without_addresses(text), max_length=MAX_REASON_LENGTH)


def request_id() -> str | None:
    """What names this request in the audit log: its trace; None where it is not traced."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None
