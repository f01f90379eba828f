"""The API under /api/v1: bearer token, JSON, RFC 9457 problem details for every refusal."""

from snoozer.web.api.problems import problem_of
from snoozer.web.api.routes import blueprint

__all__ = ["blueprint", "problem_of"]
