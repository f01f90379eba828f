"""The API under /api/v1: bearer token, JSON, RFC 9457 problem details for every refusal. One file a noun: its models in
`models`, its routes here."""

from snoozer.web.api import (
    acts,
    description,
    snoozes,
    webhooks,
    when,
)
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.problems import problem_of

# What is imported here has registered its routes.
NOUNS = (
    acts,
    description,
    snoozes,
    webhooks,
    when,
)

__all__ = ["NOUNS", "blueprint", "problem_of"]
