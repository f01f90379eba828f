"""The API under /api/v1: bearer token, JSON, RFC 9457 problem details for every refusal. One file a noun: its models in
`models`, its routes here."""

from snoozer.web.api import (
    description,
    snoozes,
    when,
)
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.problems import problem_of

# What is imported here has registered its routes.
NOUNS = (
    description,
    snoozes,
    when,
)

__all__ = ["NOUNS", "blueprint", "problem_of"]
