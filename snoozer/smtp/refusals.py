"""Distinguishes a server that refuses everybody from recipients that are refused one by one."""

# So many recipients in a row.
REFUSED_RECIPIENTS = 5
# A reply that blames the recipient's address weighs less: so many are as much as one that does not.
ADDRESS_REFUSALS = 10
# After a false alarm more refusals are tolerated for an hour, twice as many each time.
MAX_TOLERANCE = 8
TOLERANT_SECONDS = 3600.0


class Refusals:
    """Recipients that the server refused for good since it last accepted a message, and what each refusal weighs.

    `now` is monotonic seconds.
    """

    def __init__(self) -> None:
        self.weights: dict[str, int] = {}
        self._tolerance = 1
        self._tolerant_since = float("-inf")

    def add(self, recipient: str, *, is_about_address: bool, now: float) -> bool:
        """Count one; returns whether so many recipients were refused that the server is at fault."""
        if now - self._tolerant_since > TOLERANT_SECONDS:
            self._tolerance = 1
        if not self._are_too_many:
            self.weights[recipient] = 1 if is_about_address else ADDRESS_REFUSALS
        return self._are_too_many

    def clear(self, *, now: float) -> None:
        """The server accepted a message. Where it was held to be at fault, that was wrong, or is over."""
        if self._are_too_many:
            self._tolerance = min(2 * self._tolerance, MAX_TOLERANCE)
            self._tolerant_since = now
        self.weights.clear()

    @property
    def _are_too_many(self) -> bool:
        return sum(self.weights.values()) >= REFUSED_RECIPIENTS * ADDRESS_REFUSALS * self._tolerance
