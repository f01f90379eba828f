"""One look tells an idle worker what is due besides mails, and wakes the loops that send it."""

from threading import Event

from sqlalchemy import Engine, text

from snoozer.db import webhooks
from snoozer.delivery.chores.returns import return_loop, side_work
from snoozer.notify.send_loop import SendLoop
from tests.conftest import HANG_SECONDS
from tests.db.pushes import comes_back, sooner
from tests.db.pushes import the_sender as push_sender
from tests.factories import HOUR, Person, a_snooze, now
from tests.push_service import Subscription
from tests.webhook_receiver import an_endpoint
from tests.webhook_receiver import the_sender as webhook_sender


def due(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return set(side_work(connection).due)


def change(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(statement))


def test_nothing_is_due_if_nothing_waits(engine: Engine, ann: Person) -> None:
    an_endpoint(engine, account_id=ann.id)
    assert due(engine) == set()


def test_a_push_is_due_at_its_time_and_again_if_its_worker_is_lost(engine: Engine, phone: Subscription) -> None:
    comes_back(engine)
    assert due(engine) == {"push"}
    assert push_sender(engine).claim() is not None
    assert due(engine) == set()
    sooner(engine)
    assert due(engine) == {"push"}
    change(engine, "UPDATE push_sends SET state = 'sending', marked_at = now()")
    assert due(engine) == {"push"}
    change(
        engine,
        "UPDATE push_sends SET state = 'uncertain', finished_at = now(), claim_token = NULL, claimed_until = NULL",
    )
    assert due(engine) == set()


def test_a_webhook_is_due_at_its_time_and_again_if_its_worker_is_lost(engine: Engine, ann: Person) -> None:
    an_endpoint(engine, account_id=ann.id)
    a_snooze(engine, remind_at=now() + HOUR)
    assert due(engine) == {"webhook"}
    assert webhook_sender(engine).claim() is not None
    assert due(engine) == set()
    change(engine, "UPDATE webhook_deliveries SET claimed_until = now()")
    assert due(engine) == {"webhook"}


def test_a_notice_is_due_at_its_time(engine: Engine, ann: Person) -> None:
    hook = an_endpoint(engine, account_id=ann.id)
    with engine.begin() as connection:
        assert webhooks.switch_off(connection, id=hook.id, reason="key", account_id=None)
    assert due(engine) == {"notice"}
    change(engine, "UPDATE webhook_endpoints SET notice_at = now() + INTERVAL '1 hour'")
    assert due(engine) == set()


class Asked:
    """A sender that has nothing to send, and notes that it was asked."""

    word, senders = "webhook", 1

    def __init__(self) -> None:
        self.stopping, self.claims = Event(), Event()

    def claim(self) -> None:
        self.claims.set()

    def send(self, claimed: object) -> None: ...

    def release_failed(self, claimed: object) -> None: ...

    def sweep(self) -> None: ...


def test_the_look_wakes_a_sender_that_would_sleep_much_longer(engine: Engine, ann: Person) -> None:
    an_endpoint(engine, account_id=ann.id)
    a_snooze(engine, remind_at=now() + HOUR)
    sender = Asked()
    loop = SendLoop(sender, poll=10 * HANG_SECONDS)
    looks = return_loop(engine, wakes={sender.word: loop.wake}, poll=0.02)
    loop.start()
    try:
        assert sender.claims.wait(HANG_SECONDS)
        sender.claims.clear()
        looks.start()
        assert sender.claims.wait(HANG_SECONDS)
        looks.stop()
    finally:
        loop.stop()
