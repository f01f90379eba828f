"""Services such as ntfy and Gotify get one notification for a message that is back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db import push
from snoozer.notify import services
from snoozer.notify.push_channel import PushSender
from snoozer.notify.send_loop import drain
from snoozer.notify.services import SERVICES, NotAdded, Notice
from snoozer.runtime import encryption, outbound_http
from snoozer.runtime.outbound_http import HttpError, Limits
from snoozer.settings import Settings
from tests.db.days import pass_rest, resting, turn
from tests.db.pushes import comes_back, devices, reminder_is_sent, sooner, the_sender
from tests.factories import HOUR, Person, a_snooze, now
from tests.push_service import KEYS, ledger, states
from tests.services import TOKEN, Server, add, gotify, ntfy

NOTICE = Notice(title="Back", text="A & <b> *c*", act="Open", link="https://snoozer.example/push/open/7")
HOSTS = {
    "127.0.0.1": "this machine",
    "[::1]": "this machine",
    "10.0.0.8": "a private network",
    "192.168.1.1": "a private network",
    "[fd12::1]": "a private network",
    "169.254.169.254": "the metadata of a cloud",
    "[::ffff:127.0.0.1]": "this machine in another form",
    "2130706433": "this machine as one number",
    "0x7f.1": "this machine in hexadecimal",
    "0.0.0.0": "any address",  # noqa: S104
    "localhost": "this machine by its name",
}


@pytest.fixture
def sender(engine: Engine) -> PushSender:
    return the_sender(engine)


@pytest.fixture
def ntfy_server() -> Iterator[Server]:
    with ntfy() as server:
        yield server


@pytest.fixture
def gotify_server() -> Iterator[Server]:
    with gotify() as server:
        yield server


def test_the_setting_knows_the_services_of_the_table() -> None:
    assert Settings(SNOOZER_CHANNELS=" ,".join(SERVICES)).channels == tuple(SERVICES)
    assert Settings().channels == ()
    with pytest.raises(ValueError, match="SNOOZER_CHANNELS"):
        Settings(SNOOZER_CHANNELS="pager")


def test_ntfy_and_gotify_get_it_once_and_without_the_subject(
    engine: Engine, ann: Person, sender: PushSender, ntfy_server: Server, gotify_server: Server
) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/private-topic", token=TOKEN)
    add(engine, ann.id, "gotify", url=f"{gotify_server.url}/", token=TOKEN)
    id = comes_back(engine, subject="Secret plans")
    for _ in range(3):
        drain(sender)
        sooner(engine)
    link = f"https://snoozer.example/push/open/{id}"
    assert ntfy_server.taken == [
        {"topic": "private-topic", "title": "A message is back", "message": "Open in Snoozer", "click": link}
    ]
    [got] = gotify_server.taken
    assert (got["title"], got["message"]) == ("A message is back", "Open in Snoozer")
    assert got["extras"] == {"client::notification": {"click": {"url": link}}}
    assert states(engine) == ["sent", "sent"]


def test_the_subject_is_sent_if_its_owner_chose_so(
    engine: Engine, ann: Person, sender: PushSender, ntfy_server: Server
) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="", subject=True)
    comes_back(engine, subject="Plans\u2028of" + "x" * 6_000)
    drain(sender)
    [got] = ntfy_server.taken
    assert got["message"].startswith("Plans of")
    assert len(got["message"]) <= 151


def test_nothing_is_sent_while_the_operator_does_not_allow_the_service(
    engine: Engine, ann: Person, ntfy_server: Server
) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="")
    comes_back(engine)
    drain(the_sender(engine, allowed=("gotify",)))
    assert ntfy_server.asked == []
    assert [(row.state, row.reason) for row in ledger(engine)] == [("failed", "off")]
    assert [device.problem for device in devices(engine)] == [None]
    comes_back(engine)
    drain(the_sender(engine))
    assert len(ntfy_server.taken) == 1


def test_nothing_is_sent_in_quiet_hours(engine: Engine, ann: Person, sender: PushSender, ntfy_server: Server) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="")
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET zone = 'UTC'"))
    resting(engine)
    a_snooze(engine, remind_at=now() - HOUR)
    assert turn(engine) == []
    drain(sender)
    assert (ntfy_server.asked, states(engine)) == ([], [])
    pass_rest(engine)
    reminder_is_sent(engine)
    drain(sender)
    assert len(ntfy_server.taken) == 1


def test_a_service_that_refuses_is_kept_with_the_reason(
    engine: Engine, ann: Person, sender: PushSender, gotify_server: Server
) -> None:
    """A browser that is gone subscribes again; a person would have to find out that a service is gone."""
    add(engine, ann.id, "gotify", url=gotify_server.url, token="wrong")
    add(engine, ann.id, "gotify", url=f"{gotify_server.url}/nowhere", token=TOKEN)
    comes_back(engine)
    drain(sender)
    assert sorted((row.state, row.reason, row.status) for row in ledger(engine)) == [
        ("failed", "refused", 401),
        ("failed", "refused", 404),
    ]
    assert [device.problem for device in devices(engine)] == ["refused", "refused"]
    assert gotify_server.taken == []


def test_a_service_that_is_busy_is_sent_later_and_once(
    engine: Engine, ann: Person, sender: PushSender, gotify_server: Server
) -> None:
    gotify_server.refusals = [(503, {}), (429, {"Retry-After": "60"})]
    add(engine, ann.id, "gotify", url=gotify_server.url, token=TOKEN)
    comes_back(engine)
    for _ in range(4):
        drain(sender)
        sooner(engine)
    assert (len(gotify_server.asked), len(gotify_server.taken), states(engine)) == (3, 1, ["sent"])


def test_a_redirect_is_not_followed(
    engine: Engine, ann: Person, sender: PushSender, ntfy_server: Server, gotify_server: Server
) -> None:
    for status in (301, 302, 307, 308):
        ntfy_server.refusals = [(status, {"Location": f"{gotify_server.url}/message"})]
        add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic-{status}", token="")
        comes_back(engine)
        drain(sender)
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM push_devices"))
    assert gotify_server.asked == []
    assert states(engine) == ["failed"] * 4


def test_a_test_is_sent_once_at_a_time(engine: Engine, ann: Person, sender: PushSender, ntfy_server: Server) -> None:
    id = add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="")
    with engine.begin() as connection:
        assert push.enter_test(connection, id=id, account_id=ann.id)
        assert not push.enter_test(connection, id=id, account_id=ann.id)
        assert not push.enter_test(connection, id=id, account_id=ann.id + 1)
    drain(sender)
    [got] = ntfy_server.taken
    assert got["title"] == "A test of Snoozer"
    assert got["click"] == "https://snoozer.example/settings/devices"
    with engine.begin() as connection:
        assert push.enter_test(connection, id=id, account_id=ann.id)


def test_an_address_is_encrypted_and_moves_to_a_newer_key(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/private-topic", token=TOKEN)
    [device] = devices(engine)
    assert not any(secret in str(tuple(device)) for secret in (TOKEN, "private-topic"))
    ring = ("a-newer-key-that-is-long-enough-too", *KEYS)
    comes_back(engine)
    drain(the_sender(engine, keys=ring))
    assert len(ntfy_server.taken) == 1
    [renewed] = devices(engine)
    assert encryption.is_current(ring, renewed.address)
    comes_back(engine)
    drain(the_sender(engine, keys=("a-foreign-key-that-is-long-enough",)))
    assert [row.problem for row in devices(engine)] == ["key"]
    assert len(ntfy_server.taken) == 1


def test_each_service_gets_text_as_text() -> None:
    """Strangers write subjects: markup in them has no effect."""
    address = {"url": "https://chat.example/notify/key", "token": "1:a", "chat": "-5"}
    sent = {name: services.compose(name, address, NOTICE) for name in SERVICES}
    content: dict[str, Any] = {name: json.loads(body) for name, (_, _, body) in sent.items()}
    assert content["slack"]["text"] == f"Back\nA &amp; &lt;b&gt; *c*\n{NOTICE.link}"
    assert content["slack"]["mrkdwn"] is False
    card = content["teams"]["attachments"][0]["content"]
    assert [run["type"] for run in card["body"][0]["inlines"]] == ["TextRun", "TextRun"]
    assert sent["telegram"][0] == "https://api.telegram.org/bot1:a/sendMessage"
    assert "parse_mode" not in content["telegram"]
    assert content["apprise"]["format"] == "text"
    assert all("A " in body.decode() for _, _, body in sent.values())


def test_this_machine_gets_nothing_unless_the_operator_allows_it(
    engine: Engine, ann: Person, ntfy_server: Server, gotify_server: Server
) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="")
    add(engine, ann.id, "gotify", url=gotify_server.url.replace("http:", "https:"), token=TOKEN)
    comes_back(engine)
    drain(the_sender(engine, allow_private=False))
    assert (ntfy_server.asked, gotify_server.asked) == ([], [])
    assert [(row.state, row.reason) for row in ledger(engine)] == [("failed", "insecure"), ("failed", "port")]


@pytest.mark.parametrize("service", [name for name in SERVICES if "url" in SERVICES[name].fields])
@pytest.mark.parametrize("host", HOSTS)
def test_no_service_reaches_this_machine_or_a_private_network(service: str, host: str) -> None:
    """Each is refused at the connection, whatever its form; http is refused as well."""
    for scheme in ("https", "http"):
        address = {"url": f"{scheme}://{host}/notify/key", "token": "abc"}
        url, headers, body = services.compose(service, address, NOTICE)
        with pytest.raises(HttpError) as refused:
            outbound_http.request("POST", url, limits=Limits(seconds=5, size=100), body=body, headers=headers)
        assert refused.value.code in {"refused_address", "name", "insecure"}


@pytest.mark.parametrize(
    ("service", "field", "address"),
    [
        ("ntfy", "url", {"url": "http://ntfy.example/topic"}),
        ("ntfy", "url", {"url": "https://ntfy.example"}),
        ("ntfy", "url", {"url": "https://ntfy.example/a/b"}),
        ("ntfy", "url", {"url": "https://ntfy.example:8080/topic"}),
        ("ntfy", "url", {"url": "https://user:pass@ntfy.example/topic"}),
        ("ntfy", "token", {"url": "https://ntfy.example/topic", "token": "a\r\nHost: b"}),
        ("gotify", "url", {"url": "file:///etc/passwd", "token": "a"}),
        ("gotify", "url", {"url": "https://gotify.example/?a=b", "token": "a"}),
        ("gotify", "token", {"url": "https://gotify.example"}),
        ("gotify", "token", {"url": "https://gotify.example", "token": "é"}),
        ("slack", "url", {"url": ""}),
        ("teams", "url", {"url": "gopher://teams.example/1"}),
        ("telegram", "token", {"token": "../1:a", "chat": "1"}),
        ("telegram", "token", {"token": "1:a/../../x?y", "chat": "1"}),
        ("telegram", "chat", {"token": "1:a", "chat": "all of them"}),
        ("apprise", "url", {"url": "https://apprise.example/notify"}),
        ("pager", "service", {"url": "https://pager.example"}),
    ],
)
def test_a_field_that_cannot_be_used_is_named(
    service: str, field: str, address: dict[str, str], engine: Engine, ann: Person
) -> None:
    with engine.begin() as connection, pytest.raises(NotAdded) as refused:
        services.add(
            connection,
            account_id=ann.id,
            key_ring=KEYS,
            service=service,
            address=address,
            shows_subject=False,
            allowed=tuple(SERVICES),
            allow_private=False,
        )
    assert refused.value.code == field
    assert devices(engine) == []
