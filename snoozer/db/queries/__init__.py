"""Reads for pages and API, by the ORM; paged by cursors on (time, id), so that page 100 costs what page 1 does."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Self, TypeVar

from sqlalchemy import Row

T = TypeVar("T")
Found = Row[*tuple[Any, ...]]

PAGE_SIZE = 40

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class InvalidCursor(ValueError):
    """The text is not a cursor of this list."""


@dataclass(frozen=True)
class Cursor:
    """The last row of a page; the next page begins after it."""

    at: datetime
    id: int

    def __str__(self) -> str:
        plain = f"{(self.at - _EPOCH) // _MICROSECOND}.{self.id}"
        return urlsafe_b64encode(plain.encode("ascii")).rstrip(b"=").decode("ascii")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `str`. Raises InvalidCursor."""
        try:
            plain = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)).decode("ascii")
            micros, id = (int(number) for number in plain.split("."))
            if not 0 <= id < 2**63:
                raise InvalidCursor
            return cls(at=_EPOCH + timedelta(microseconds=micros), id=id)
        except (ValueError, Error, OverflowError):
            raise InvalidCursor("That is not a cursor this list gave out.") from None


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """Some rows and, if there are more, the cursor of the next page."""

    rows: Sequence[T]
    next_cursor: Cursor | None


def columns(model: Any, names: str) -> list[Any]:
    """Columns of a model by their names, which are separated by spaces."""
    return [getattr(model, name) for name in names.split()]


def make_page(rows: Sequence[Any], *, size: int, at: Callable[[Any], datetime]) -> Page[Any]:
    """A page from up to `size + 1` rows; `at` returns the time that they are ordered by."""
    shown = rows[:size]
    return Page(rows=shown, next_cursor=Cursor(at(shown[-1]), shown[-1].id) if len(rows) > size else None)
