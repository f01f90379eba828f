"""A person, and what pushes and webhooks go to."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.factories import People, Person
from tests.push_service import PushService, Subscription, subscribe
from tests.webhook_receiver import Receiver


@pytest.fixture
def ann(people: People) -> Person:
    return people.ann()


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as service:
        yield service


@pytest.fixture
def phone(engine: Engine, service: PushService, ann: Person) -> Subscription:
    phone = service.subscription()
    subscribe(engine, phone, account_id=ann.id)
    return phone


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver
