"""Where in the order of promises a claim begins, so that it does not walk past the same index entries each time.

Now and then a claim looks at everything: a sweep. It finds what was inserted, released or unlocked behind the cursor.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from snoozer.domain.reminder import Claim
from snoozer.postgres.queue import Place

LAG = timedelta(seconds=30)
SWEEP_SECONDS = 2.0
# A sweep that was long is not made again before so many times its length have passed.
SPACED = 10
LAST_ID = 2**63 - 1


class Lagging:
    """Starts where the last claim started, less a lag: behind that lie only the dead entries of rows that are gone."""

    def __init__(self) -> None:
        self.after: Place | None = None
        self.swept = float("-inf")

    def start(self, now: float) -> Place | None:
        """The place after which to look; None for everything."""
        if now - self.swept >= SWEEP_SECONDS:
            self.swept = now
            return None
        return self.after

    def move(self, claims: Sequence[Claim]) -> None:
        """These were found."""
        if claims:
            self.after = (min(claim.remind_at for claim in claims) - LAG, 0)


class Strict:
    """Starts where the last claim ended: behind that lie the rows of those who are left out, however many."""

    def __init__(self) -> None:
        self._after: Place | None = None
        self._due = float("-inf")

    def start(self, now: float) -> Place | None:
        """The place after which to look; None for everything."""
        return None if now >= self._due else self._after

    def move(self, claims: Sequence[Claim], *, room: int, until: datetime, began: float, ended: float) -> None:
        """These were found, `room` at the most, among what was due at `until`, in a claim that took from `began` to
        `ended`."""
        if began >= self._due:
            self._due = ended + min(SWEEP_SECONDS, SPACED * (ended - began))
        full = len(claims) >= room
        self._after = max((claim.remind_at, claim.id) for claim in claims) if full else (until, LAST_ID)
