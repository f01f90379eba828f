"""A notice of a service is withdrawn once its message is done or snoozed again, where the service can do that."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from snoozer.db import mailbox_store, push
from snoozer.mail.links import Link
from snoozer.notify import services
from snoozer.notify.send_loop import drain
from snoozer.notify.services import SERVICES
from snoozer.snoozes import acts, input, reminder_links
from snoozer.snoozes.acts import By
from tests.db.pushes import comes_back, sooner, the_sender
from tests.factories import ANN, HOUR, Person, now, the_row
from tests.push_service import ledger
from tests.services import CLIENT_TOKEN, TOKEN, Server, add, gotify, ntfy


@pytest.fixture
def ntfy_server() -> Iterator[Server]:
    with ntfy() as server:
        yield server


@pytest.fixture
def gotify_server() -> Iterator[Server]:
    with gotify() as server:
        yield server


def shown(engine: Engine) -> int:
    id = comes_back(engine)
    drain(the_sender(engine))
    return id


def act(engine: Engine, id: int, what: str) -> None:
    message_id = the_row(engine, id).message_id
    with engine.begin() as connection:
        if what == "done on a page":
            assert mailbox_store.move(connection, user_email=ANN, message_id=message_id, folder="done")
        elif what == "done by a link":
            at = "SELECT scheduled_for FROM reminder_sends WHERE snooze_id = :id"
            promise = connection.execute(text(at), {"id": id}).scalar_one()
            link = Link(snooze_id=id, scheduled_for=promise)
            found = reminder_links.find(connection, link=link, acting=True)
            assert found is not None
            assert reminder_links.done(connection, occurrence=found, route="link")
        else:
            time = input.reminder_time_at(now() + HOUR, now=now(), zone="UTC")
            wanted = acts.Wanted(message=input.Message(message_id=message_id), time=time)
            acts.snooze(connection, [wanted], By(ANN, "page"), is_recorded=True)


@pytest.mark.parametrize("what", ["done on a page", "done by a link", "snoozed again"])
def test_it_is_withdrawn_once_by_ntfy_and_gotify(
    engine: Engine, ann: Person, ntfy_server: Server, gotify_server: Server, what: str
) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/private-topic", token=TOKEN)
    add(engine, ann.id, "gotify", url=gotify_server.url, token=TOKEN, client=CLIENT_TOKEN)
    id = shown(engine)
    assert [row.remote_id for row in ledger(engine)] == ["hwQ2YpKd1", "21"]
    drain(the_sender(engine))
    assert (ntfy_server.deleted, gotify_server.deleted) == ([], [])
    act(engine, id, what)
    for _ in range(3):
        drain(the_sender(engine))
        sooner(engine)
    assert (ntfy_server.deleted, gotify_server.deleted) == (["hwQ2YpKd1"], ["21"])
    assert ntfy_server.asked[1:] == ["DELETE /private-topic/hwQ2YpKd1"]
    assert [row.state for row in ledger(engine)] == ["sent"] * 4


def test_other_messages_keep_theirs(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="")
    first, _second = shown(engine), shown(engine)
    act(engine, first, "done on a page")
    drain(the_sender(engine))
    assert ntfy_server.deleted == ["hwQ2YpKd1"]


def test_an_application_of_gotify_withdraws_nothing(engine: Engine, ann: Person, gotify_server: Server) -> None:
    add(engine, ann.id, "gotify", url=gotify_server.url, token=TOKEN)
    act(engine, shown(engine), "done on a page")
    drain(the_sender(engine))
    assert gotify_server.asked == ["/message"]
    assert [(row.state, row.remote_id) for row in ledger(engine)] == [("sent", None)]


@pytest.mark.parametrize("status", [404, 405, 403, 400])
def test_a_refusal_changes_nothing_about_the_service(
    engine: Engine, ann: Person, ntfy_server: Server, status: int
) -> None:
    """An older server knows no DELETE, and a person may have swiped the notice away."""
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="")
    id = shown(engine)
    ntfy_server.refusals = [(status, {})]
    act(engine, id, "done on a page")
    drain(the_sender(engine))
    with engine.connect() as connection:
        device = connection.execute(text("SELECT problem, failures FROM push_devices")).one()
    assert tuple(device) == (None, 0)
    assert [row.state for row in ledger(engine)] == ["sent", "sent"]


def test_a_busy_server_is_asked_later(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="")
    id = shown(engine)
    ntfy_server.refusals = [(503, {}), (429, {})]
    act(engine, id, "done on a page")
    for _ in range(4):
        drain(the_sender(engine))
        sooner(engine)
    assert ntfy_server.deleted == ["hwQ2YpKd1"]


def test_a_test_waits_for_no_withdrawal(engine: Engine, ann: Person, ntfy_server: Server) -> None:
    device = add(engine, ann.id, "ntfy", url=f"{ntfy_server.url}/topic", token="")
    act(engine, shown(engine), "done on a page")
    with engine.begin() as connection:
        assert push.enter_test(connection, id=device, account_id=ann.id)
    drain(the_sender(engine))
    assert (len(ntfy_server.taken), ntfy_server.deleted) == (2, ["hwQ2YpKd1"])


def test_telegram_deletes_by_its_own_method_and_webhooks_cannot() -> None:
    address = {"url": "https://chat.example/notify/key", "token": "1:a", "chat": "-5", "client": ""}
    found = services.compose_withdrawal("telegram", address, "77")
    assert found is not None
    method, url, _headers, body = found
    assert (method, url) == ("POST", "https://api.telegram.org/bot1:a/deleteMessage")
    assert json.loads(body) == {"chat_id": "-5", "message_id": 77}
    answer = b'{"ok":true,"result":{"message_id":77,"from":{"id":1}}}'
    assert {name: services.receipt_of(name, address, answer) for name in SERVICES if name not in {"ntfy"}} == {
        "gotify": None,
        "slack": None,
        "teams": None,
        "telegram": "77",
        "apprise": None,
    }
    for strange in (b"", b"[]", b'{"id": null}', b'{"id": "../x"}', b"\xff\x00", b'{"id":"' + b"a" * 500 + b'"}'):
        assert services.receipt_of("ntfy", address, strange) is None
