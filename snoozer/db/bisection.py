"""Find the rows of a batch that fail."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

Row = TypeVar("Row")
T = TypeVar("T")


def bisect(
    connection: Connection,
    rows: Sequence[Row],
    act: Callable[[Sequence[Row]], T],
    *,
    is_row_error: Callable[[DBAPIError], bool],
) -> tuple[list[T], list[tuple[Row, DBAPIError]]]:
    """Act on all rows; if that fails, on each half of them, down to the rows that fail; each time in a savepoint.

    Returns the results, and the rows that failed. An error for which `is_row_error` is False is raised."""
    try:
        with connection.begin_nested():
            return [act(rows)], []
    except DBAPIError as error:
        if not rows or not is_row_error(error):
            raise
        if len(rows) == 1:
            return [], [(rows[0], error)]
    middle = len(rows) // 2
    first, second = (
        bisect(connection, half, act, is_row_error=is_row_error) for half in (rows[:middle], rows[middle:])
    )
    return first[0] + second[0], first[1] + second[1]
