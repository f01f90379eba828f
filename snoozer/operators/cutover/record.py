"""A record of another scheduler: a job, or a send, as flat values by the names of its source."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

# The paths that a mapping may name: `kwargs.to`, `args.0`, `extra.account.email`.
MAX_VALUES, MAX_DEPTH = 200, 4


class SourceError(Exception):
    """A source cannot be read at all, or no further; the text is a sentence for people."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """The place of a record in its source, and its values, or why it cannot be read."""

    place: str
    values: dict[str, Any] | None = None
    reason: str | None = None


# Reads a source from its start, each time it is called. Raises SourceError.
Source = Callable[[], Iterator[Record]]


def flatten(values: Any, *, prefix: str = "") -> dict[str, Any]:
    """Flatten nested values by their path: {"kwargs": {"to": 1}} as {"kwargs.to": 1}, at most MAX_VALUES."""
    flat: dict[str, Any] = {}
    stack = [(prefix, values, 0)]
    while stack and len(flat) < MAX_VALUES:
        path, value, depth = stack.pop()
        if isinstance(value, dict | list | tuple) and depth < MAX_DEPTH:
            items = value.items() if isinstance(value, dict) else enumerate(value)
            # At each depth, visit no more items than are kept.
            inner = [(f"{path}.{name}" if path else str(name), item, depth + 1) for name, item in _first(items)]
            stack += reversed(inner)
        if path:
            flat[path] = value
    return flat


def _first(items: Any) -> Iterator[tuple[Any, Any]]:
    for count, (name, item) in enumerate(items):
        if count == MAX_VALUES:
            return
        if isinstance(name, str | int):
            yield name, item
