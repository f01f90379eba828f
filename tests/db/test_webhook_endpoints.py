"""Which endpoints a person may add."""

import pytest
from sqlalchemy import Engine

from snoozer.notify import webhooks
from snoozer.notify.webhook_message import EVENTS
from snoozer.notify.webhooks import NotAdded
from tests.factories import Person
from tests.webhook_receiver import KEYS, an_endpoint


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/",
        "https://hooks.example:8443/",
        "https://user@hooks.example/",
        "ftp://hooks.example/",
        "https:///path",
        "https://hooks.example/a b",
        "https://[::1",
        "https://hooks.example/" + "x" * 1000,
    ],
)
def test_a_url_that_cannot_be_used_is_not_added(url: str, engine: Engine, ann: Person) -> None:
    with engine.begin() as connection, pytest.raises(NotAdded, match="url"):
        webhooks.add(
            connection,
            account_id=ann.id,
            key_ring=KEYS,
            url=url,
            events=EVENTS,
            shows_subject=False,
            allow_private=False,
        )


def test_a_person_has_ten_endpoints_at_most_and_each_url_once(engine: Engine, ann: Person) -> None:
    for number in range(10):
        an_endpoint(engine, account_id=ann.id, url=f"https://hooks.example/{number}")
        if number == 0:
            with pytest.raises(NotAdded, match="room"):
                an_endpoint(engine, account_id=ann.id, url="https://hooks.example/0")
    with pytest.raises(NotAdded, match="room"):
        an_endpoint(engine, account_id=ann.id, url="https://hooks.example/11")
