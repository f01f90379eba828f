"""USE CASE of services: ntfy, Gotify, Slack and others notify a person that a message is back.

A service is a device of another kind: the same ledger, waits and limits. Its address has secrets, so all of it is kept
encrypted, like the passwords of mailboxes, and only its host and last characters are shown. A notification is one plain
HTTP request, sent by the guarded client (docs/decisions/0047).
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from sqlalchemy import Connection

from snoozer.db import mailboxes, push
from snoozer.db.queries import devices
from snoozer.notify.push_devices import MAX_DEVICES
from snoozer.runtime import encryption, outbound_http
from snoozer.runtime.encryption import Undecryptable

Address = Mapping[str, str]

TELEGRAM = "https://api.telegram.org"
# A shorter secret could be guessed from its end.
SHOWN_FROM = 12
_TOPIC = re.compile(r"https?://[^/?]+/[-\w]{1,64}", re.ASCII)
_SERVER = re.compile(r"[^?]+", re.ASCII)
_ANY = re.compile(r".+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Notice:
    """The content of a notification; `text` is empty if the subject is not to be shown. `act` names the link."""

    title: str
    text: str = field(repr=False)
    act: str
    link: str

    @property
    def plain(self) -> str:
        return "\n".join(filter(None, (self.text, self.link)))


Call = tuple[str, dict[str, str], dict[str, Any]]
# Method, URL, header fields and JSON of the request that withdraws a notice, by its id at the service.
Withdrawal = tuple[str, str, dict[str, str], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Service:
    """`fields` are what a person enters, each with its form; the last characters of `shown` tell two addresses apart.
    `call` returns URL, header fields and JSON of a request. If the service can `withdraw` a notice, the answer to a
    call has the `receipt`; an address that lacks a token for that gives None."""

    label: str
    fields: Mapping[str, re.Pattern[str]]
    shown: str
    call: Callable[[Address, Notice], Call]
    receipt: re.Pattern[bytes] | None = None
    withdraw: Callable[[Address, str], Withdrawal | None] | None = None


class NotAdded(Exception):
    """The service is not added: a field cannot be used, the service is known already, or there is no room."""

    def __init__(self, code: Literal["service", "url", "token", "client", "chat", "known", "room"]) -> None:
        super().__init__(code)
        self.code = code


def _ntfy(address: Address, notice: Notice) -> Call:
    server, _, topic = address["url"].rpartition("/")
    headers = {"Authorization": f"Bearer {address['token']}"} if address["token"] else {}
    text = notice.text or notice.act
    return f"{server}/", headers, {"topic": topic, "title": notice.title, "message": text, "click": notice.link}


def _gotify(address: Address, notice: Notice) -> Call:
    extras = {"client::notification": {"click": {"url": notice.link}}}
    content = {"title": notice.title, "message": notice.text or notice.act, "priority": 5, "extras": extras}
    return f"{address['url'].rstrip('/')}/message", {"X-Gotify-Key": address["token"]}, content


def _withdraw_ntfy(address: Address, id: str) -> Withdrawal:
    headers = {"Authorization": f"Bearer {address['token']}"} if address["token"] else {}
    return "DELETE", f"{address['url']}/{id}", headers, {}


def _withdraw_gotify(address: Address, id: str) -> Withdrawal | None:
    # The token of an application can send messages only.
    token = address.get("client", "")
    return ("DELETE", f"{address['url'].rstrip('/')}/message/{id}", {"X-Gotify-Key": token}, {}) if token else None


def _withdraw_telegram(address: Address, id: str) -> Withdrawal:
    content = {"chat_id": address["chat"], "message_id": int(id)}
    return "POST", f"{TELEGRAM}/bot{address['token']}/deleteMessage", {}, content


def _slack(address: Address, notice: Notice) -> Call:
    text = f"{notice.title}\n{notice.plain}"
    # Slack reads `<!channel>` as a call to all.
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(char, entity)
    return address["url"], {}, {"text": text, "mrkdwn": False}


def _teams(address: Address, notice: Notice) -> Call:
    # A TextBlock would read Markdown in the subject of a stranger; a TextRun does not.
    runs = [{"type": "TextRun", "text": notice.title, "weight": "Bolder"}]
    runs += [{"type": "TextRun", "text": f"\n{notice.text}"}] if notice.text else []
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": runs}],
        "actions": [{"type": "Action.OpenUrl", "title": notice.act, "url": notice.link}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return address["url"], {}, {"type": "message", "attachments": [attachment]}


def _telegram(address: Address, notice: Notice) -> Call:
    content = {
        "chat_id": address["chat"],
        "text": f"{notice.title}\n{notice.plain}",
        "link_preview_options": {"is_disabled": True},
    }
    return f"{TELEGRAM}/bot{address['token']}/sendMessage", {}, content


def _apprise(address: Address, notice: Notice) -> Call:
    return address["url"], {}, {"title": notice.title, "body": notice.plain, "type": "info", "format": "text"}


SERVICES: dict[str, Service] = {
    "ntfy": Service(
        label="ntfy",
        fields={"url": _TOPIC, "token": re.compile(r"[!-~]{0,200}")},
        shown="url",
        call=_ntfy,
        receipt=re.compile(rb'"id"\s*:\s*"([-\w]{1,64})"', re.ASCII),
        withdraw=_withdraw_ntfy,
    ),
    "gotify": Service(
        label="Gotify",
        fields={"url": _SERVER, "token": re.compile(r"[!-~]{1,200}"), "client": re.compile(r"[!-~]{0,200}")},
        shown="token",
        call=_gotify,
        receipt=re.compile(rb'"id"\s*:\s*(\d{1,20})', re.ASCII),
        withdraw=_withdraw_gotify,
    ),
    "slack": Service(label="Slack", fields={"url": _ANY}, shown="url", call=_slack),
    "teams": Service(label="Microsoft Teams", fields={"url": _ANY}, shown="url", call=_teams),
    "telegram": Service(
        label="Telegram",
        fields={
            "token": re.compile(r"\d{1,20}:[-\w]{1,100}", re.ASCII),
            "chat": re.compile(r"-?\d{1,20}|@\w{1,64}", re.ASCII),
        },
        shown="chat",
        call=_telegram,
        receipt=re.compile(rb'"message_id"\s*:\s*(\d{1,20})', re.ASCII),
        withdraw=_withdraw_telegram,
    ),
    "apprise": Service(
        label="Apprise",
        fields={"url": re.compile(r"[^?]*/notify/[-\w]{1,128}/?", re.ASCII)},
        shown="url",
        call=_apprise,
    ),
}


def add(
    connection: Connection,
    *,
    account_id: int,
    key_ring: Sequence[str],
    service: str,
    address: Address,
    shows_subject: bool,
    allowed: Collection[str],
    allow_private: bool,
) -> int:
    """Add a service at an address; returns the id of its device. Raises NotAdded."""
    if service not in allowed:
        raise NotAdded("service")
    chosen = {name: address.get(name, "").strip() for name in SERVICES[service].fields}
    for name, pattern in SERVICES[service].fields.items():
        is_sendable = name != "url" or outbound_http.is_endpoint(chosen[name], allow_private=allow_private)
        if not (is_sendable and pattern.fullmatch(chosen[name])):
            raise NotAdded(name)  # type: ignore[arg-type]
    is_open = mailboxes.lock_owner(connection, account_id=account_id)
    if (service, chosen) in _known(connection, account_id, key_ring):
        raise NotAdded("known")
    id = is_open and push.add_service(
        connection,
        account_id=account_id,
        label=shown(service, chosen),
        service=service,
        address=encryption.encrypt(key_ring, json.dumps(chosen)),
        shows_subject=shows_subject,
        most=MAX_DEVICES,
    )
    if not id:
        raise NotAdded("room")
    return id


def remove(connection: Connection, *, account_id: int, id: int) -> dict[str, str] | None:
    """Remove a service; returns what `restore` needs, which is encrypted. None if this person has no such service."""
    found = devices.service(connection, id=id, account_id=account_id)
    if found is None or not push.remove(connection, id=id, account_id=account_id):
        return None
    return {
        "service": found.service,
        "sealed": found.address.decode(),
        "subject": "on" if found.shows_subject else "off",
    }


def open_address(key_ring: Sequence[str], sealed: bytes) -> tuple[Address, bytes | None]:
    """The address that was encrypted, and its token under the newest key if the given one is under an older key. Raises
    Undecryptable, also for another secret than an address."""
    text, renewed = encryption.reopen(key_ring, sealed)
    try:
        found = json.loads(text)
    except ValueError:
        raise Undecryptable from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise Undecryptable
    return found, renewed


def shown(service: str, address: Address) -> str:
    """An address without its secrets: its host, and the last characters of a long secret."""
    text = address[SERVICES[service].shown]
    secret = text.rstrip("/").rpartition("/")[2]
    end = f"…{secret[-4:]}" if len(secret) >= SHOWN_FROM else "…"
    return f"{urlsplit(address.get('url', TELEGRAM)).netloc} {end}"


def compose(service: str, address: Address, notice: Notice) -> tuple[str, dict[str, str], bytes]:
    """URL, header fields and body of the request that shows a notice."""
    url, headers, content = SERVICES[service].call(address, notice)
    body = json.dumps(content, separators=(",", ":")).encode()
    return url, {"Content-Type": "application/json", "User-Agent": "Snoozer", **headers}, body


def receipt_of(service: str, address: Address, answer: bytes) -> str | None:
    """The id of a notice in the service's answer; None if it cannot be withdrawn."""
    its = SERVICES[service]
    found = its.receipt.search(answer) if its.receipt is not None else None
    if found is None or its.withdraw is None:
        return None
    id = found[1].decode()
    return None if its.withdraw(address, id) is None else id


def compose_withdrawal(service: str, address: Address, id: str) -> tuple[str, str, dict[str, str], bytes] | None:
    """Method, URL, header fields and body of the request that withdraws a notice; None if the service cannot."""
    withdraw = SERVICES[service].withdraw
    call = None if withdraw is None else withdraw(address, id)
    if call is None:
        return None
    method, url, headers, content = call
    body = json.dumps(content, separators=(",", ":")).encode() if content else b""
    kind = {"Content-Type": "application/json"} if content else {}
    return method, url, {"User-Agent": "Snoozer", **kind, **headers}, body


def _known(connection: Connection, account_id: int, key_ring: Sequence[str]) -> list[tuple[str, Address]]:
    found = []
    for one in devices.services(connection, account_id=account_id):
        try:
            found.append((one.service, open_address(key_ring, one.address)[0]))
        except Undecryptable:
            continue
    return found
