"""Which webhook goes out next: in order a snooze, fair between endpoints, chosen without comparing all that wait."""

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import notifications
from snoozer.db.notifications import ClaimedDelivery
from snoozer.notify.webhook_channel import AT_ONCE, WebhookChannel, WebhookSender
from snoozer.notify.webhooks import Added
from tests.db.reading import reading
from tests.factories import HOUR, People, a_snooze, now
from tests.webhook_receiver import an_endpoint, deliveries, edit, the_sender

BOB = "bob@snoozer.example"


@pytest.fixture
def hook(engine: Engine, people: People) -> Added:
    return an_endpoint(engine, account_id=people.ann().id)


@pytest.fixture
def sender(engine: Engine) -> WebhookSender:
    return the_sender(engine)


def test_no_two_deliveries_of_a_snooze_are_on_their_way_at_once(
    engine: Engine, hook: Added, sender: WebhookSender
) -> None:
    edit(engine, a_snooze(engine, remind_at=now() + HOUR), 2)
    assert sender.claim() is not None
    assert sender.claim() is None
    for _ in range(AT_ONCE):
        a_snooze(engine, remind_at=now() + HOUR)
    claimed = [sender.claim() for _ in range(AT_ONCE)]
    assert [each is not None for each in claimed] == [True] * (AT_ONCE - 1) + [False]


def test_a_backlog_of_one_person_delays_no_other(
    engine: Engine, hook: Added, people: People, sender: WebhookSender
) -> None:
    for _ in range(20):
        a_snooze(engine, remind_at=now() + HOUR)
    bob = an_endpoint(engine, account_id=people.ann(BOB).id)
    a_snooze(engine, user_email=BOB, remind_at=now() + HOUR)
    claimed = [sender.claim() for _ in range(2)]
    assert bob.id in {each.endpoint_id for each in claimed if each is not None}


def test_endpoints_that_are_slow_take_some_senders_and_never_all(
    engine: Engine, people: People, sender: WebhookSender
) -> None:
    for number in range(WebhookChannel.troubled + 1):
        email = f"slow{number}@snoozer.example"
        an_endpoint(engine, account_id=people.ann(email).id)
        a_snooze(engine, user_email=email, remind_at=now() + HOUR)
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_endpoints SET answer_ms = 9000"))
    claimed = [sender.claim() for _ in range(WebhookChannel.troubled)]
    assert all(claimed)
    assert sender.claim() is None
    quick = an_endpoint(engine, account_id=people.ann(BOB).id)
    a_snooze(engine, user_email=BOB, remind_at=now() + HOUR)
    taken = sender.claim()
    assert taken is not None
    assert taken.endpoint_id == quick.id


def waiting(engine: Engine, hook: Added, *, many: int) -> None:
    """As many deliveries wait, each of a snooze of its own."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO webhook_deliveries (endpoint_id, account_id, event, snooze_id) "
                "SELECT :hook, 1, 'created', number FROM generate_series(1, :many) AS number"
            ),
            {"hook": hook.id, "many": many},
        )


def analyze(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("ANALYZE webhook_deliveries"))


def pages_of_a_claim(engine: Engine, hook: Added) -> int:
    def act(connection: Connection) -> None:
        assert notifications.pick(connection, at_once=AT_ONCE, any=True) == hook.id
        assert notifications.claim(connection, ClaimedDelivery, endpoint_id=hook.id) is not None

    return reading(engine, act).pages


def test_a_claim_looks_at_a_few_deliveries_and_not_at_all_that_are_due(engine: Engine, hook: Added) -> None:
    waiting(engine, hook, many=5_000)
    analyze(engine)
    assert pages_of_a_claim(engine, hook) < 400


def test_a_claim_by_statistics_of_a_time_when_nothing_waited_compares_no_two_of_all_that_do(
    engine: Engine, hook: Added
) -> None:
    """Each of 5,000 was compared with each, until the next ANALYZE: for seconds, a claim."""
    waiting(engine, hook, many=300)
    with engine.begin() as connection:
        connection.execute(text("UPDATE webhook_deliveries SET state = 'delivered', finished_at = now()"))
    analyze(engine)
    waiting(engine, hook, many=5_000)
    assert pages_of_a_claim(engine, hook) < 20_000


def test_many_that_wait_behind_one_that_failed_keep_no_other_snooze_waiting(
    engine: Engine, hook: Added, sender: WebhookSender
) -> None:
    edit(engine, a_snooze(engine, remind_at=now() + HOUR), 30)
    first = deliveries(engine)[0]
    with engine.begin() as connection:
        later_on = text("UPDATE webhook_deliveries SET try_at = now() + INTERVAL '1 hour' WHERE id = :id")
        connection.execute(later_on, {"id": first.id})
    assert sender.claim() is None
    other = a_snooze(engine, remind_at=now() + HOUR)
    claimed = sender.claim()
    assert claimed is not None
    assert claimed.snooze_id == other
    assert sender.claim() is None
