"""HTTP with retries: requests that were certainly not performed are retried, and so are idempotent ones.

A wait is the server's own (Retry-After), or grows with each failure. Redirects are not followed: a token goes to the
server it was made for.
"""

import json
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from urllib.parse import urlencode, urlsplit

from urllib3 import PoolManager, Retry, Timeout
from urllib3.exceptions import HTTPError, NewConnectionError

from snoozer.client.errors import ApiError, Refused, Unreachable, WaitTooLong, refused
from snoozer.runtime.backoff import Backoff

PREFIX = "/api/v1"
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024
# Which requests may be sent again although the first one may have been done: by their meaning, or by their key.
_REPEATABLE = frozenset({"GET", "HEAD"})


class Transport:
    """Requests to one server by one token; may be used by several threads."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        attempts: int,
        longest_wait: float,
        user_agent: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise ValueError("The url must be that of a Snoozer, such as https://snooze.example.org.")
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "User-Agent": user_agent}
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._sleep = sleep
        self._pool = PoolManager(retries=Retry(False), timeout=Timeout(total=timeout), maxsize=4)

    def request(
        self,
        method: str,
        path: str,
        *,
        json_body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body of a good answer. `path` stands behind /api/v1, or is the whole address of a next page. Raises
        ApiError."""
        url = self._address(path, query)
        sent = {**self._headers, **(headers or {})}
        body = None
        if json_body is not None:
            body, sent["Content-Type"] = json.dumps(json_body).encode(), "application/json"
        repeatable = method in _REPEATABLE or "Idempotency-Key" in sent
        backoff = Backoff(first=FIRST_WAIT, cap=LONGEST_WAIT, rng=Random())  # noqa: S311 - no secret
        waited = 0.0
        for attempt in range(1, self._attempts + 1):
            try:
                return self._once(method, url, body=body, headers=sent)
            except (Unreachable, Refused) as error:
                wait = backoff.next_wait()
                if isinstance(error, Refused) and error.retry_after is not None:
                    wait = error.retry_after
                if (
                    attempt == self._attempts
                    or not _may_repeat(error, repeatable)
                    or waited + wait > self._longest_wait
                ):
                    raise
            self._sleep(wait)
            waited += wait
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close the connections that are kept."""
        self._pool.clear()

    def _address(self, path: str, query: Mapping[str, Any] | None) -> str:
        if not path.startswith("/"):
            # A page's `next`: it is asked for at the server that the token belongs to, whatever name it has there.
            parts = urlsplit(path)
            path = parts.path[parts.path.find(PREFIX) + len(PREFIX) :] + (f"?{parts.query}" if parts.query else "")
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return f"{self.url}{PREFIX}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")

    def _once(self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        try:
            with self._pool.request(
                method, url, body=body, headers=headers, redirect=False, preload_content=False
            ) as response:
                answer = response.read(MAX_ANSWER_BYTES + 1)
                status, retry_after = response.status, _seconds(response.headers.get("Retry-After"))
        except NewConnectionError as error:
            raise Unreachable(f"{self.url} cannot be reached: no connection", may_be_done=False) from error
        except HTTPError as error:
            raise Unreachable(f"{self.url} gave no answer", may_be_done=True) from error
        if len(answer) > MAX_ANSWER_BYTES:
            raise ApiError(f"{self.url} answered with more than {MAX_ANSWER_BYTES} bytes")
        if 200 <= status < 300:
            return answer
        raise refused(status, answer, retry_after=retry_after)


def _may_repeat(error: Unreachable | Refused, repeatable: bool) -> bool:
    if isinstance(error, Unreachable):
        return repeatable or not error.may_be_done
    return isinstance(error, WaitTooLong) or (error.status in {500, 502, 504} and repeatable)


def _seconds(header: str | None) -> float | None:
    """Snoozer sends seconds; a date, which a proxy may send, counts as no wait that is known."""
    return float(header) if header is not None and header.isascii() and header.isdigit() and len(header) < 10 else None
