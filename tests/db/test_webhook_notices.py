"""Who did not switch a webhook off learns of it by one mail, which names no address of the webhook."""

from email import message_from_bytes, policy
from threading import Event

import pytest
from sqlalchemy import Engine, text

from snoozer.db import webhooks as ledger
from snoozer.notify.send_loop import drain
from snoozer.notify.webhook_notice import NoticeSender
from snoozer.notify.webhooks import Added
from tests.factories import ANN, HOUR, Person, a_snooze, now
from tests.mail.scripted_server import ScriptedServer
from tests.webhook_receiver import Answer, Receiver, an_endpoint, the_endpoint, the_sender


@pytest.fixture
def hook(engine: Engine, ann: Person) -> Added:
    return an_endpoint(engine, account_id=ann.id, url="https://hooks.example/secret-path")


def the_notices(engine: Engine, server: ScriptedServer) -> NoticeSender:
    return NoticeSender(
        engine=engine,
        server=server.smtp_server(),
        mail_from="Snoozer <reminders@snoozer.example>",
        base_url="https://snoozer.example",
        stopping=Event(),
    )


def is_off(engine: Engine, hook: Added, *, by: int | None = None) -> None:
    with engine.begin() as connection:
        assert ledger.switch_off(connection, id=hook.id, reason="key" if by is None else "owner", account_id=by)


def is_due_again(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_endpoints SET notice_at = now() WHERE notice_at IS NOT NULL"))


def test_its_owner_gets_one_mail_without_the_address_of_the_webhook(engine: Engine, ann: Person) -> None:
    with Receiver() as receiver, ScriptedServer() as server:
        hook = an_endpoint(engine, account_id=ann.id, url=receiver.url("gone"))
        receiver.answers["/gone"] = [Answer(410)]
        a_snooze(engine, remind_at=now() + HOUR)
        drain(the_sender(engine))
        drain(the_notices(engine, server))
        drain(the_notices(engine, server))
        [mail] = server.received
        assert ANN in mail.rcpt_to[0]
        message = message_from_bytes(mail.data, policy=policy.default)
        assert message["Subject"] == "One of your webhooks was switched off"
        for part in message.iter_parts():
            content = part.get_content()
            assert "410" in content
            assert f"https://snoozer.example/settings/webhooks/{hook.id}" in content
            assert receiver.url("") not in content


def test_who_switched_it_off_gets_none_nor_who_switched_it_on_again(engine: Engine, hook: Added, ann: Person) -> None:
    with ScriptedServer() as server:
        is_off(engine, hook, by=ann.id)
        drain(the_notices(engine, server))
        with engine.begin() as connection:
            assert ledger.switch_on(connection, id=hook.id, account_id=ann.id)
        is_off(engine, hook)
        with engine.begin() as connection:
            assert ledger.switch_on(connection, id=hook.id, account_id=ann.id)
        drain(the_notices(engine, server))
        assert server.connections == 0


def test_no_mail_is_sent_of_an_endpoint_that_was_off_already(engine: Engine, ann: Person) -> None:
    """What was on its way when its owner switched it off fails behind that."""
    with Receiver() as receiver, ScriptedServer() as server:
        hook = an_endpoint(engine, account_id=ann.id, url=receiver.url("gone"))
        receiver.answers["/gone"] = [Answer(410)]
        a_snooze(engine, remind_at=now() + HOUR)
        sender = the_sender(engine)
        claimed = sender.claim()
        assert claimed is not None
        is_off(engine, hook, by=ann.id)
        sender.send(claimed)
        assert the_endpoint(engine, hook.id).off_reason == "owner"
        drain(the_notices(engine, server))
        assert server.connections == 0


@pytest.mark.parametrize(("dot", "mails"), [("451 4.3.0 later", 1), ("554 5.7.1 never", 0)])
def test_a_mail_that_is_refused_for_now_is_tried_again_and_one_that_is_refused_for_good_is_not(
    dot: str, mails: int, engine: Engine, hook: Added
) -> None:
    is_off(engine, hook)
    with ScriptedServer(dot=[dot, "250 2.0.0 OK"]) as server:
        drain(the_notices(engine, server))
        drain(the_notices(engine, server))
        assert server.connections == 1, "it waits"
        is_due_again(engine)
        drain(the_notices(engine, server))
        assert server.connections == 1 + mails


def test_a_mail_server_that_is_away_is_asked_again_with_the_same_id(engine: Engine, hook: Added) -> None:
    is_off(engine, hook)
    with ScriptedServer(dot=["<eof>", "250 2.0.0 OK"]) as server:
        for _ in range(2):
            drain(the_notices(engine, server))
            is_due_again(engine)
        assert server.connections == 2
        [id] = {message_from_bytes(mail.data)["Message-ID"] for mail in server.received}
        assert id.startswith(f"<webhook-off.{hook.id}.")
    assert the_endpoint(engine, hook.id).notice_at is None


def test_an_address_that_is_not_verified_gets_no_mail(engine: Engine, hook: Added) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET verified_at = NULL"))
    is_off(engine, hook)
    with ScriptedServer() as server:
        drain(the_notices(engine, server))
        assert server.received == []
