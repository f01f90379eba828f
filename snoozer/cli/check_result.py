"""A finding of `snoozer doctor` says what is, what that means, and what to do."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One answer. `do` is empty unless there is something to do."""

    check: str
    verdict: Literal["right", "wrong", "advice", "skipped"]
    says: str
    do: str = ""


def right(check: str, says: str) -> Finding:
    return Finding(check=check, verdict="right", says=says)


def wrong(check: str, says: str, do: str) -> Finding:
    return Finding(check=check, verdict="wrong", says=says, do=do)


def advice(check: str, says: str, do: str) -> Finding:
    return Finding(check=check, verdict="advice", says=says, do=do)


def skipped(check: str, says: str) -> Finding:
    return Finding(check=check, verdict="skipped", says=says)
