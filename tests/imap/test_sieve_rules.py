"""Messages that rules of a mail server file into a folder are put away as they come in, on a real Pigeonhole."""

import re
import shutil
import smtplib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine

from snoozer.mailboxes.sync import mailbox_watch
from snoozer.resources import resource_folder
from snoozer.settings import Settings
from tests.conftest import missing
from tests.factories import People, an_original
from tests.imap import dovecot
from tests.imap.watched import Place, watched

pytestmark = pytest.mark.dovecot

GUIDE = resource_folder("docs") / "guide" / "people.md"
RULES = re.findall(r"```sieve\n(.*?)```", GUIDE.read_text(), re.DOTALL)
MESSAGES: dict[str, dict[str, Any]] = {
    "newsletter": {"headers": ["List-Id: News <news.example.org>"]},
    "invoice": {"sender": "billing@shop.example"},
    "Weekly report": {},
    "chat": {"sender": "notifications@chat.example"},
    "bulk": {"headers": ["Precedence: bulk"]},
}


@pytest.fixture
def place(engine: Engine, settings: Settings, people: People) -> Iterator[tuple[Place, dovecot.Dovecot]]:
    if shutil.which("sievec") is None:
        missing("dovecot-sieve")
    [rules] = RULES
    with (
        dovecot.running(separator="/", sieve=rules) as server,
        watched(engine, settings, people.ann(), port=server.imap_port, username="ann", delimiter="/") as place,
    ):
        place.settings = place.settings.model_copy(update={"mailbox_poll": 7200.0})
        yield place, server


def test_each_rule_of_the_guide_puts_away_what_it_is_for(place: tuple[Place, dovecot.Dovecot]) -> None:
    ann, server = place
    ann.start()
    ann.eventually(lambda: ann.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
    with smtplib.LMTP("127.0.0.1", server.lmtp_port, local_hostname="test.example") as client:
        for subject, parts in {"for now": {}, **MESSAGES}.items():
            client.sendmail("carl@mail.example", ["ann"], an_original(subject=subject, **parts))
    ann.eventually(lambda: ann.asleep() == len(MESSAGES))
    assert [row.subject for row in ann.rows("SELECT subject FROM email_snoozes ORDER BY subject")] == sorted(MESSAGES)
    assert len(ann.program.uids("INBOX")) == 1


def test_a_connection_that_reported_much_is_renewed(
    place: tuple[Place, dovecot.Dovecot], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dovecot's NOTIFY falls silent after some sixty changes, and Dovecot looks itself after half a minute only."""
    monkeypatch.setattr(mailbox_watch, "MAX_EVENTS", 3)
    ann, server = place
    ann.start()
    ann.eventually(lambda: ann.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
    before = logins(server)
    for number in range(1, 7):
        ann.program.deliver(an_original(subject=str(number)), folder="Snooze/Tomorrow")
        ann.eventually(partial(has_put_away, ann, number))
    assert logins(server) > before


def has_put_away(ann: Place, count: int) -> bool:
    return ann.asleep() == count


def logins(server: dovecot.Dovecot) -> int:
    return (server.home / "log").read_text().count("Login: user=<ann>")
