"""A value for each column that people choose, other than the table's default."""

from types import NoneType
from typing import Any, get_args

from snoozer.queue.promise import CHOICES

# Any whole number fits the other options.
_PRIORITY = -100


def _value(name: str, kind: Any) -> Any:
    [kind] = [one for one in get_args(kind) or (kind,) if one is not NoneType]
    if choices := get_args(kind):
        return choices[-1]
    return {bool: True, int: _PRIORITY if name == "priority" else 3, str: "1:a text"}[kind]


VALUES: dict[str, Any] = {name: _value(name, kind) for name, kind in CHOICES.items()}
