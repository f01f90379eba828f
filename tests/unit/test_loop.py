"""A loop goes on after any error, and ends when it is stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue

from snoozer.runtime.loop import Loop
from tests.conftest import HANG_SECONDS

FOREVER = 3_600.0


def test_a_loop_goes_on_after_a_defect_and_reports_it() -> None:
    turns, reported = Queue[int](), Queue[Exception]()
    numbers = iter(range(100))

    def turn() -> float:
        turns.put(number := next(numbers))
        if number == 1:
            raise ZeroDivisionError
        return FOREVER if number == 3 else 0.0

    with running(Loop(turn, name="tested", first_wait=0.001, report=reported.put)):
        assert [turns.get(timeout=HANG_SECONDS) for _ in range(4)] == [0, 1, 2, 3]
    assert isinstance(reported.get_nowait(), ZeroDivisionError)
    assert (turns.qsize(), reported.qsize()) == (0, 0)


def test_a_stop_ends_the_wait_for_the_next_turn_and_the_wait_after_an_error() -> None:
    for error in (None, OSError()):
        turns = Queue[None]()

        def turn(turns: Queue[None] = turns, error: OSError | None = error) -> float:
            turns.put(None)
            if error is not None:
                raise error
            return FOREVER

        with running(Loop(turn, name="tested", first_wait=FOREVER, report=lambda _: None)):
            turns.get(timeout=HANG_SECONDS)
        assert turns.empty()


@contextmanager
def running(loop: Loop) -> Iterator[None]:
    loop.start()
    try:
        yield
    finally:
        loop.stop()
