"""A mail server that goes silent with its connections open is found within seconds, although nothing fails."""

import time
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from snoozer.db import health_checks
from snoozer.mailboxes.sync import silence
from tests.factories import an_original
from tests.imap.mailboxes import MailServer
from tests.imap.watched import Place
from tests.stalling import StallingWay

pytestmark = pytest.mark.dovecot

# The overview reads its figures every three seconds and shows a silent server within fifteen.
WITHIN_SECONDS = 12


@pytest.fixture
def way(dovecot_server: MailServer) -> Iterator[StallingWay]:
    with StallingWay(f"postgresql://127.0.0.1:{dovecot_server.port}/any") as way:
        yield way


@pytest.fixture
def place(place: Place, way: StallingWay) -> Place:
    place.program.deliver(an_original(message_id="<a@mail.example>"))
    place.lead_to(make_url(way.url).port or 0)
    return place


def health(place: Place) -> health_checks.MailboxHealth:
    with place.engine.connect() as connection:
        return health_checks.mailboxes(connection)


def is_synced(place: Place) -> bool:
    return bool(place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))


def test_a_server_that_freezes_while_its_mailbox_is_idle_is_found_within_seconds(
    place: Place, way: StallingWay
) -> None:
    place.start()
    place.eventually(lambda: is_synced(place))
    assert health(place).silent == 0
    way.stall()
    began = time.monotonic()
    place.eventually(lambda: health(place).silent == 1)
    assert time.monotonic() - began < WITHIN_SECONDS
    assert place.problem() == "gone"
    way.flow()
    place.eventually(lambda: health(place).silent == 0 and place.problem() is None)


def test_a_server_that_answers_is_asked_often_and_is_no_trouble(
    place: Place, way: StallingWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And messages still come back at their time."""
    monkeypatch.setattr(silence, "ASK_AFTER_SECONDS", 0.0)
    place.start()
    place.eventually(lambda: is_synced(place))
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert (health(place).silent, place.problem()) == (0, None)
