"""The pair of keys that signs pushes outlives SECRET_KEY, and the loop that sends them outlives errors."""

from collections.abc import Collection
from threading import Event, Thread
from typing import Any, ClassVar

from sqlalchemy import Connection, Engine, text

from snoozer.db.notifications import ClaimedPush
from snoozer.notify import push_devices
from snoozer.notify.push_channel import PushChannel
from snoozer.notify.send_loop import SendLoop, drain
from snoozer.runtime import encryption
from snoozer.runtime.failpoint import FailpointReached
from tests.db.pushes import comes_back, devices, sooner, the_sender
from tests.factories import Person
from tests.push_service import KEYS, PushService, Subscription, claims_of, ledger, states, subscribe


def test_an_older_key_of_the_ring_still_signs_and_is_replaced(
    engine: Engine, service: PushService, phone: Subscription
) -> None:
    """Subscriptions are bound to the pair: a new SECRET_KEY must not end them."""
    [before] = _keys(engine)
    comes_back(engine)
    ring = ("a-newer-key-of-enough-length-too", *KEYS)
    drain(the_sender(engine, keys=ring))
    [after] = _keys(engine)
    assert claims_of(service.pushed[0].headers["authorization"])["key"] == before.public_key == after.public_key
    assert before.private_key != after.private_key
    comes_back(engine)
    drain(the_sender(engine, keys=ring[:1]))
    assert states(engine) == ["sent", "sent"]


def test_where_no_key_opens_the_pair_the_device_says_so_and_the_next_one_gets_a_new_pair(
    engine: Engine, service: PushService, phone: Subscription, ann: Person
) -> None:
    comes_back(engine)
    other = ("another-key-of-enough-length-now",)
    drain(the_sender(engine, keys=other))
    assert [(row.state, row.reason) for row in ledger(engine)] == [("failed", "key")]
    assert devices(engine)[0].problem == "key"
    subscribe(engine, phone, account_id=ann.id, keys=other)
    assert len(_keys(engine)) == 2
    assert devices(engine)[0].problem is None
    comes_back(engine)
    drain(the_sender(engine, keys=other))
    assert len(service.of(phone)) == 1


def _keys(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM push_keys ORDER BY id")).all())


def test_the_pair_is_made_once_by_those_who_ask_at_the_same_time(engine: Engine) -> None:
    with engine.begin() as first:
        known = push_devices.public_key(first, key_ring=KEYS)
        found: list[bytes] = []

        def ask() -> None:
            with engine.begin() as second:
                found.append(push_devices.public_key(second, key_ring=KEYS))

        another = Thread(target=ask)
        another.start()
        first.commit()
    another.join()
    assert found == [known]
    assert len(_keys(engine)) == 1


def test_the_private_key_is_not_readable_in_the_database(engine: Engine, phone: Subscription) -> None:
    [pair] = _keys(engine)
    private, _ = encryption.reopen(KEYS, pair.private_key)
    assert private.encode() not in pair.private_key


class _Broken(PushChannel):
    """Fails at first in ways that were not foreseen."""

    broken: ClassVar[list[Exception]] = [ZeroDivisionError(), KeyError("x")]

    def claim(self, connection: Connection, *, in_flight: Collection[ClaimedPush]) -> ClaimedPush | None:
        if self.broken:
            raise self.broken.pop()
        return super().claim(connection, in_flight=in_flight)


def test_the_loop_goes_on_after_errors_that_it_does_not_know(
    engine: Engine, service: PushService, phone: Subscription
) -> None:
    """Its thread ended at one, and no push of this process left any more."""
    sent = Event()
    steps: list[str] = []

    def failpoint(step: str, device: str) -> None:
        steps.append(step)
        if steps == ["push_claimed"]:
            raise FailpointReached
        if step == "push_recorded":
            sent.set()

    loop = SendLoop(the_sender(engine, kind=_Broken, failpoint=failpoint), poll=0.02)
    comes_back(engine)
    loop.start()
    try:
        while "push_claimed" not in steps:
            sent.wait(0.01)
        while not sent.wait(0.02):
            sooner(engine)
    finally:
        loop.stop()
    assert states(engine) == ["sent"]
    assert len(service.pushed) == 1
