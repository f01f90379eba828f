"""Pushes to devices and services, each sent at most once: a duplicate notification is worse than none."""

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection

from snoozer.db import notifications, push
from snoozer.db.notifications import ClaimedPush, Outcome, Retry
from snoozer.notify import push_encryption, push_message, services
from snoozer.notify.http_sender import MAX_PAUSE, Channel, HttpSender, Request, wait_of
from snoozer.notify.services import Notice
from snoozer.runtime import encryption
from snoozer.runtime.outbound_http import Answer, HttpError
from snoozer.translations import gettext as _
from snoozer.translations import language_of, speaking

PushSender = HttpSender[ClaimedPush]

GONE = frozenset({404, 410})
# Its push service does not know our key, or the subscription used another one.
REFUSED = frozenset({400, 401, 403})
_NEVER = frozenset({"refused_address", "url", "insecure", "port", "off"})
# The answer of Apprise if an address has no recipients; no service answers so to a notification that it shows.
NO_CONTENT = 204
TOO_MANY = 429


@dataclass(frozen=True, kw_only=True)
class PushChannel(Channel[ClaimedPush]):
    """`contact` is the address for push services' questions, `base_url` that of our pages; the operator has `allowed`
    some services."""

    name = "push"
    word = "push"
    marks = True
    senders = 4
    contact: str
    base_url: str
    allowed: Collection[str] = ()
    seconds: float = 10.0

    def claim(self, connection: Connection, *, in_flight: Collection[ClaimedPush]) -> ClaimedPush | None:
        return notifications.claim(connection, ClaimedPush)

    def request(self, claimed: ClaimedPush) -> Request:
        if claimed.service or claimed.snooze_id is None:
            return self._notice(claimed)
        private, renewed = encryption.reopen(self.keys, claimed.signing_key)
        renew = None
        if renewed is not None:
            known = claimed.signing_key
            renew = partial(push.replace_private_key, id=claimed.key_id, known=known, private_key=renewed)
        with speaking(language_of(claimed.locale)):
            content = push_message.compose(
                snooze_id=claimed.snooze_id,
                scheduled_for=claimed.scheduled_for,
                subject=claimed.subject,
                words={
                    "title": _("A message is back"),
                    "done": _("Done"),
                    "hour": _("+1 h"),
                    "tomorrow": _("Tomorrow"),
                    "unsaved": _("Not saved: the server cannot be reached."),
                },
                keys=self.keys,
            )
        headers = {
            "Authorization": push_encryption.authorization(
                claimed.endpoint, private_key=private, subject=self.contact, now=time.time()
            ),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(claimed.seconds_left),
            "Urgency": "high",
        }
        body = push_encryption.encrypt(content, public_key=claimed.public_key, auth_secret=claimed.auth_secret)
        return Request(url=claimed.endpoint, headers=headers, body=body, renew=renew)

    def _notice(self, claimed: ClaimedPush) -> Request:
        """The request to a service, with a link in place of buttons."""
        if claimed.service not in self.allowed:
            raise HttpError("off", f"{claimed.service} is switched off.")
        address, renewed = services.open_address(self.keys, claimed.address)
        renew = None
        if renewed is not None:
            renew = partial(push.replace_address, id=claimed.device_id, known=claimed.address, address=renewed)
        if claimed.withdraws is not None:
            call = services.compose_withdrawal(claimed.service, address, claimed.withdraws)
            if call is None:
                raise HttpError("off", f"{claimed.service} withdraws nothing.")
            method, url, headers, body = call
            return Request(url=url, headers=headers, body=body, method=method, renew=renew)
        with speaking(language_of(claimed.locale)):
            notice = Notice(
                title=_("A message is back"),
                text=push_message.clipped(claimed.subject),
                act=_("Open in Snoozer"),
                link=f"{self.base_url}/push/open/{claimed.snooze_id}",
            )
            if claimed.alarm is not None:
                words = {True: "All is well again", False: "Snoozer needs an operator"}
                title, text = words[claimed.alarm_ended], claimed.alarm
                notice = Notice(title=title, text=text, act="Overview", link=f"{self.base_url}/admin")
            elif claimed.snooze_id is None:
                test = {"title": _("A test of Snoozer"), "text": _("Notifications of Snoozer arrive here.")}
                notice = replace(notice, **test, link=f"{self.base_url}/settings/devices")
        url, headers, body = services.compose(claimed.service, address, notice)
        return Request(url=url, headers=headers, body=body, renew=renew)

    def lock_out(self, connection: Connection, claimed: ClaimedPush) -> None:
        outcome = Outcome(reason="key", ends=True)
        notifications.release(connection, claimed, outcome, self.retry(claimed, outcome))

    def outcome(self, claimed: ClaimedPush, answer: Answer | HttpError) -> Outcome:
        if isinstance(answer, HttpError):
            return Outcome(reason=answer.code, ends=answer.code in _NEVER)
        status = answer.status
        if claimed.withdraws is not None and status < 500 and status != TOO_MANY:
            # The notice may be gone already, or the server knows no such request: nothing is left to do.
            return Outcome(status=status)
        is_refused = claimed.service and status in {*GONE, NO_CONTENT}
        if 200 <= status < 300 and not is_refused:
            return Outcome(status=status, answer=self._receipt(claimed, answer))
        if status in GONE and not is_refused:
            return Outcome(reason="gone", status=status, gone=True)
        if status == TOO_MANY or status >= 500:
            return Outcome(reason="busy", status=status, wait=wait_of(answer, most=MAX_PAUSE))
        return Outcome(reason="refused" if status in REFUSED or is_refused else "answer", status=status, ends=True)

    def _receipt(self, claimed: ClaimedPush, answer: Answer) -> str | None:
        """The id by which the notice of a snooze is withdrawn."""
        if not claimed.service or claimed.snooze_id is None:
            return None
        return services.receipt_of(claimed.service, services.open_address(self.keys, claimed.address)[0], answer.body)

    def retry(self, claimed: ClaimedPush, outcome: Outcome) -> Retry:
        pause = max(min(self.delay(max(claimed.attempts, claimed.failures)), MAX_PAUSE), outcome.wait)
        return Retry(delay=pause, pause=pause)
