"""Rows that fail are found in their batch, and the others are done once."""

from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from snoozer.db.bisection import bisect
from snoozer.db.errors import is_of_rows

BAD = {0, 13, 14, 99}


@pytest.mark.parametrize("bad", [set(), BAD, set(range(100))], ids=["none", "some", "all"])
def test_every_row_is_done_but_those_that_fail(engine: Engine, bad: set[int]) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TEMPORARY TABLE numbers (number int PRIMARY KEY) ON COMMIT DROP"))
        for number in bad:
            connection.execute(text("INSERT INTO numbers VALUES (:number)"), {"number": number})
        done, failed = bisect(connection, range(100), lambda part: _insert(connection, part), is_row_error=is_of_rows)
        found = connection.execute(text("SELECT number FROM numbers ORDER BY number")).scalars().all()
    assert [number for part in done for number in part] == [number for number in range(100) if number not in bad]
    assert [number for number, _ in failed] == sorted(bad)
    assert all(isinstance(error, IntegrityError) for _, error in failed)
    assert found == list(range(100))


def test_what_fails_for_every_row_is_tried_once(engine: Engine) -> None:
    tries: list[Sequence[int]] = []

    def act(connection: Connection, part: Sequence[int]) -> None:
        tries.append(part)
        connection.execute(text("INSERT INTO no_such_table VALUES (1)"))

    with engine.begin() as connection, pytest.raises(ProgrammingError):
        bisect(connection, range(100), lambda part: act(connection, part), is_row_error=is_of_rows)
    assert tries == [range(100)]


def test_an_error_without_rows_is_raised(engine: Engine) -> None:
    with engine.begin() as connection, pytest.raises(IntegrityError):
        bisect(connection, [], lambda _: _insert_twice(connection), is_row_error=is_of_rows)


def _insert(connection: Connection, numbers: Sequence[int]) -> list[int]:
    for number in numbers:
        connection.execute(text("INSERT INTO numbers VALUES (:number)"), {"number": number})
    return list(numbers)


def _insert_twice(connection: Connection) -> None:
    connection.execute(text("CREATE TEMPORARY TABLE numbers (number int PRIMARY KEY) ON COMMIT DROP"))
    _insert(connection, [1, 1])
