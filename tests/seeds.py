"""Hostile archives, mails and requests without end, each made from its number alone."""

from collections.abc import Callable
from random import Random

MIB = 1024 * 1024
Kind = Callable[[Random], bytes]


def pick(kinds: list[Kind], seed: int) -> bytes:
    """Each kind in turn, so that a sample has them all."""
    return kinds[seed % len(kinds)](Random(seed))


def some(dice: Random, pieces: tuple[bytes, ...], *, size: int) -> bytes:
    """Some of these pieces, over and over, up to this size."""
    block = b"".join(dice.choices(pieces, k=dice.randint(1, 12)))
    return block * (size // len(block))
