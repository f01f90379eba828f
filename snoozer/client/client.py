"""The client: one method for each thing that a person does with snoozes."""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from pydantic import TypeAdapter

from snoozer import __version__
from snoozer.client.models import Reading, Snooze, SnoozeHistory, SnoozePage
from snoozer.client.transport import Transport


class _Kept(Enum):
    KEPT = "what is there"


KEPT: Final = _Kept.KEPT


class Client:
    """A person's snoozes at one Snoozer, by a token of theirs. All methods raise ApiError.

    A request that failed for now is sent again, `attempts` times in all and with at most `longest_wait` seconds of
    waiting; a POST has a key by which the server does it once.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        attempts: int = 5,
        longest_wait: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        agent = f"snoozer-client/{__version__}"
        self._transport = Transport(
            url,
            token,
            timeout=timeout,
            attempts=attempts,
            longest_wait=longest_wait,
            user_agent=agent,
            sleep=sleep,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept."""
        self._transport.close()

    def snooze(
        self,
        *,
        when: str | None = None,
        remind_at: datetime | None = None,
        message_id: str | None = None,
        subject: str | None = None,
        sender_email: str | None = None,
        note: str | None = None,
        zone: str | None = None,
        locale: str | None = None,
        reply_policy: str | None = None,
        reply_scope: str | None = None,
        at_any_hour: bool | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Snooze:
        """Snooze a message until `when`, a phrase, or `remind_at`. A message that is snoozed already gets the new time.

        With the same `idempotency_key` it is done once within a day; without one it has a key of its own, so that its
        repetitions are. `more` are other fields of the API by their names.
        """
        body = {
            "when": when,
            "remind_at": remind_at,
            "message_id": message_id,
            "subject": subject,
            "sender_email": sender_email,
            "note": note,
            "zone": zone,
            "locale": locale,
            "reply_policy": reply_policy,
            "reply_scope": reply_scope,
            "at_any_hour": at_any_hour,
            **more,
        }
        headers = {"Idempotency-Key": idempotency_key or str(uuid4())}
        return Snooze.model_validate_json(
            self._transport.request("POST", "/snoozes", json_body=_given(body), headers=headers)
        )

    def get(self, id: int) -> SnoozeHistory:
        """One snooze, and what became of it."""
        return SnoozeHistory.model_validate_json(self._transport.request("GET", f"/snoozes/{id}"))

    def list(self, *, state: str | None = None, page_size: int | None = None, **filters: Any) -> Iterator[Snooze]:
        """All snoozes, newest first, read page by page as they are asked for."""
        query = {"state": state, "limit": page_size, **filters}
        page = self._page("/snoozes", query)
        yield from page.snoozes
        while page.next is not None:
            page = self._page(page.next)
            yield from page.snoozes

    def change(
        self,
        id: int,
        *,
        when: str | None = None,
        remind_at: datetime | None = None,
        note: str | _Kept | None = KEPT,
        if_match: str | None = None,
        **more: Any,
    ) -> Snooze:
        """Another time, another note (None removes it), or other fields of the API. With `if_match`, an ETag, only
        while the snooze is what it was."""
        body = _given({"when": when, "remind_at": remind_at, **more})
        if note is not KEPT:
            body["note"] = note
        answer = self._transport.request("PATCH", f"/snoozes/{id}", json_body=body, headers=_if_match(if_match))
        return Snooze.model_validate_json(answer)

    def cancel(self, id: int, *, if_match: str | None = None) -> Snooze:
        """No reminder after all."""
        return Snooze.model_validate_json(
            self._transport.request("DELETE", f"/snoozes/{id}", headers=_if_match(if_match))
        )

    def when(self, phrase: str, *, zone: str | None = None, locale: str | None = None) -> Reading:
        """What a phrase means, without saving anything. Raises Invalid with suggestions."""
        query = {"phrase": phrase, "zone": zone, "locale": locale}
        return Reading.model_validate_json(self._transport.request("GET", "/when", query=query))

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Any other request of the API, such as `request("GET", "/settings")`: the JSON of its answer, None where it
        has none. A POST has a key here, too."""
        keyed = {"Idempotency-Key": str(uuid4())} if method == "POST" else {}
        answer = self._transport.request(
            method, path, json_body=json, query=query, headers={**keyed, **(headers or {})}
        )
        return _ANYTHING.validate_json(answer) if answer else None

    def _page(self, path: str, query: Mapping[str, Any] | None = None) -> SnoozePage:
        return SnoozePage.model_validate_json(self._transport.request("GET", path, query=query))


_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given, as JSON has them."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in fields.items()
        if value is not None
    }


def _if_match(etag: str | None) -> dict[str, str]:
    return {} if etag is None else {"If-Match": etag}
