"""The rows of a run and when each is due: the same for every contestant. Standard library only, as peers import it."""

from dataclasses import dataclass
from random import Random

SEED = 5


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """So many rows, numbered from `first` on, due at random moments within `seconds` after `start`.

    `start` is in seconds since 1970; without one they are due at once.
    """

    rows: int
    first: int = 0
    start: float | None = None
    seconds: float = 0.0

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.rows)

    def due_times(self) -> list[float] | None:
        """Return the due times in ascending order, the same at each call; None if all rows are due at once."""
        if self.start is None:
            return None
        rng = Random(SEED)  # noqa: S311 - scatters due times, guards nothing
        return sorted(self.start + rng.uniform(0, self.seconds) for _ in self.numbers)


def recipient(number: int) -> str:
    """Return the person who owns the row with this number."""
    return f"person-{number}@snoozer.example"
