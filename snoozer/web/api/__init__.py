"""The API under /api/v1: bearer token, JSON, RFC 9457 problem details for every refusal. One file a noun: its models in
`models`, its routes here."""

from snoozer.web.api import (
    acts,
    bulk,
    description,
    history,
    mailboxes,
    settings,
    snoozes,
    webhooks,
    when,
)
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.problems import problem_of

# Importing these modules registers their routes.
NOUNS = (
    acts,
    bulk,
    description,
    history,
    mailboxes,
    settings,
    snoozes,
    webhooks,
    when,
)

__all__ = ["NOUNS", "blueprint", "problem_of"]
