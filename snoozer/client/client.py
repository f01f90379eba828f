"""The client: one method for each of a person's acts on snoozes."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from types import TracebackType
from typing import Any, Final, Literal, Self
from uuid import uuid4

from pydantic import TypeAdapter

from snoozer import __version__
from snoozer.client.models import BulkReply, Reading, Snooze, SnoozeHistory, SnoozePage, Undone
from snoozer.client.transport import Transport


class _Kept(Enum):
    KEPT = "what is there"


KEPT: Final = _Kept.KEPT


class Client:
    """A person's snoozes at one Snoozer, by their token. All methods raise ApiError.

    A request that failed temporarily is sent again, up to `attempts` times in all and with at most `longest_wait`
    seconds of waiting; a POST has a key, by which the server performs it once.
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
        """Snooze a message until `when`, a phrase, or `remind_at`. A message that is already snoozed gets the new time.

        With the same `idempotency_key` it is done once within a day; without one it gets its own key, so that retries
        are safe. `more` are other fields of the API by their names.
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
        return Snooze.model_validate_json(self._post("/snoozes", body, key=idempotency_key))

    def get(self, id: int) -> SnoozeHistory:
        """One snooze, and its history."""
        return SnoozeHistory.model_validate_json(self._transport.request("GET", f"/snoozes/{id}"))

    def list(
        self,
        *,
        state: str | None = None,
        message_id: Sequence[str] | None = None,
        page_size: int | None = None,
        **filters: Any,
    ) -> Iterator[Snooze]:
        """All snoozes, newest first; further pages are requested on demand. With `message_id`, of which the server
        takes 50 and no other filter, the live or newest snooze of each message."""
        query = {"state": state, "message_id": message_id, "limit": page_size, **filters}
        page = self._page("/snoozes", query)
        yield from page.snoozes
        while page.next is not None:
            page = self._page(page.next)
            yield from page.snoozes

    def search(self, q: str, *, page_size: int | None = None) -> Iterator[Snooze]:
        """Waiting snoozes that match all words and filters, the next one first: `from:ann due:<friday`. Raises Invalid
        for an invalid filter."""
        return self.list(q=q, page_size=page_size)

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
        """Change the time, the note (None removes it), or other fields of the API. With `if_match`, an ETag, only if
        the snooze is unchanged."""
        body = _given({"when": when, "remind_at": remind_at, **more})
        if note is not KEPT:
            body["note"] = note
        answer = self._transport.request("PATCH", f"/snoozes/{id}", json_body=body, headers=_if_match(if_match))
        return Snooze.model_validate_json(answer)

    def cancel(self, id: int, *, if_match: str | None = None) -> Snooze:
        """Cancel the snooze."""
        return Snooze.model_validate_json(
            self._transport.request("DELETE", f"/snoozes/{id}", headers=_if_match(if_match))
        )

    def wake(self, id: int, *, if_match: str | None = None, idempotency_key: str | None = None) -> Snooze:
        """Bring it back now. Raises Conflict if it is due already, or over."""
        return self._act(id, "wake", {}, if_match=if_match, key=idempotency_key)

    def done(self, id: int, *, if_match: str | None = None, idempotency_key: str | None = None) -> Snooze:
        """Mark it as done after its return. Raises Conflict if it has not returned yet."""
        return self._act(id, "done", {}, if_match=if_match, key=idempotency_key)

    def skip(
        self,
        id: int,
        *,
        scheduled_for: datetime | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Snooze:
        """Skip the next time of a series; with `scheduled_for` only if that is still the next one."""
        return self._act(id, "skip", {"scheduled_for": scheduled_for}, if_match=if_match, key=idempotency_key)

    def pause(self, id: int, *, if_match: str | None = None, idempotency_key: str | None = None) -> Snooze:
        """Pause the snooze: it does not return until it is resumed."""
        return self._act(id, "pause", {}, if_match=if_match, key=idempotency_key)

    def resume(self, id: int, *, if_match: str | None = None, idempotency_key: str | None = None) -> Snooze:
        """Resume a paused snooze."""
        return self._act(id, "resume", {}, if_match=if_match, key=idempotency_key)

    def end(
        self,
        id: int,
        *,
        until: date | None = None,
        times: int | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Snooze:
        """Set the end of a series: on a day, or after a number of times; without either it never ends."""
        return self._act(id, "end", {"until": until, "times": times}, if_match=if_match, key=idempotency_key)

    def undo(
        self, id: int, *, event: int | None = None, if_match: str | None = None, idempotency_key: str | None = None
    ) -> Snooze:
        """Undo the last act, or the act of this `event`. Raises Conflict if the snooze was changed since."""
        return self._act(id, "undo", {"event": event}, if_match=if_match, key=idempotency_key)

    def snooze_many(self, snoozes: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> BulkReply:
        """Snooze up to 500 messages, each with the fields of `snooze`. Each has its own result."""
        body = {"act": "create", "snoozes": [_given(snooze) for snooze in snoozes]}
        return self._many(body, key=idempotency_key)

    def reschedule_many(
        self,
        ids: Sequence[int],
        *,
        when: str | None = None,
        remind_at: datetime | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> BulkReply:
        """Set the same new time for up to 500 snoozes."""
        body = {"act": "reschedule", "ids": [*ids], "when": when, "remind_at": remind_at, **more}
        return self._many(body, key=idempotency_key)

    def act_on_many(
        self,
        act: Literal["wake", "cancel", "done", "skip", "pause", "resume"],
        ids: Sequence[int],
        *,
        idempotency_key: str | None = None,
    ) -> BulkReply:
        """Perform one act on up to 500 snoozes; each is done or skipped with a reason."""
        return self._many({"act": act, "ids": [*ids]}, key=idempotency_key)

    def undo_many(self, undo: str, *, idempotency_key: str | None = None) -> Undone:
        """Undo a reschedule, a wake or a cancel of many, except on snoozes that have changed since."""
        return Undone.model_validate_json(self._post(f"/bulk/{undo}/undo", {}, key=idempotency_key))

    def when(self, phrase: str, *, zone: str | None = None, locale: str | None = None) -> Reading:
        """The meaning of a phrase, without saving anything. Raises Invalid with suggestions."""
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
        """Any other request of the API, such as `request("GET", "/settings")`: returns the JSON of the response, None
        if it has no body. A POST gets a key here, too."""
        keyed = {"Idempotency-Key": str(uuid4())} if method == "POST" else {}
        answer = self._transport.request(
            method, path, json_body=json, query=query, headers={**keyed, **(headers or {})}
        )
        return _ANYTHING.validate_json(answer) if answer else None

    def _act(self, id: int, name: str, body: Mapping[str, Any], *, if_match: str | None, key: str | None) -> Snooze:
        answer = self._post(f"/snoozes/{id}/{name}", body, key=key, headers=_if_match(if_match))
        return Snooze.model_validate_json(answer)

    def _many(self, body: Mapping[str, Any], *, key: str | None) -> BulkReply:
        return BulkReply.model_validate_json(self._post("/snoozes/bulk", body, key=key))

    def _post(
        self, path: str, body: Mapping[str, Any], *, key: str | None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        keyed = {**(headers or {}), "Idempotency-Key": key or str(uuid4())}
        return self._transport.request("POST", path, json_body=_given(body), headers=keyed)

    def _page(self, path: str, query: Mapping[str, Any] | None = None) -> SnoozePage:
        return SnoozePage.model_validate_json(self._transport.request("GET", path, query=query))


_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The given fields, as JSON values."""
    return {
        name: value.isoformat() if isinstance(value, date) else value
        for name, value in fields.items()
        if value is not None
    }


def _if_match(etag: str | None) -> dict[str, str]:
    return {} if etag is None else {"If-Match": etag}
