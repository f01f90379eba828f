"""The statements that an act executes."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, event


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """What is executed meanwhile."""
    executed: list[str] = []

    def note(connection: object, cursor: object, statement: str, *more: object) -> None:
        executed.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield executed
    event.remove(engine, "before_cursor_execute", note)
