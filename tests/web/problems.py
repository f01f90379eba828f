"""What every refusal of the API is."""

from typing import Any

from werkzeug.test import TestResponse


def is_problem(answer: TestResponse, status: int, code: str) -> dict[str, Any]:
    """Asserts that the answer is a problem (RFC 9457) with this status and code; returns it."""
    assert (answer.status_code, answer.mimetype) == (status, "application/problem+json"), answer.get_data(as_text=True)
    problem: dict[str, Any] = answer.get_json()
    assert problem["type"] == "about:blank"
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["title"] and problem["detail"].endswith((".", "?"))
    return problem
