"""Quotas of requests, and the remaining amount of each quota in headers (draft-ietf-httpapi-ratelimit-headers-10).

A process takes a share of a token's and a person's minute from the database, and counts it here until it is used up or
the minute is over, so that the rows of quotas are written only a few times a second under any load.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from threading import Lock

from flask import Flask, Response, current_app, g

from snoozer.people import api_tokens, quotas
from snoozer.people.quotas import QuotaReached, Share, Standing
from snoozer.runtime import secret_keys
from snoozer.web import context

# The limit for shares in this process; beyond it, shares of past minutes are removed.
MAX_SHARES = 20_000

# Period ends computed twice may differ by one query's duration (in seconds); the shortest period is a minute.
SAME_END = 20.0

_KEY = "snoozer-requests"


@dataclass
class _Counted:
    """The share of one quota: how many of its requests are left, and until when it counts by this process's clock.
    `reached` is set if the database had no more for this period."""

    share: Share
    requests: int
    ends: float
    reached: bool = False

    def is_short(self, now: float) -> bool:
        return self.ends <= now or (self.share.taken is not None and self.requests < 1)

    def standing(self, now: float) -> Standing:
        reset = max(1, ceil(self.ends - now))
        left = self.share.left + self.requests
        return Standing(quota=self.share.quota, most=self.share.most, left=left, reset=reset)


class Shares:
    """The shares that this process holds, by quota and subject: a token by its hash, and its owner. Thread-safe."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], _Counted] = {}
        self._owners: dict[str, str] = {}
        self._lock = Lock()

    def take(self, token: str, *, now: float) -> list[Standing] | None:
        """Counts one request; returns None if the database must be asked for a share. Raises QuotaReached if it had
        none left in this minute."""
        with self._lock:
            owner = self._owners.get(token)
            if owner is None:
                return None
            held = [self._held.get(key) for key in _keys(token, owner)]
            for each in held:
                if each is not None and each.reached and each.is_short(now) and now < each.ends:
                    standing = each.standing(now)
                    raise QuotaReached(standing.quota, most=standing.most, retry_after=standing.reset)
            counted = [each for each in held if each is not None and not each.is_short(now)]
            if len(counted) < len(held):
                return None
            limited = [each for each in counted if each.share.taken is not None]
            for each in limited:
                each.requests -= 1
            return [each.standing(now) for each in limited]

    def wanted(self, token: str, owner: str, *, now: float) -> dict[str, int | None]:
        """The quotas of which a share is missing, each with the amount known to be left in this minute."""
        with self._lock:
            known = {key: self._held.get(key) for key in _keys(token, owner)}
            return {
                name: each.share.left if each is not None and each.ends > now else None
                for (name, _), each in known.items()
                if each is None or each.is_short(now)
            }

    def add(self, token: str, owner: str, shares: Iterable[Share], *, now: float) -> None:
        """Adds shares that were requested at `now`."""
        with self._lock:
            self._make_room(now)
            self._owners[token] = owner
            keys = dict(_keys(token, owner))
            for share in shares:
                key = share.quota.name, keys[share.quota.name]
                before, ends = self._held.get(key), now + share.seconds_left
                # Shares of the same period add up. Ends computed twice may differ by one query's duration.
                kept = before.requests if before is not None and abs(before.ends - ends) < SAME_END else 0
                self._held[key] = _Counted(share=share, requests=kept + (share.taken or 0), ends=ends)

    def refuse(self, token: str, owner: str, reached: QuotaReached, *, now: float) -> None:
        """Refuses this quota until its period is over, without asking the database again."""
        with self._lock:
            self._make_room(now)
            self._owners[token] = owner
            quota, most = reached.standing.quota, reached.standing.most
            ends = now + reached.retry_after
            none = Share(quota=quota, most=most, taken=0, left=0, seconds_left=reached.retry_after)
            key = quota.name, dict(_keys(token, owner))[quota.name]
            self._held[key] = _Counted(share=none, requests=0, ends=ends, reached=True)

    def _make_room(self, now: float) -> None:
        if len(self._held) + len(self._owners) >= MAX_SHARES:
            self._held = {key: each for key, each in self._held.items() if each.ends > now}
            live = {subject for _, subject in self._held}
            self._owners = {token: owner for token, owner in self._owners.items() if token in live}


def _keys(token: str, owner: str) -> tuple[tuple[str, str], ...]:
    return (quotas.TOKEN_REQUESTS.name, token), (quotas.REQUESTS.name, owner)


def init_app(app: Flask) -> None:
    app.extensions[_KEY] = Shares()
    app.after_request(_add_headers)


def spend_request(secret: str) -> bool:
    """Counts a request with this token, and notes its last use. Returns False for an invalid token; if a share was
    left, the caller's transaction checks whether it is still valid. Raises QuotaReached, TokenExpired."""
    shares: Shares = current_app.extensions[_KEY]
    token, now = secret_keys.digest(secret), time.monotonic()
    # Try once more if other threads used the share that this one requested.
    while (standings := shares.take(token, now=now)) is None:
        owner, now = None, time.monotonic()
        try:
            with context.transaction() as connection:
                grant = api_tokens.find(connection, secret=secret)
                if grant is None:
                    return False
                api_tokens.touch(connection, id=grant.id)
                owner = grant.account.email
                wanted = shares.wanted(token, owner, now=now)
                limits = context.settings().limits
                taken = quotas.share_of_requests(connection, limits, user_email=owner, token=secret, wanted=wanted)
        except QuotaReached as reached:
            if owner is not None:
                shares.refuse(token, owner, reached, now=now)
            raise
        shares.add(token, owner, taken, now=now)
    note(standings)
    return True


def note(standings: Iterable[Standing]) -> None:
    """Shows the remaining amounts in the headers of this response."""
    known: dict[str, Standing] = g.setdefault("rate_limits", {})
    known.update((standing.quota.name, standing) for standing in standings)


def _add_headers(response: Response) -> Response:
    known: dict[str, Standing] = g.get("rate_limits", {})
    if known:
        policies = [
            f'"{name}";q={each.most};w={int(each.quota.period.total_seconds())}' for name, each in known.items()
        ]
        response.headers["RateLimit-Policy"] = ", ".join(policies)
        response.headers["RateLimit"] = ", ".join(
            f'"{name}";r={each.left};t={each.reset}' for name, each in known.items()
        )
    return response
