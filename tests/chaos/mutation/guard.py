"""What a guard of the protocol is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """`old` stands once in `file`; with `new` in its place, `test` must turn red."""

    name: str
    file: str
    old: str
    new: str
    test: str
