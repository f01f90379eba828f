"""How much of requests' bodies one process holds: no person's uploads take all of it, and small ones always fit."""

from collections import Counter
from dataclasses import dataclass


@dataclass(kw_only=True, eq=False)
class HeldBody:
    """A body that arrives, or that the application has not finished with. `sharer` is whose share a large one uses."""

    sharer: str
    length: int = 0


class HeldBodies:
    """Bodies may hold `total` bytes together. Bodies larger than `small` leave `reserve` bytes free, and the bodies of
    one sharer hold at most `share` bytes; a body that is alone is always admitted."""

    def __init__(self, *, total: int, reserve: int, share: int, small: int) -> None:
        self._total, self._reserve, self._share, self._small = total, reserve, share, small
        self._held = 0
        self._shared = Counter[str]()

    def add(self, body: HeldBody, size: int) -> bool:
        """Count bytes that arrived; returns whether there is room for them. They count until the body is released."""
        body.length += size
        self._held += size
        self._shared[body.sharer] += size
        if body.length <= self._small:
            return self._held <= self._total
        own, whole = self._shared[body.sharer], self._held
        return (own <= self._share or own == body.length) and (whole <= self._total - self._reserve)

    def release(self, body: HeldBody) -> None:
        """Forget a body."""
        self._held -= body.length
        self._shared[body.sharer] -= body.length
        if not self._shared[body.sharer]:
            del self._shared[body.sharer]
        body.length = 0
