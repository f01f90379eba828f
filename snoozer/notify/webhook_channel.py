"""Events for endpoints, each sent at least once, with the same id; events of one snooze are sent in order.

A failing endpoint is retried with growing waits for three days and is then switched off; 410 switches it off at once. A
redirect counts as the answer, and is not followed.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import partial

from sqlalchemy import Connection
from standardwebhooks import Webhook

from snoozer.db import notifications
from snoozer.db import webhooks as endpoints
from snoozer.db.notifications import ClaimedDelivery, Outcome, Retry
from snoozer.notify import webhooks
from snoozer.notify.http_sender import MAX_PAUSE, Channel, HttpSender, Request, wait_of
from snoozer.runtime import encryption
from snoozer.runtime.outbound_http import Answer, HttpError

WebhookSender = HttpSender[ClaimedDelivery]

# Concurrent deliveries to one endpoint, for different snoozes.
AT_ONCE = 4
MAX_RETRY_AFTER = timedelta(hours=6)
RETRY_FOR = timedelta(days=3)
GONE = 410


@dataclass(frozen=True, kw_only=True)
class WebhookChannel(Channel[ClaimedDelivery]):
    """Webhooks. At most `troubled` senders work on endpoints whose last answer was a failure, or late."""

    name = "webhooks"
    word = "webhook"
    marks = False
    senders = 8
    troubled = senders // 2
    seconds: float = 15.0
    retry_for: timedelta = RETRY_FOR

    def claim(self, connection: Connection, *, in_flight: Collection[ClaimedDelivery]) -> ClaimedDelivery | None:
        has_room = sum(one.is_troubled for one in in_flight) < self.troubled
        endpoint = notifications.pick(connection, at_once=AT_ONCE, any=has_room)
        return None if endpoint is None else notifications.claim(connection, ClaimedDelivery, endpoint_id=endpoint)

    def request(self, claimed: ClaimedDelivery) -> Request:
        """The request, dated and signed for this try."""
        sealed = [claimed.secret, *([] if claimed.previous_secret is None else [claimed.previous_secret])]
        opened = [encryption.reopen(self.keys, secret) for secret in sealed]
        number, text = webhooks.message_id(claimed.number), webhooks.body_of(claimed)
        at = claimed.tried_at.astimezone(UTC)
        signing = [secret for secret, _ in (opened if claimed.rotates else opened[:1])]
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Snoozer",
            "webhook-id": number,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": " ".join(Webhook(secret).sign(number, at, text) for secret in signing),
        }
        renew = None
        if any(anew is not None for _, anew in opened):
            first, *rest = (anew or known for known, (_, anew) in zip(sealed, opened, strict=True))
            previous = rest[0] if rest else None
            renew = partial(endpoints.replace_secrets, delivery=claimed, secret=first, previous_secret=previous)
        return Request(url=claimed.url, headers=headers, body=text.encode(), renew=renew)

    def lock_out(self, connection: Connection, claimed: ClaimedDelivery) -> None:
        notifications.give_back(connection, claimed)
        endpoints.switch_off(connection, id=claimed.endpoint_id, reason="key")

    def outcome(self, claimed: ClaimedDelivery, answer: Answer | HttpError) -> Outcome:
        if isinstance(answer, HttpError):
            return Outcome(reason=answer.code)
        status, text = answer.status, answer.body.decode("utf-8", "replace").replace("\0", "\ufffd")
        if 200 <= status < 300:
            return Outcome(status=status, answer=text)
        reason = "redirect" if 300 <= status < 400 else "gone" if status == GONE else "answer"
        wait = wait_of(answer, most=MAX_RETRY_AFTER)
        return Outcome(reason=reason, status=status, answer=text, gone=status == GONE, wait=wait)

    def retry(self, claimed: ClaimedDelivery, outcome: Outcome) -> Retry:
        pause = max(min(self.delay(claimed.failures), MAX_PAUSE), outcome.wait)
        return Retry(delay=max(self.delay(claimed.attempts), outcome.wait), pause=pause, retry_for=self.retry_for)
