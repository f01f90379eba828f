"""Unpickles APScheduler's data without running anything that the pickle names.

A pickle is a program. Here it may only call the constructors of dates, and only name triggers, which become plain
records. Any other name is refused and reported. A short pickle can also request much memory: its size, the numbers of
its memo and its opcodes are checked first.
"""

import io
import pickle
import pickletools
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from snoozer.timephrase.zones import canonical

MAX_BYTES = 64 * 1024
_MAX_MEMO = 10_000
# They access the persistent or the copyreg registry, make classes the old way, or allocate an announced size.
_REFUSED = {
    "PERSID",
    "BINPERSID",
    "EXT1",
    "EXT2",
    "EXT4",
    "INST",
    "OBJ",
    "BYTEARRAY8",
    "NEXT_BUFFER",
}
_TRIGGERS = {
    ("apscheduler.triggers.date", "DateTrigger"),
    ("apscheduler.triggers.cron", "CronTrigger"),
    ("apscheduler.triggers.interval", "IntervalTrigger"),
    ("apscheduler.triggers.calendarinterval", "CalendarIntervalTrigger"),
    ("apscheduler.triggers.combining", "AndTrigger"),
    ("apscheduler.triggers.combining", "OrTrigger"),
}
_FIELDS = "apscheduler.triggers.cron."


class UnsafePickle(ValueError):
    """A pickle that is not loaded; the text goes on after "because"."""


class Plain:
    """The replacement for an object of APScheduler: the name of its class and its state."""

    kind = ""
    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


def load(content: bytes) -> Any:
    """The value of a pickle. Raises UnsafePickle."""
    if len(content) > MAX_BYTES:
        raise UnsafePickle(f"its state is longer than {MAX_BYTES // 1024} kB")
    try:
        _check(content)
        return _Unpickler(io.BytesIO(content)).load()
    except UnsafePickle:
        raise
    except Exception as error:  # A broken pickle raises anything.
        raise UnsafePickle(f"its state cannot be read ({type(error).__name__})") from None


def _check(content: bytes) -> None:
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name in _REFUSED:
            raise UnsafePickle(f"its state uses {opcode.name}, which no job needs")
        if opcode.name in {"PUT", "BINPUT", "LONG_BINPUT"} and (argument or 0) > _MAX_MEMO:
            raise UnsafePickle("its state asks for too much memory")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _TRIGGERS or (module.startswith(_FIELDS) and name.isidentifier()):
            return type(name, (Plain,), {"kind": name})
        allowed = ALLOWED.get((module, name))
        if allowed is None:
            raise UnsafePickle(f"its state names {module[:60]}.{name[:60]}, and only dates and triggers are read")
        return allowed


class _Callable:
    """A callable without attributes: a pickle could set attributes of a function, and they would last."""

    __slots__ = ()


class _Zone(_Callable):
    __slots__ = ()

    def __call__(self, key: Any, *rest: Any) -> ZoneInfo:
        if not isinstance(key, str) or canonical(key) is None:
            raise UnsafePickle("its zone is unknown here")
        return ZoneInfo(key)


class _Attribute(_Callable):
    """The replacement for getattr: a ZoneInfo is pickled as the call of an attribute."""

    __slots__ = ()

    def __call__(self, owner: Any, name: Any) -> Any:
        if owner is not _ZONE_INFO or name != "_unpickle":
            raise UnsafePickle("its state asks for an attribute of something that is no zone")
        return _ZONE


class _Utc(_Callable):
    __slots__ = ()

    def __call__(self, *rest: Any) -> timezone:
        return UTC


_ZONE = _Zone()
# A marker for the class: it is only compared, never called or inspected.
_ZONE_INFO = object()
ALLOWED: dict[tuple[str, str], Any] = {
    ("datetime", "datetime"): datetime,
    ("datetime", "date"): date,
    ("datetime", "time"): time,
    ("datetime", "timedelta"): timedelta,
    ("datetime", "timezone"): timezone,
    ("builtins", "getattr"): _Attribute(),
    ("zoneinfo", "ZoneInfo"): _ZONE_INFO,
    ("zoneinfo", "ZoneInfo._unpickle"): _ZONE,
    ("pytz", "_p"): _ZONE,
    ("pytz", "_UTC"): _Utc(),
}
